"""The distance of an input from the training data, in the space of the network's embeddings."""

from dataclasses import dataclass

import torch
from torch import Tensor

from deepergcn.errors import InputError

_MOST = 5_000  # training items whose own nearest neighbours set the limit; more would say the same
_CHUNK = 512


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest training items of every input.

    Attributes:
        numbers: int64 [inputs, k], their numbers, the nearest first.
        distances: [inputs, k], in standard deviations of the training embeddings, per channel.
        outside: bool [inputs], whether the nearest is farther than 99 % of the training items have theirs.
    """

    numbers: Tensor
    distances: Tensor
    outside: Tensor


class TrainingDomain:
    """The embeddings of the training items.

    Args:
        embeddings: [items, channels], finite, of at least two items.
    """

    def __init__(self, embeddings: Tensor) -> None:
        if embeddings.dim() != 2 or len(embeddings) < 2 or not bool(embeddings.isfinite().all()):
            raise InputError(
                f"embeddings are {list(embeddings.shape)}; expected finite numbers [items, channels], two or more"
            )
        self.mean = embeddings.mean(0)
        deviation = embeddings.std(0)
        self.scale = torch.where(deviation > 0, deviation, 1.0) * embeddings.shape[1] ** 0.5
        self.points = (embeddings - self.mean) / self.scale
        step = max(1, len(embeddings) // _MOST)
        own = torch.arange(0, len(embeddings), step)
        numbers, distances = self._nearest(self.points[own], 2)
        others = torch.where(numbers[:, 0] == own, distances[:, 1], distances[:, 0])
        self.limit = float(others.quantile(0.99))

    def neighbours(self, embeddings: Tensor, count: int = 3) -> Neighbours:
        """The ``count`` nearest training items of each of these embeddings."""
        numbers, distances = self._nearest((embeddings - self.mean) / self.scale, min(count, len(self.points)))
        return Neighbours(numbers, distances, distances[:, 0] > self.limit)

    def _nearest(self, points: Tensor, count: int) -> tuple[Tensor, Tensor]:
        found = [torch.cdist(part, self.points).topk(count, largest=False) for part in points.split(_CHUNK)]
        return torch.cat([one.indices for one in found]), torch.cat([one.values for one in found])
