"""The seeds of torch's own generators, from which weights and dropout are drawn."""

import torch

from deepergcn.data.seeds import derive


def seed_torch(seed: int, *names: str | int) -> None:
    """Seed torch's generators for the draw identified by these names.

    ``torch.manual_seed`` queries every kind of device, which takes half a millisecond of every step.
    """
    number = derive(seed, *names)
    torch.default_generator.manual_seed(number)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(number)
