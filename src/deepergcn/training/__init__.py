"""Training: the loop, losses, metrics, run directories, and what a trained network does."""
