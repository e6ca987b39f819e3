"""The loops over edges of this room, compiled by Numba."""
