"""Aggregations in exported programs: PyTorch's own operators alone, any number of nodes and edges, equal numbers."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from deepergcn import ops
from deepergcn.ops import Adjacency, reference

NODES, EDGES = torch.export.Dim("nodes", min=2), torch.export.Dim("edges", min=2)
AGGREGATIONS: list[tuple[str, str | None]] = [
    ("sum", None),
    ("mean", "y"),
    ("max", None),
    ("min", None),
    ("softmax", "beta"),
    ("power_mean", "p"),
]


class Layer(nn.Module):
    """One aggregation with a learned parameter and an affine edge term."""

    def __init__(self, name: str, learned: str | None) -> None:
        super().__init__()
        self.name, self.learned = name, learned
        self.parameter = nn.Parameter(torch.tensor([1.5]))
        self.edge = nn.Linear(2, 3)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        adjacency = Adjacency.from_edge_index(edge_index, x.shape[0])
        term = ops.Affine(edge_attr, self.edge.weight, self.edge.bias)
        named: dict[str, Any] = {} if self.learned is None else {self.learned: self.parameter}
        out: Tensor = getattr(ops, self.name)(x, adjacency, term, **named)
        return out


def inputs(nodes: int, edges: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(nodes)
    edge_index = torch.randint(nodes - 1, (2, edges), generator=generator)  # the last has no neighbours
    return torch.randn(nodes, 3, generator=generator), edge_index, torch.rand(edges, 2, generator=generator)


@pytest.mark.parametrize(
    ("name", "learned", "strict"), [*((*each, False) for each in AGGREGATIONS), ("softmax", "beta", True)]
)
def test_export_with_any_number_of_nodes_and_edges(name: str, learned: str | None, strict: bool) -> None:
    torch.manual_seed(0)
    layer = Layer(name, learned)
    shapes = {"x": {0: NODES}, "edge_index": {1: EDGES}, "edge_attr": {0: EDGES}}
    program = torch.export.export(layer, inputs(7, 20), dynamic_shapes=shapes, strict=strict)
    targets = {str(node.target) for node in program.graph.nodes if node.op == "call_function"}
    assert not [target for target in targets if "deepergcn" in target]
    for nodes, edges in ((7, 20), (11, 50), (2, 3)):
        torch.testing.assert_close(program.module()(*inputs(nodes, edges)), layer(*inputs(nodes, edges)))


@pytest.mark.parametrize(("name", "learned"), AGGREGATIONS)
def test_compiled_with_any_number_of_nodes_and_edges(name: str, learned: str | None) -> None:
    torch.manual_seed(0)
    torch._dynamo.reset()
    layer = Layer(name, learned)
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True, dynamic=True)
    for nodes, edges in ((7, 20), (11, 50)):
        results = []
        for function in (layer, compiled):
            layer.zero_grad()
            function(*inputs(nodes, edges)).square().sum().backward()
            results.append([p.grad for p in layer.parameters() if p.grad is not None])
        assert len(results[0]) == (2 if learned is None else 3)
        torch.testing.assert_close(results[0], results[1])


def test_the_plain_path_is_compiled_anew() -> None:
    torch._dynamo.reset()
    layer = Layer("softmax", "beta")
    seen: list[set[str]] = []

    def backend(graph: torch.fx.GraphModule, example: list[Tensor]) -> Any:
        seen.append({str(node.target) for node in graph.graph.nodes if node.op == "call_function"})
        return graph.forward

    compiled = torch.compile(layer, backend=backend, fullgraph=True)
    fast = compiled(*inputs(7, 20))
    with ops.plain_path():
        plain = compiled(*inputs(7, 20))
    torch.testing.assert_close(fast, plain)
    assert [any("deepergcn" in target for target in targets) for targets in seen] == [True, False]


@pytest.mark.parametrize(("name", "learned"), AGGREGATIONS)
def test_meta_tensors_have_shapes_alone(name: str, learned: str | None) -> None:
    layer = Layer(name, learned).to("meta")
    out = layer(*(t.to("meta") for t in inputs(7, 20)))
    assert out.device.type == "meta"
    assert out.shape == (7, 3)


def test_the_plain_path_is_the_definition() -> None:
    x, edge_index, _ = inputs(7, 20)
    with ops.plain_path():
        adjacency = Adjacency.from_edge_index(edge_index, 7)
        assert torch.equal(ops.softmax(x, adjacency, beta=2.0), reference.softmax(x, adjacency, beta=2.0))
        assert torch.equal(adjacency.transpose().edge_index(), edge_index.flip(0))
    ordinary = Adjacency.from_edge_index(edge_index, 7)
    for name in ("rowptr", "source", "edge", "rowptr_t", "target", "edge_t"):
        assert torch.equal(getattr(adjacency, name), getattr(ordinary, name).long())
