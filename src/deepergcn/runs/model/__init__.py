"""The network of a run: built from its recipe, written to its file, and what its outputs mean."""
