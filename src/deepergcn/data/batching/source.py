"""The one path from a dataset to batches, for training, evaluation and users of the library."""

from collections.abc import Iterator, Sequence

import torch

from deepergcn.data.batching.batch import GraphBatch
from deepergcn.data.dataset import Dataset
from deepergcn.errors import InputError


class BatchSource:
    """The batches of every epoch, which depend on the seed and the epoch alone.

    An epoch is a sequence of *units*, graphs or parts of one graph; :meth:`order` gives their order. They are cut into
    steps of ``batch_size`` units, and the units of a step are shared by the processes: the same seed gives the same
    steps for any number of processes. All processes have the same number of batches. A process that would have too few
    in a step repeats a batch of the step without its labels, which changes neither loss nor gradient.

    Args:
        dataset: The dataset.
        batch_size: The number of units of a step, over all processes.
        seed: The seed of the order.
        rank: The number of this process.
        world_size: The number of processes.
    """

    def __init__(self, dataset: Dataset, *, batch_size: int, seed: int, rank: int, world_size: int) -> None:
        if batch_size < 1:
            raise InputError(f"batch_size is {batch_size}; expected at least 1")
        _check_seed(seed)
        _check_rank(rank, world_size)
        self.dataset = dataset
        self.batch_size = batch_size
        self.seed = seed
        self.rank = rank
        self.world_size = world_size

    @property
    def num_units(self) -> int:
        """The number of units of an epoch."""
        raise NotImplementedError

    def __len__(self) -> int:
        """The number of steps of an epoch."""
        return -(-self.num_units // self.batch_size)

    def order(self, epoch: int) -> Sequence[int]:
        """The units in the order of this epoch."""
        raise NotImplementedError

    def groups(self, epoch: int) -> list[Sequence[int]]:
        """The units of every step of this epoch."""
        order = self.order(epoch)
        return [order[i * self.batch_size : (i + 1) * self.batch_size] for i in range(len(self))]

    def gather(self, epoch: int, groups: Sequence[Sequence[int]]) -> Iterator[list[GraphBatch]]:
        """The batches of these groups of units."""
        raise NotImplementedError

    def share(self, group: Sequence[int]) -> Sequence[int]:
        """The units of this process in a step; those beyond ``group[rank::world_size]`` are repeated."""
        raise NotImplementedError

    def steps(self, epoch: int, start: int = 0) -> Iterator[list[GraphBatch]]:
        """The batches of this process in every step of this epoch, from step ``start`` on."""
        groups = self.groups(epoch)[start:]
        shares = [self.share(group) for group in groups]
        for group, share, batches in zip(groups, shares, self.gather(epoch, shares), strict=True):
            repeated = len(share) - len(group[self.rank :: self.world_size])
            kept = len(batches) - repeated
            yield [*batches[:kept], *map(without_labels, batches[kept:])]

    def batches(self, epoch: int = 0) -> Iterator[GraphBatch]:
        """The batches of this process in this epoch; those of the same epoch are the same."""
        for batches in self.steps(epoch):
            yield from batches


class OneBatch(BatchSource):
    """A source with a single batch, the same in every epoch and in every process."""

    def __init__(self, dataset: Dataset, batch: GraphBatch) -> None:
        super().__init__(dataset, batch_size=1, seed=0, rank=0, world_size=1)
        self.batch = batch

    @property
    def num_units(self) -> int:
        """The one batch."""
        return 1

    def order(self, epoch: int) -> Sequence[int]:
        return (0,)

    def share(self, group: Sequence[int]) -> Sequence[int]:
        return group

    def gather(self, epoch: int, groups: Sequence[Sequence[int]]) -> Iterator[list[GraphBatch]]:
        for _ in groups:
            yield [self.batch]


def without_labels(data: GraphBatch) -> GraphBatch:
    """The batch with every label missing, and marked as repeated: its loss and its gradient are 0."""
    data.repeated = True
    data.y = torch.full_like(data.y, torch.nan if data.y.is_floating_point() else -1)
    return data


def is_repeated(data: GraphBatch) -> bool:
    """Whether the batch is there only because a process would have too few, so that nothing is learned from it."""
    return "repeated" in data


def _check_seed(seed: int) -> None:
    if type(seed) is not int or seed < 0:
        raise InputError(f"seed is {seed!r}; expected an integer of at least 0")


def _check_rank(rank: int, world_size: int) -> None:
    if world_size < 1:
        raise InputError(f"world_size is {world_size}; expected at least 1")
    if not 0 <= rank < world_size:
        raise InputError(f"rank is {rank}; expected 0 to {world_size - 1}")
