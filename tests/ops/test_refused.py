"""Arguments of the wrong type, shape or device: one line that names the argument, from every aggregation."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from deepergcn import ops
from deepergcn.errors import InputError
from deepergcn.ops import reference

FUNCTIONS = ("sum", "mean", "max", "min", "softmax", "power_mean")
EDGES = torch.tensor([[0, 1, 2, 2], [1, 1, 0, 3]])
X = torch.randn(4, 3)
CODES = torch.zeros(4, dtype=torch.int64)


def graph() -> ops.Adjacency:
    return ops.Adjacency.from_edge_index(EDGES, 4)


CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "a list": (([[1.0]], None), {}, "x: expected a dense tensor .*, got list"),
    "an array": ((np.ones((4, 3)), None), {}, "x: expected a dense tensor .*, got ndarray"),
    "sparse": ((X.to_sparse(), None), {}, "x: expected a dense tensor .*, got a torch.sparse_coo tensor"),
    "integers": ((X.long(), None), {}, r"x: expected a floating-point tensor .*, got torch.int64 \[4, 3\]"),
    "edges for a structure": ((X, EDGES), {}, "adjacency: expected an Adjacency, .* got Tensor"),
    "another device": ((X.to("meta"), None), {}, "adjacency: expected the device of x, meta, got cpu"),
    "a text for edges": ((X, None, "e"), {}, "edge: expected a tensor, Affine, Table or Dense, got str"),
    "edges elsewhere": ((X, None, X.to("meta")), {}, "edge features: expected the device of x, cpu, got meta"),
    "no features": ((X, None, ops.Affine(None, X)), {}, "edge features: expected a tensor .*, got NoneType"),  # type: ignore[arg-type]
    "a scalar table": ((X, None, ops.Table(CODES, torch.ones(()))), {}, "edge table: expected a tensor of one or two"),
    "a text for eps": ((X, None), {"eps": "a"}, "eps: expected a finite number >= 0, .* got a"),
    "a text for y": ((X, None), {"y": "1"}, "y: expected a number or a tensor, got str"),
    "a large y": ((X, None), {"y": 10**400}, "y: expected a finite number"),
    "y elsewhere": ((X, None), {"y": torch.ones(3, device="meta")}, "y: expected the device of x, cpu, got meta"),
}


@pytest.mark.parametrize("functions", [ops, reference], ids=["fast", "definition"])
@pytest.mark.parametrize("call", CALLS)
def test_every_aggregation_names_what_is_wrong(call: str, functions: Any) -> None:
    (x, adjacency, *edge), options, message = CALLS[call]
    for name in FUNCTIONS:
        with pytest.raises(InputError, match=f"^{message}"):
            getattr(functions, name)(x, graph() if adjacency is None else adjacency, *edge, **options)


@pytest.mark.parametrize("value", ["1", None, [1.0, 2.0], np.array(2.0), 1j])
def test_a_parameter_is_a_number_or_a_tensor(value: Any) -> None:
    for call, name in ((ops.softmax, "beta"), (ops.power_mean, "p")):
        function: Callable[..., Any] = call
        with pytest.raises(InputError, match=f"^{name}: expected a number or a tensor, got {type(value).__name__}"):
            function(X, graph(), **{name: value})


def test_numbers_of_numpy_and_scalars_of_the_host_are_taken() -> None:
    expected = ops.softmax(X, graph(), beta=2.0, y=1.0)
    assert torch.equal(ops.softmax(X, graph(), beta=np.float32(2), y=np.int64(1)), expected)  # type: ignore[arg-type]
    assert torch.equal(ops.softmax(X, graph(), beta=torch.tensor(2.0), y=torch.tensor([1.0])), expected)


@pytest.mark.parametrize(
    ("edge_index", "num_nodes", "message"),
    [
        (None, 4, "edge_index: expected a tensor .*, got NoneType"),
        ([[0], [1]], None, "edge_index: expected a tensor .*, got list"),
        (EDGES.to("meta"), None, "num_nodes: expected the number of vertices, as edge_index on meta has no numbers"),
        (EDGES, "4", "num_nodes: expected a whole number of sources, got '4'"),
        (EDGES, 4.0, "num_nodes: expected a whole number of sources, got 4.0"),
        (EDGES, (4, None), "num_nodes: expected a whole number of targets, got None"),
        (EDGES, (4, 4, 4), r"num_nodes: expected a number or a pair .*, got 3 numbers"),
    ],
)
def test_a_structure_names_what_is_wrong(edge_index: Any, num_nodes: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        ops.Adjacency.from_edge_index(edge_index, num_nodes)


def test_a_number_of_nodes_may_be_an_integer_of_any_kind() -> None:
    for number in (np.int64(4), torch.tensor(4)):
        assert ops.Adjacency.from_edge_index(EDGES, number).num_targets == 4  # type: ignore[arg-type]


def test_a_sparse_matrix_is_a_tensor() -> None:
    with pytest.raises(InputError, match=r"^adjacency: expected a sparse tensor, got NoneType"):
        ops.Adjacency.from_sparse(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [2**62, 2**55])
def test_vertices_that_are_not_numbered_from_zero(number: int) -> None:
    edge_index = torch.tensor([[0, number], [1, 0]])
    with pytest.raises(InputError, match=f"^num_nodes: {number + 1} sources .* do not fit into the memory"):
        ops.Adjacency.from_edge_index(edge_index)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
@pytest.mark.parametrize("pointers", [[0, 1], [0, 5, 1], [0, 1, 9], [1, 1, 2]])
@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_csc])
def test_pointers_that_lead_out_of_a_sparse_matrix(layout: torch.layout, pointers: list[int]) -> None:
    parts = torch.tensor(pointers), torch.tensor([0, 1]), torch.ones(2)
    matrix = torch.sparse_compressed_tensor(*parts, (2, 2), layout=layout, check_invariants=False)
    with pytest.raises(InputError, match=r"^adjacency: expected 3 pointers to .* that rise from 0 to 2, the number of"):
        ops.Adjacency.from_sparse(matrix)
