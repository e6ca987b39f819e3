"""Encoders of node and edge features."""
