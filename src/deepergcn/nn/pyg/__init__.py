"""Convert modules of PyTorch Geometric, or accelerate them in place."""
