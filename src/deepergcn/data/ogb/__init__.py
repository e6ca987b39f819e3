"""The Open Graph Benchmark: its layout on disk, its datasets, and their download."""
