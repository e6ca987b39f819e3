"""What CPU kernels are written with: compilation, calls on many threads, vectors, instructions, vector mathematics."""
