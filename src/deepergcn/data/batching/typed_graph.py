"""A graph with types of nodes and edges as one batch."""

from collections.abc import Iterator, Sequence

import torch

from deepergcn.data.batching.batch import GraphBatch
from deepergcn.data.batching.source import BatchSource
from deepergcn.data.dataset import PARTS
from deepergcn.data.typed import TypedDataset


class TypedGraph(BatchSource):
    """The whole graph in one batch, the same in every epoch.

    The batch has ``x_dict``, ``edge_index_dict`` and ``edge_attr_dict`` by type, as PyG's ``HeteroData`` has, and
    ``y``, ``item`` and the masks of the split of the nodes of the type that is predicted.
    """

    def __init__(self, dataset: TypedDataset) -> None:
        super().__init__(dataset, batch_size=1, seed=0, rank=0, world_size=1)
        edges = dataset.edges.items()
        self.batch = GraphBatch(
            num_nodes=dataset.num_nodes,
            x_dict=dict(dataset.features),
            edge_index_dict={edge_type: typed.edge_index for edge_type, typed in edges},
            edge_attr_dict={edge_type: typed.edge_attr for edge_type, typed in edges if typed.edge_attr is not None},
            y=dataset.y,
            item=torch.arange(dataset.num_nodes),
        )
        for number, part in enumerate(PARTS):
            self.batch[f"{part}_mask"] = dataset.split_part == number

    @property
    def num_units(self) -> int:
        """The one graph."""
        return 1

    def order(self, epoch: int) -> Sequence[int]:
        return (0,)

    def share(self, group: Sequence[int]) -> Sequence[int]:
        return group

    def gather(self, epoch: int, groups: Sequence[Sequence[int]]) -> Iterator[list[GraphBatch]]:
        for _ in groups:
            yield [self.batch]
