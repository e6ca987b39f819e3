"""Losses, metrics and what they say of a network: in every epoch, and when a run has ended."""
