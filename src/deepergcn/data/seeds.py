"""Every random draw has its own seed, derived from the seed of the run and the name of the draw.

Draws do not depend on earlier ones: a resumed run, even in the middle of an epoch, draws the same numbers as an
uninterrupted one.
"""

from numbers import Integral

import torch

from deepergcn.data.storage.digest import text_digest
from deepergcn.errors import InputError, quote

MOST_SEEDS = 10_000
"""The largest number of seeds of one command."""


def check_seed(seed: int, name: str = "seed") -> int:
    """The seed, if it can be one."""
    if not isinstance(seed, Integral) or not 0 <= seed < 1 << 63:
        raise InputError(f"{name} is {quote(seed)}; expected a whole number from 0 to 2^63 - 1")
    return int(seed)


def check_seeds(count: int, name: str) -> int:
    """The number of seeds of one command."""
    if type(count) is not int or not 1 <= count <= MOST_SEEDS:
        raise InputError(f"{name} is {quote(count)}; expected from 1 to {MOST_SEEDS}")
    return count


def derive(seed: int, *names: str | int) -> int:
    """The seed, below 2^63, for these names."""
    return int(text_digest(seed, *names)[:16], 16) >> 1


def generator(seed: int, *names: str | int) -> torch.Generator:
    """A generator seeded for these names."""
    return torch.Generator().manual_seed(derive(seed, *names))


def seed_torch(seed: int, *names: str | int) -> None:
    """Seed torch's generators for the draw identified by these names.

    ``torch.manual_seed`` queries every kind of device, which takes half a millisecond of every step.
    """
    number = derive(seed, *names)
    torch.default_generator.manual_seed(number)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(number)
