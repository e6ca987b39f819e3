"""Small data in memory, and settings of a small network."""

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import torch
from torch_geometric.data import Data

ROWS = 60
SMALL: dict[str, Any] = {"model.num_layers": 2, "model.hidden_channels": 8}
SMILES = [f"{'C' * (i % 30 + 1)}{'ON'[i // 30 % 2]}" for i in range(ROWS)]
ACTIVE = np.array(["active" if i % 3 == 0 else "inactive" for i in range(ROWS)])
EDGES = np.array([[i, (i * 7 + 1) % ROWS] for i in range(ROWS)]).T


def molecules() -> pd.DataFrame:
    return pd.DataFrame({"smiles": SMILES, "y": ACTIVE, "size": np.arange(ROWS) / 4})


def pyg() -> Data:
    x = torch.randn(ROWS, 3, generator=torch.Generator().manual_seed(0))
    both = torch.from_numpy(np.concatenate((EDGES, EDGES[::-1]), axis=1).copy())
    return Data(x=x, edge_index=both, y=torch.arange(ROWS) % 3)


def network() -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from((f"n{i}", {"size": i / 7, "kind": "ab"[i % 2], "role": "xy"[i % 5 == 0]}) for i in range(ROWS))
    graph.add_edges_from((f"n{i}", f"n{j}", {"weight": float(i)}) for i, j in EDGES.T.tolist())
    return graph


def frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    nodes = pd.DataFrame({"a": np.arange(ROWS) / 7, "y": np.arange(ROWS) * 0.3}, index=[f"n{i}" for i in range(ROWS)])
    edges = pd.DataFrame({"source": [f"n{i}" for i in EDGES[0]], "target": [f"n{i}" for i in EDGES[1]]})
    return nodes, edges


def many_graphs() -> list[Data]:
    generator = torch.Generator().manual_seed(0)
    ring = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    return [
        Data(
            x=torch.randn(4, 3, generator=generator),
            edge_index=ring,
            edge_attr=torch.arange(4)[:, None] % 2,
            y=torch.tensor([i % 2]),
        )
        for i in range(ROWS)
    ]
