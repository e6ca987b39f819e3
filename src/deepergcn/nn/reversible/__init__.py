"""Reversible layers: a network of any depth keeps the activations of one layer."""
