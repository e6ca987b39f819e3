"""A user's own graphs: arrays in ``graphs.safetensors``, and a row for each graph in ``graphs.parquet``."""
