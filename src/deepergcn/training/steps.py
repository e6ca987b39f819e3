"""What is seen in every step of training: some graphs, or parts of one graph."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from deepergcn.data.batching.batch import GraphBatch
from deepergcn.data.batching.loader import GraphLoader
from deepergcn.data.batching.partitions import ClusterPartitions, Partitions, RandomPartitions, WholeGraph
from deepergcn.data.batching.subgraphs import induced
from deepergcn.data.dataset import Dataset
from deepergcn.errors import InputError
from deepergcn.recipes.schema import TrainingSection
from deepergcn.training.seeds import derive, generator

_PARTITIONS: dict[str, type[Partitions]] = {"random": RandomPartitions, "metis": ClusterPartitions}


def check_steps(dataset: Dataset, training: TrainingSection, world: int = 1) -> int:
    """The number of graphs, or of partitions, that there are to learn from; enough for so many processes."""
    graphs = dataset.task.level == "graph"
    if not len(dataset.split["train"]):
        raise InputError(f"{dataset.name}: the part train is empty; there is nothing to learn from")
    count, what = (len(dataset.split["train"]), "graphs") if graphs else (training.partitions, "partitions")
    if world > min(training.batch_size, count):
        raise InputError(
            f"training.batch_size is {training.batch_size} and there are {count} {what}; expected at least {world}, "
            "one for each process"
        )
    return count


class TrainingSteps:
    """The steps of an epoch, each a list of batches for one of ``world`` processes; all processes make one step.

    What is seen in a step depends on seed, epoch and step alone, and is dealt out to the processes: the same seed sees
    the same on any number of them. A process that gets nothing takes a batch without labels, which changes nothing.
    """

    def __init__(self, dataset: Dataset, training: TrainingSection, seed: int, rank: int = 0, world: int = 1) -> None:
        self.seed, self.rank, self.world = seed, rank, world
        self.dataset = dataset
        self.size = training.batch_size
        count = check_steps(dataset, training, world)
        if dataset.task.level == "graph":
            self.loader = GraphLoader(dataset)
        else:
            self.whole = WholeGraph(dataset) if training.partitions == 1 else None
            self.parts = _PARTITIONS[training.partitioning](
                dataset, training.partitions, seed=derive(seed, "partitions")
            )
            count = self.parts.parts
        self.count = -(-count // self.size)

    def __len__(self) -> int:
        return self.count

    def epoch(self, epoch: int, start: int = 0) -> Iterator[list[GraphBatch]]:
        """The steps of this epoch from ``start`` on."""
        if self.dataset.task.level == "graph":
            return self._graphs(epoch, start)
        if self.whole is not None:
            return iter([[self.whole.batch]][start:])
        return self._parts(epoch, start)

    def _graphs(self, epoch: int, start: int) -> Iterator[list[GraphBatch]]:
        train = self.dataset.split["train"]
        order = train[torch.randperm(len(train), generator=generator(self.seed, "shuffle", epoch))]
        for chosen in order.split(self.size)[start:]:
            mine = chosen[self.rank :: self.world]
            yield [self.loader.collate(mine) if len(mine) else _without_labels(self.loader.collate(chosen[:1]))]

    def _parts(self, epoch: int, start: int) -> Iterator[list[GraphBatch]]:
        order = self.parts.order(epoch)
        steps = [order[i : i + self.size] for i in range(0, len(order), self.size)][start:]
        wanted = [part for step in steps for part in self._dealt(step)]
        batches = induced(self.dataset, self.parts.part_of(epoch), wanted)
        for step in steps:
            mine = [next(batches) for _ in self._dealt(step)]
            surplus = len(mine) - len(step[self.rank :: self.world])
            yield [*mine[: len(mine) - surplus], *map(_without_labels, mine[len(mine) - surplus :])]

    def _dealt(self, step: Sequence[int]) -> Sequence[int]:
        """The partitions of this process in a step, as many for every process."""
        mine = step[self.rank :: self.world]
        return [*mine, *step[:1]] if len(mine) < -(-len(step) // self.world) else mine


def labelled(data: GraphBatch, outputs: Tensor) -> tuple[Tensor, Tensor]:
    """The outputs and the targets of what is learned from in a batch: all graphs, or the train nodes."""
    if "train_mask" not in data:
        return outputs, data.y
    return outputs[data.train_mask], data.y[data.train_mask]


def _without_labels(data: GraphBatch) -> GraphBatch:
    """The batch with every label missing: its loss and its gradient are 0."""
    data.y = torch.full_like(data.y, torch.nan if data.y.is_floating_point() else -1)
    return data
