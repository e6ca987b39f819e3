"""The authors' networks by the names and shapes of their weights, in plain PyTorch, to make checkpoints of."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import global_add_pool, global_mean_pool

from deepergcn.ops import Adjacency, reference


class Embeddings(nn.Module):
    """The sum of an embedding for each column, in a list of the given name."""

    def __init__(self, name: str, sizes: Sequence[int], channels: int) -> None:
        super().__init__()
        self.name = name
        setattr(self, name, nn.ModuleList(nn.Embedding(size, channels) for size in sizes))

    def forward(self, x: Tensor) -> Tensor:
        tables: Any = getattr(self, self.name)
        return torch.stack([table(x[:, i]) for i, table in enumerate(tables)]).sum(0)


def mlp(channels: Sequence[int], norm: Any, last_linear: bool = True) -> nn.Sequential:
    modules: list[nn.Module] = []
    for i in range(1, len(channels)):
        modules.append(nn.Linear(channels[i - 1], channels[i]))
        if i < len(channels) - 1 or not last_linear:
            modules += [norm(channels[i]), nn.ReLU()]
    return nn.Sequential(*modules)


class Conv(nn.Module):
    def __init__(self, channels: int, layers: int, norm: Any, t: float, learn_t: bool, edge: nn.Module | None) -> None:
        super().__init__()
        self.mlp = mlp([channels, *[2 * channels] * (layers - 1), channels], norm)
        self.t = nn.Parameter(torch.tensor([t]) + torch.rand(1)) if learn_t else t
        if edge is not None:
            self.edge_encoder = edge

    def forward(self, x: Tensor, graph: Adjacency, edge: Tensor | None) -> Tensor:
        if edge is not None and hasattr(self, "edge_encoder"):
            edge = self.edge_encoder(edge)
        out: Tensor = self.mlp(x + reference.softmax(x, graph, edge, beta=self.t))
        return out


class Network(nn.Module):
    """Their res+ network of any of their tasks, in evaluation."""

    def __init__(
        self,
        task: str,
        *,
        layers: int,
        channels: int,
        mlp_layers: int,
        norm: Any,
        outputs: int | None,
        t: float = 1.0,
        learn_t: bool = False,
        nodes: int | Sequence[int] | None = None,
        edges: int | Sequence[int] | None = None,
        virtual: bool = False,
    ) -> None:
        super().__init__()
        self.level = "graph" if task.startswith("ogbg") else "node"
        self.norms_name = "layer_norms" if task == "ogbn-proteins" else "norms"

        def edge_encoder() -> nn.Module | None:
            if edges is None:
                return None
            if isinstance(edges, int):
                return nn.Linear(channels, channels)
            return Embeddings("bond_embedding_list", edges, channels)

        self.gcns = nn.ModuleList(Conv(channels, mlp_layers, norm, t, learn_t, edge_encoder()) for _ in range(layers))
        setattr(self, self.norms_name, nn.ModuleList(norm(channels) for _ in range(layers)))
        if task == "ogbn-proteins":
            self.node_features_encoder_1st = nn.Embedding.from_pretrained(torch.rand(5, 8))
            self.node_one_hot_encoder = nn.Linear(8, 8)
        if isinstance(nodes, int):
            self.node_features_encoder = nn.Linear(nodes, channels)
        elif nodes is not None:
            self.atom_encoder = Embeddings("atom_embedding_list", nodes, channels)
        if isinstance(edges, int):
            self.edge_encoder = nn.Linear(edges, channels)
        if virtual:
            self.virtualnode_embedding = nn.Embedding(1, channels)
            self.mlp_virtualnode_list = nn.ModuleList(
                mlp([channels] * 3, norm, last_linear=False) for _ in range(layers - 1)
            )
        if outputs is not None:
            setattr(self, f"{self.level}_pred_linear", nn.Linear(channels, outputs))

    def forward(self, x: Tensor, graph: Adjacency, edge: Tensor | None, batch: Tensor) -> Tensor:
        norms: Any = getattr(self, self.norms_name)
        if hasattr(self, "node_one_hot_encoder"):
            x = torch.cat([x[:, :8], self.node_one_hot_encoder(x[:, 8:])], dim=1)
        h: Tensor = x
        for name in ("node_features_encoder", "atom_encoder"):
            h = getattr(self, name)(x) if hasattr(self, name) else h
        if hasattr(self, "edge_encoder"):
            edge = self.edge_encoder(edge)
        virtual = None
        if hasattr(self, "virtualnode_embedding"):
            virtual = self.virtualnode_embedding.weight.expand(int(batch.max()) + 1, -1)
            h = h + virtual[batch]
        h = self.gcns[0](h, graph, edge)
        for i in range(1, len(self.gcns)):
            heard = norms[i - 1](h).relu()
            if virtual is not None:
                updates: Any = self.mlp_virtualnode_list
                virtual = updates[i - 1](global_add_pool(heard, batch) + virtual)
                heard = heard + virtual[batch]
            h = self.gcns[i](heard, graph, edge) + h
        h = norms[-1](h)
        h = global_mean_pool(h, batch) if self.level == "graph" else h.relu()
        head = getattr(self, f"{self.level}_pred_linear", None)
        return h if head is None else head(h)
