"""Checks of the seed and the rank of a batch source."""

from deepergcn.errors import InputError


def check_seed(seed: int) -> None:
    if type(seed) is not int or seed < 0:
        raise InputError(f"seed is {seed!r}; expected an integer of at least 0")


def check_rank(rank: int, world_size: int) -> None:
    if world_size < 1:
        raise InputError(f"world_size is {world_size}; expected at least 1")
    if not 0 <= rank < world_size:
        raise InputError(f"rank is {rank}; expected 0 to {world_size - 1}")
