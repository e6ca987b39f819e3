"""Batches of whole graphs, and of parts of one."""
