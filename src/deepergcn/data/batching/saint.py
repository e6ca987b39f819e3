"""GraphSAINT: subgraphs of the nodes that random walks visit, which may overlap."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import torch

from deepergcn.data.batching.batch import GraphBatch
from deepergcn.data.batching.partitions import Partitions
from deepergcn.data.batching.subgraphs import induced

WALK = 2
"""The number of edges of a walk, as in the paper of GraphSAINT."""

COVERAGE = 50
"""How often a node is drawn on average, to estimate how probable it is in a subgraph."""


class WalkSubgraphs(Partitions):
    """GraphSAINT's random-walk sampler (Zeng et al. 2020): every batch is the subgraph of the nodes on some walks.

    A batch has as many walks from random nodes as would visit ``nodes / parts`` nodes if no two met. Nodes that walks
    visit often are in many batches: ``loss_weight`` of a batch holds, for every node, the inverse of its probability,
    with a mean of 1 over what is drawn, so that on average the weighted loss of a batch is that of the train part. The
    weights of messages by which GraphSAINT corrects sums over neighbours are left out: maximum and softmax have none.

    Args:
        dataset: A dataset of one graph.
        parts: The number of batches of an epoch.
        batch_size, seed, rank, world_size: As in :class:`Partitions`.
    """

    def prepare(self) -> None:
        adjacency = self.dataset.adjacency()
        self._start, self._target = adjacency.rowptr_t.numpy(), adjacency.target.numpy()
        self.walks = -(-self.dataset.num_nodes // (self.parts * (WALK + 1)))
        self.loss_weight = torch.from_numpy(self._loss_weight().astype(np.float32))

    def draw(self, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """The nodes that the walks of one batch visit, in order; a walk that finds no edge stays where it is."""
        here = rng.integers(self.dataset.num_nodes, size=self.walks)
        visited = [here]
        for _ in range(WALK):
            first, after = self._start[here], self._start[here + 1]
            leaves = after > first
            here = here.copy()
            here[leaves] = self._target[rng.integers(first[leaves], after[leaves])]
            visited.append(here)
        return np.unique(np.concatenate(visited))

    def gather(self, epoch: int, groups: Sequence[Sequence[int]]) -> Iterator[list[GraphBatch]]:
        for group in groups:
            yield [self._batch(epoch, number) for number in group]

    def _batch(self, epoch: int, number: int) -> GraphBatch:
        inside = torch.zeros(self.dataset.num_nodes, dtype=torch.int64)
        inside[torch.from_numpy(self.draw(np.random.default_rng([self.seed, epoch, number])))] = 1
        batch = next(induced(self.dataset, inside, wanted=[1]))
        batch.loss_weight = self.loss_weight[batch.item]
        return batch

    def _loss_weight(self) -> npt.NDArray[np.float64]:
        rng = np.random.default_rng(self.seed)
        counts = np.zeros(self.dataset.num_nodes)
        for _ in range(COVERAGE * self.parts):
            counts[self.draw(rng)] += 1
        learned = np.maximum(counts, 1)
        train = self.dataset.split["train"].numpy()
        mean: float = learned[train].mean() if len(train) else 1.0
        return mean / learned
