"""A random forest beside a network."""
