"""Every random draw has a seed of its own, derived from the run's seed and from what is drawn.

A draw depends on nothing that happened before it: a run that is resumed, even in the middle of an epoch, draws what an
uninterrupted run draws.
"""

import torch

from deepergcn.data.storage.digest import text_digest


def derive(seed: int, *names: str | int) -> int:
    """The seed, below 2^63, of the draw with these names."""
    return int(text_digest(seed, *names)[:16], 16) >> 1


def generator(seed: int, *names: str | int) -> torch.Generator:
    """A generator for the draw with these names."""
    return torch.Generator().manual_seed(derive(seed, *names))
