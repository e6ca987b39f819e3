"""PyTorch Geometric: its modules converted, or accelerated in place."""
