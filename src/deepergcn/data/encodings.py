"""Node features from the structure of a graph alone, for nodes that have no others."""

import numpy as np
import torch

from deepergcn.data.dataset import Dataset
from deepergcn.data.storage.memory import check_memory
from deepergcn.errors import InputError

MOST_EMBEDDINGS = 1 << 24
"""The most nodes that can have a learned embedding each."""

_DEGREES = 16  # degrees with a column of their own: 0 to 14, and more


def degree_features(dataset: Dataset) -> torch.Tensor:
    """[nodes, 17]: log(1 + degree), and a 0/1 column for each degree from 0 to 14 and for higher ones.

    The degree is the number of in-edges, those of both directions where the graph is undirected.
    """
    degree = _degrees(dataset)
    check_memory(8 * (_DEGREES + 1) * len(degree), f"degree-encoding: {len(degree)} nodes")
    one_hot = torch.nn.functional.one_hot(degree.clamp(max=_DEGREES - 1), _DEGREES)
    return torch.cat((degree.double().log1p()[:, None], one_hot), dim=1).float()


def node_numbers(dataset: Dataset) -> tuple[torch.Tensor, tuple[int, ...]]:
    """[nodes, 1]: the number of every node, a category that a network learns an embedding for."""
    nodes = dataset.num_nodes
    if nodes > MOST_EMBEDDINGS:
        raise InputError(f"node-numbers: {dataset.name} has {nodes} nodes; expected at most {MOST_EMBEDDINGS} to embed")
    return torch.arange(nodes)[:, None], (nodes,)


def _degrees(dataset: Dataset) -> torch.Tensor:
    return torch.from_numpy(np.bincount(_ends(dataset)[1], minlength=dataset.num_nodes))


def _ends(dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the two nodes of every edge over all graphs, both directions of a symmetric one."""
    offset = dataset.node_ptr[:-1].repeat_interleave(dataset.edge_ptr.diff()).numpy()
    source, target = (end.numpy().astype(np.int64) + offset for end in dataset.edge_index)
    if not dataset.symmetric:
        return source, target
    return np.concatenate((source, target)), np.concatenate((target, source))
