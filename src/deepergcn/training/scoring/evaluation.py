"""The outputs of a network for the items of a dataset, and their scores."""

import math
from collections.abc import Callable, Collection, Iterator

import torch
from torch import Tensor

from deepergcn.data.batching.batch import GraphBatch
from deepergcn.data.batching.output_mean import OutputMean
from deepergcn.data.batching.sources import batch_source
from deepergcn.data.dataset import PARTS, Dataset
from deepergcn.data.seeds import derive
from deepergcn.ops.path import forward_only
from deepergcn.recipes.schema import Recipe
from deepergcn.runs.state import Scores
from deepergcn.training.cost.sizes import evaluation_partitions
from deepergcn.training.scoring.losses import LossFunction, balanced_weight, present_labels
from deepergcn.training.transfer import Fetched, prefetched

Forward = Callable[..., Tensor]
"""A network, or its ``embed``, called with a batch."""


class Evaluation:
    """The items of a dataset in the batches of a recipe's evaluation.

    Args:
        dataset: the dataset.
        recipe: its section ``evaluation`` has the batch size and the partitions.
        seed: the seed of the run, from which the partitions are drawn, the same in every evaluation.
        parts: the parts of the split to evaluate, where the task labels graphs or links. The links of train are
            ranked among the pairs of valid that are none, as in OGB's examples.
        rank, world: the number of this process, and the number of processes that share the batches.
        device: the device to compute on; the CPU where none is given.
    """

    def __init__(
        self,
        dataset: Dataset,
        recipe: Recipe,
        seed: int,
        parts: Collection[str] = PARTS,
        rank: int = 0,
        world: int = 1,
        device: torch.device | None = None,
    ) -> None:
        self.dataset, self.parts, self.rank, self.world = dataset, parts, rank, world
        self.device = device or torch.device("cpu")
        batch_size = recipe.evaluation.batch_size or recipe.training.batch_size
        chosen = torch.tensor(evaluation_partitions(dataset, recipe, device))
        if world > 1:  # the memory that is left may differ from process to process
            torch.distributed.broadcast(chosen, 0)
        partitions, self.draws = chosen.tolist()
        self.source = batch_source(
            dataset,
            seed=derive(seed, "evaluation"),
            graphs=self._evaluated(),
            batch_size=batch_size if dataset.task.level == "graph" else 1,
            partitions=partitions,
        )
        self.scale = _scale(dataset) if recipe.evaluation.scaled else None

    def outputs(self, forward: Forward) -> Tensor:
        """The outputs of ``forward`` for every item of the dataset, [items, outputs], averaged over draws.

        They are NaN for items that are not evaluated. Every process gets all of them. What a GPU gives is taken in
        while it computes the next batch.
        """
        outputs = OutputMean(self.dataset.num_items)
        waiting: tuple[Tensor, Fetched] | None = None
        with torch.no_grad(), forward_only():
            batches = (([batch], batch.item) for batch in self._batches())
            for (batch,), item in prefetched(batches, self.device):
                before, waiting = waiting, (item, Fetched(forward(batch)))
                if before is not None:
                    outputs.add(before[0], before[1].read())
        if waiting is not None:
            outputs.add(waiting[0], waiting[1].read())
        if self.world > 1:
            self._add_up(outputs)
        return outputs.mean()

    def score(self, outputs: Tensor, part: str) -> float | None:
        """The score of the outputs [items, outputs] on a part.

        It is None where the part has nothing to score, and NaN where the score or the outputs are not finite.
        """
        from deepergcn.training.scoring.metrics import make_metric  # here, since torchmetrics is slow to import

        metric = make_metric(self.dataset.task, self.scale)
        mine = self.items(part)[self.rank :: self.world]
        metric.update(outputs[mine], self.dataset.y[mine])
        score = metric.compute()
        if math.isfinite(score):
            return score
        items = self.items(part)
        there = present_labels(self.dataset.y[items])
        seen = outputs[items][there if there.dim() == 1 else there.any(1)]
        return None if bool(seen.isfinite().all()) else math.nan

    def items(self, part: str) -> Tensor:
        """The items that a part is scored on."""
        items = self.dataset.split[part]
        if self.dataset.task.level != "link" or part != "train":
            return items
        others = self.dataset.split["valid"]
        return torch.cat((items, others[self.dataset.y[others, 0] == 0]))

    def _evaluated(self) -> Tensor:
        """The items of all parts; pairs that are in two of them once."""
        items = torch.cat([self.items(part) for part in self.parts])
        return items.unique() if self.dataset.task.level == "link" else items

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
        targets = self.dataset.y[items]
        return float(loss(outputs[items], targets)) if bool(present_labels(targets).any()) else None

    def _batches(self) -> Iterator[GraphBatch]:
        """The batches of this process, of all draws; the processes share whole batches, each of them once."""
        for draw in range(self.draws):
            mine = self.source.groups(draw)[self.rank :: self.world]
            for batches in self.source.gather(draw, mine):
                yield from batches

    def _add_up(self, outputs: OutputMean) -> None:
        if not outputs.total.shape[1]:
            outputs.total = torch.zeros(outputs.items, self.dataset.task.outputs)
        for tensor in (outputs.total, outputs.count):
            torch.distributed.all_reduce(tensor)


def _scale(dataset: Dataset) -> Tensor:
    """The standard deviation of every target of a regression in the train part; 1 where it is 0."""
    return balanced_weight(dataset.task, dataset.y[dataset.split["train"]]).rsqrt()
