"""The outputs of a network for the items of a dataset, and their scores."""

import math
from collections.abc import Callable, Collection, Iterator

import torch
from torch import Tensor

from deepergcn.data.batching.batch import GraphBatch
from deepergcn.data.batching.loader import GraphLoader
from deepergcn.data.batching.output_mean import OutputMean
from deepergcn.data.batching.partitions import RandomPartitions, WholeGraph
from deepergcn.data.batching.subgraphs import induced
from deepergcn.data.dataset import PARTS, Dataset
from deepergcn.recipes.schema import Recipe
from deepergcn.runs.state import Scores
from deepergcn.training.losses import LossFunction
from deepergcn.training.seeds import derive

Forward = Callable[..., Tensor]
"""A network, or its ``embed``, called with a batch."""


class Evaluation:
    """The items of a dataset in the batches of a recipe's evaluation.

    Args:
        dataset: the dataset.
        recipe: its ``evaluation`` says how the items are seen.
        seed: the run's; the draws of partitions follow from it, and are the same every time.
        parts: of a task on graphs only these parts are seen.
        rank, world: this process, of so many, which share the batches.
    """

    def __init__(
        self,
        dataset: Dataset,
        recipe: Recipe,
        seed: int,
        parts: Collection[str] = PARTS,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        self.dataset, self.parts, self.rank, self.world = dataset, parts, rank, world
        self.section, self.seed = recipe.evaluation, derive(seed, "evaluation")
        self.batch_size = recipe.evaluation.batch_size or recipe.training.batch_size
        self._whole = WholeGraph(dataset) if dataset.task.level == "node" and self.section.partitions == 1 else None

    def outputs(self, forward: Forward, device: torch.device | None = None) -> Tensor:
        """What ``forward`` gives for every item of the dataset, [items, outputs], averaged over draws.

        It is NaN for items that are not seen. Every process gets all of it.
        """
        outputs = OutputMean(self.dataset.num_items)
        with torch.no_grad():
            for batch in self._batches():
                item = batch.item
                outputs.add(item, forward(batch if device is None else batch.to(device)))
        if self.world > 1:
            self._add_up(outputs)
        return outputs.mean()

    def score(self, outputs: Tensor, part: str) -> float | None:
        """The score of the outputs [items, outputs] on a part; None where it has nothing to score."""
        from deepergcn.training.metrics import make_metric  # here, since torchmetrics is slow to import

        metric = make_metric(self.dataset.task)
        mine = self.dataset.split[part][self.rank :: self.world]
        metric.update(outputs[mine], self.dataset.y[mine])
        return _number(metric.compute())

    def scores(self, outputs: Tensor, epoch: int, loss: LossFunction) -> Scores:
        """The scores of the parts that are seen, and the losses of valid and test."""
        losses = {part: self._loss(outputs, part, loss) for part in ("valid", "test")}
        scores = {part: self.score(outputs, part) if part in self.parts else None for part in PARTS}
        return Scores(
            epoch=epoch,
            train_score=scores["train"],
            valid_score=scores["valid"],
            test_score=scores["test"],
            valid_loss=losses["valid"],
            test_loss=losses["test"],
        )

    def _loss(self, outputs: Tensor, part: str, loss: LossFunction) -> float | None:
        items = self.dataset.split[part]
        return _number(float(loss(outputs[items], self.dataset.y[items]))) if len(items) else None

    def _batches(self) -> Iterator[GraphBatch]:
        """The batches of this process."""
        if self.dataset.task.level == "graph":
            items = torch.cat([self.dataset.split[part] for part in self.parts])
            loader = GraphLoader(self.dataset)
            yield from map(loader.collate, items.split(self.batch_size)[self.rank :: self.world])
        elif self._whole is not None:
            yield from self._whole.batches() if self.rank == 0 else ()
        else:
            for draw in range(self.section.draws):
                drawn = RandomPartitions(self.dataset, self.section.partitions, seed=self.seed).part_of(draw)
                yield from induced(self.dataset, drawn, range(self.rank, self.section.partitions, self.world))

    def _add_up(self, outputs: OutputMean) -> None:
        if not outputs.total.shape[1]:
            outputs.total = torch.zeros(outputs.items, self.dataset.task.outputs)
        for tensor in (outputs.total, outputs.count):
            torch.distributed.all_reduce(tensor)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
