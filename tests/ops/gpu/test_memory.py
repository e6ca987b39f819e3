"""Nothing on a GPU makes a tensor of edges times channels: neither a network, nor the operators in themselves."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from deepergcn import ops
from deepergcn.nn import DeeperGCN
from deepergcn.ops import plain_path
from deepergcn.ops.operators import device
from tests.ops.gpu.conftest import ALL
from tests.ops.gpu.graphs import edge_tensors, hub_graph
from tests.ops.graphs import leaf

pytest.importorskip("triton")

NODES, EDGES, CHANNELS = 10_000, 20_000_000, 64


class Largest(TorchDispatchMode):
    """The numbers of the largest tensor that any operator of PyTorch gives."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.numbers: int = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        # bytes are moved by the interpreter alone
        made = (t.numel() for t in tree_leaves(result) if isinstance(t, Tensor) and t.dtype != torch.uint8)
        self.numbers = max(self.numbers, *made, 0)
        return result


def train(options: dict[str, Any], edge_attr: Tensor | None) -> int:
    """The numbers of the largest tensor in a step of a network."""
    with torch.device("meta"):
        model = DeeperGCN(5, 2, hidden_channels=CHANNELS, num_layers=2, dropout=0.2, **options)
        graph = ops.Adjacency.from_edge_index(torch.empty(2, EDGES, dtype=torch.int64), NODES)
        inputs = [torch.empty(NODES, 5), graph, *([] if edge_attr is None else [edge_attr])]
    with Largest() as largest:
        model(*inputs).square().sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    return int(largest.numbers)


AGGREGATIONS: dict[str, dict[str, Any]] = {
    "softmax": {"aggr": "softmax", "learn_beta": True, "norm": "batch"},
    "power_mean": {"aggr": "power_mean", "learn_p": True, "norm": "layer"},
    "max": {"aggr": "max", "norm": "batch"},
    "mean": {"aggr": "mean", "norm": "layer"},
}
EDGE_ENCODERS: dict[str, tuple[dict[str, Any], Tensor | None]] = {
    "none": ({}, None),
    "affine": ({"edge_encoder": 8, "layer_edge_encoder": CHANNELS}, torch.empty(EDGES, 8, device="meta")),
    "table": ({"layer_edge_encoder": (5, 6, 2)}, torch.empty(EDGES, 3, dtype=torch.int64, device="meta")),
}


@pytest.mark.usefixtures("fake_gpu")
@pytest.mark.parametrize("edges", EDGE_ENCODERS)
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_no_network_on_a_gpu_makes_an_edge_sized_tensor(aggregation: str, edges: str) -> None:
    encoders, features = EDGE_ENCODERS[edges]
    assert train({**AGGREGATIONS[aggregation], **encoders}, features) <= EDGES * 8


@pytest.mark.usefixtures("fake_gpu")
def test_the_plain_definitions_would_make_one() -> None:
    with plain_path():
        assert train(AGGREGATIONS["softmax"], None) >= EDGES * CHANNELS


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("kind", ["none", "table", "affine"] if ALL else ["affine"])
@pytest.mark.parametrize("function", ["mean", "max", "softmax", "power_mean"] if ALL else ["softmax", "power_mean"])
def test_no_operator_makes_an_edge_sized_tensor(function: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device.gpu_kernels("launch"), "_SHORTEST_HUB", 64)
    edges = 256
    adjacency = ops.Adjacency(3, 3, *hub_graph(3, edges))
    tensors = edge_tensors(kind, edges, 5, torch.float32)
    term: Any = {"none": lambda: None, "table": ops.Table, "affine": ops.Affine}[kind]
    learned = tensors if kind == "none" else [tensors[0], *map(leaf, tensors[1:])]
    parameter = {"softmax": {"beta": torch.ones(5, requires_grad=True)}, "power_mean": {"p": leaf(torch.ones(5))}}
    x = torch.randn(3, 5, requires_grad=True)
    with Largest() as largest:
        getattr(ops, function)(x, adjacency, term(*learned), **parameter.get(function, {})).sum().backward()
    assert x.grad is not None
    assert largest.numbers <= edges * 3  # three raw features an edge, of five channels
