"""A graph with types of nodes and edges as one batch."""

import torch

from deepergcn.data.batching.batch import GraphBatch
from deepergcn.data.batching.source import OneBatch
from deepergcn.data.dataset import PARTS
from deepergcn.data.typed.dataset import TypedDataset


class TypedGraph(OneBatch):
    """The whole graph in one batch, the same in every epoch.

    The batch has ``x_dict``, ``edge_index_dict`` and ``edge_attr_dict`` by type, as PyG's ``HeteroData`` has, and
    ``y``, ``item`` and the masks of the split of the nodes of the type that is predicted.
    """

    def __init__(self, dataset: TypedDataset) -> None:
        edges = dataset.edges.items()
        batch = GraphBatch(
            num_nodes=dataset.num_nodes,
            x_dict=dict(dataset.features),
            edge_index_dict={edge_type: typed.edge_index for edge_type, typed in edges},
            edge_attr_dict={edge_type: typed.edge_attr for edge_type, typed in edges if typed.edge_attr is not None},
            y=dataset.y,
            item=torch.arange(dataset.num_nodes),
        )
        for number, part in enumerate(PARTS):
            batch[f"{part}_mask"] = dataset.split_part == number
        super().__init__(dataset, batch)
