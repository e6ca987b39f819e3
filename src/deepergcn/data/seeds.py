"""Every random draw has its own seed, derived from the seed of the run and the name of the draw.

Draws do not depend on earlier ones: a resumed run, even in the middle of an epoch, draws the same numbers as an
uninterrupted one.
"""

import torch

from deepergcn.data.storage.digest import text_digest


def derive(seed: int, *names: str | int) -> int:
    """The seed, below 2^63, for these names."""
    return int(text_digest(seed, *names)[:16], 16) >> 1


def generator(seed: int, *names: str | int) -> torch.Generator:
    """A generator seeded for these names."""
    return torch.Generator().manual_seed(derive(seed, *names))
