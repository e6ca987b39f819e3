"""Every random draw has a seed of its own, derived from the run's seed and from what is drawn.

A draw depends on nothing that happened before it: a run that goes on after a kill, or in the middle of an epoch,
draws what the run that was never stopped draws.
"""

import torch

from deepergcn.data.storage.digest import text_digest


def derive(seed: int, *names: str | int) -> int:
    """The seed, below 2^63, of the draw that these names stand for."""
    return int(text_digest(seed, *names)[:16], 16) >> 1


def generator(seed: int, *names: str | int) -> torch.Generator:
    """A generator for the draw that these names stand for."""
    return torch.Generator().manual_seed(derive(seed, *names))


def seed_torch(seed: int, *names: str | int) -> None:
    """Seed torch's own generators, from which weights and dropout come.

    ``torch.manual_seed`` asks every kind of device there could be, which takes half a millisecond of every step.
    """
    number = derive(seed, *names)
    torch.default_generator.manual_seed(number)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(number)
