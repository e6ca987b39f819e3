"""Random compositions of PyG's modules: accelerated or not, the same outputs and the same gradients."""

import copy
from typing import Any

import torch
import torch_geometric.nn as pyg
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

import deepergcn
from tests.nn.pyg.models import outcome

ALONE = ["softmax", "powermean", "sum", "mean", "max", "min", "std", "softmax_sg"]

aggregations = st.one_of(
    st.sampled_from(ALONE),
    st.lists(st.sampled_from(ALONE[:-1]), min_size=2, max_size=3),
    st.builds(
        lambda names, mode: pyg.MultiAggregation(names, mode=mode),
        st.lists(st.sampled_from(ALONE[:-1]), min_size=2, max_size=3),
        st.sampled_from(["cat", "sum", "mean"]),
    ),
)

options = st.fixed_dictionaries(
    {
        "aggr": aggregations,
        "t": st.floats(-3, 3),
        "learn_t": st.booleans(),
        "p": st.sampled_from([1.0, 2.0, -1.0, 0.5]),
        "learn_p": st.booleans(),
        "msg_norm": st.booleans(),
        "learn_msg_scale": st.booleans(),
        "norm": st.sampled_from(["layer", "batch", None]),
        "num_layers": st.integers(1, 2),
        "bias": st.booleans(),
        "edge_dim": st.sampled_from([None, 8, 3]),
        "flow": st.sampled_from(["source_to_target", "source_to_target", "target_to_source"]),
    }
)


def settled(options: dict[str, Any]) -> dict[str, Any]:
    """PyG does not learn the temperature of semi-gradients."""
    return {**options, "learn_t": options["learn_t"] and options["aggr"] != "softmax_sg"}


def numbers(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


class Stack(nn.Module):
    """Layers that share a graph, with edge features where the first convolution takes them."""

    def __init__(self, layers: list[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Any, edge_index: Any, edge_attr: Any) -> Any:
        for layer in self.layers:
            x = layer(x, edge_index, edge_attr)
        return x


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    first=options,
    second=options,
    block=st.sampled_from(["res+", "res", "plain"]),
    nodes=st.integers(2, 12),
    edges=st.integers(0, 30),
    with_edges=st.booleans(),
    hetero=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_compositions(
    first: dict[str, Any],
    second: dict[str, Any],
    block: str,
    nodes: int,
    edges: int,
    with_edges: bool,
    hetero: bool,
    seed: int,
) -> None:
    torch.manual_seed(seed)
    second = {**second, "edge_dim": first["edge_dim"]}
    convs = [pyg.GENConv(8, 8, **settled(o)) for o in (first, second)]
    theirs: Any = Stack([convs[0], pyg.DeepGCNLayer(convs[1], nn.LayerNorm(8), nn.ReLU(), block=block)]).double()
    fast = deepergcn.accelerate(copy.deepcopy(theirs))
    assert str(fast) == str(theirs)
    edge_index = torch.randint(0, nodes, (2, edges), generator=torch.Generator().manual_seed(seed))
    edge_attr = numbers(seed + 1, edges, first["edge_dim"] or 8) if with_edges else None
    arguments = (numbers(seed, nodes, 8), edge_index, edge_attr)
    assert_close(outcome(fast, *arguments), outcome(theirs, *arguments), atol=1e-7, rtol=1e-6, equal_nan=True)
    if hetero:
        types = [("a", "to", "b"), ("b", "to", "a")]
        ours, other = (
            pyg.HeteroConv(dict(zip(types, [copy.deepcopy(m.layers[0]), m.layers[1].conv], strict=True)))
            for m in (fast, theirs)
        )
        x, graph = {"a": arguments[0], "b": arguments[0].flip(0)}, dict.fromkeys(types, edge_index)
        assert_close(ours(x, graph), other(x, graph), atol=1e-7, rtol=1e-6, equal_nan=True)
    report = deepergcn.accelerated(fast)
    assert not {"not accelerated"} & set(report.left.values())
    deepergcn.deaccelerate(fast)
    assert [type(m) for m in fast.modules()] == [type(m) for m in theirs.modules()]
