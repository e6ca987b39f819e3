"""PyG's GENConv, aggregating messages without materializing them."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn
from torch_geometric import EdgeIndex
from torch_geometric.typing import Adj, OptPairTensor, OptTensor, Size

from deepergcn.nn.encoders.edges import WIDEST_AFFINE
from deepergcn.nn.pyg import fast_aggregation
from deepergcn.nn.pyg.adjacency_cache import cached_adjacency
from deepergcn.nn.pyg.exact import Definition, is_number, is_usual, runs_plainly
from deepergcn.nn.pyg.in_place import InPlace, stands_for
from deepergcn.nn.unchanged import has_hooks
from deepergcn.ops import Affine, Dense, EdgeTerm


@stands_for(pyg.GENConv)
class FastGENConv(InPlace, pyg.GENConv):
    pyg_propagate: ClassVar[Callable[..., Tensor]]

    def propagate(self, edge_index: Adj, x: OptPairTensor, edge_attr: OptTensor, size: Size = None) -> Tensor:
        if torch.jit.is_scripting():  # type: ignore[attr-defined]
            return self.pyg_propagate(edge_index, x, edge_attr, size)
        else:  # noqa: RET505 - TorchScript leaves out this branch only if it is one
            return propagate(self, edge_index, x, edge_attr, size)

    _jinja_propagate = propagate  # PyG puts it on the instance where an explanation ends

    def _set_jittable_templates(self, raise_on_error: bool = False) -> None:
        """PyG would write another ``propagate`` over this one."""


def propagate(conv: Any, edge_index: Any, x: Any, edge_attr: Tensor | None, size: Any) -> Tensor:
    out = None
    graph = _structure(edge_index, edge_attr)
    if graph is not None and is_usual(x[0]) and x[0].dim() == 2 and runs_plainly() and not why_not(conv):
        out = fast_aggregation.attempt(partial(_aggregated, conv, edge_index, graph, x, edge_attr, size))
    return pyg.GENConv.propagate(conv, edge_index, x=x, edge_attr=edge_attr, size=size) if out is None else out


def why_not(conv: Any) -> str | None:
    """The reason why ``conv`` always falls back to PyG's code, or None."""
    if conv.flow != "source_to_target" or conv.node_dim != -2:
        return "its messages run against the edges, or its nodes are not in rows"
    if conv.explain or conv.decomposed_layers > 1:
        return "it is being explained, or its channels are decomposed"
    if pyg.GENConv.propagate is not pyg.GENConv._jinja_propagate or conv.fuse or not is_number(conv.eps):
        return "its propagate, fuse or eps was replaced"
    if fast_aggregation.why_not(conv.aggr_module):
        return f"its aggregation: {fast_aggregation.why_not(conv.aggr_module)}"
    if has_hooks(conv.aggr_module):
        return "its aggregation has hooks"
    return why_changed(conv)


def why_changed(conv: Any) -> str | None:
    """The reason why the messages of ``conv`` may not be those of PyG's definition, or None."""
    if any(conv.__dict__[hooks] for hooks in _HOOKS):
        return "it has hooks on its messages"
    return _CONV.why_not(conv)


def why_no_edges(conv: Any) -> str | None:
    """The reason why ``conv`` falls back to PyG's code for edge features, or None."""
    if isinstance(conv.aggr_module, pyg.PowerMeanAggregation):
        return "PyG clamps the messages of a power mean"
    linear: Any = getattr(conv, "lin_edge", _ABSENT)
    if linear is _ABSENT:
        return None
    if type(linear) not in _LINEAR:
        return f"its lin_edge is {type(linear).__name__}"
    if has_hooks(linear):
        return "its lin_edge has hooks"
    reason = _LINEAR[type(linear)].why_not(linear)
    return reason and f"lin_edge: {reason}"


def _structure(edge_index: Any, edge_attr: Tensor | None) -> Tensor | None:
    """The tensor of the edges; None if there are too few, or if PyG should handle their form."""
    compiling = torch.compiler.is_compiling()
    if type(edge_index) is EdgeIndex and not compiling:
        edge_index = edge_index.as_tensor()
    if type(edge_index) is not Tensor:
        return None
    if edge_index.layout == torch.strided:
        is_pairs = edge_index.dtype == torch.int64 and edge_index.dim() == 2 and edge_index.shape[0] == 2
        return edge_index if is_pairs and fast_aggregation.is_large(edge_index.shape[1]) else None
    if compiling or edge_attr is not None or edge_index.layout not in (torch.sparse_coo, torch.sparse_csr):
        return None
    if edge_index.layout == torch.sparse_coo and not edge_index.is_coalesced():
        return None
    is_only_structure = edge_index.dim() == 2 and edge_index.values().dim() == 1
    return edge_index if is_only_structure and fast_aggregation.is_large(edge_index._nnz()) else None


def _aggregated(
    conv: Any, edge_index: Any, graph: Tensor, x: Any, edge_attr: Tensor | None, size: Any
) -> Tensor | None:
    source, target = x
    expected = conv._check_input(edge_index, size)
    num_sources, num_targets = source.shape[0], expected[1]
    if isinstance(target, Tensor):
        num_targets = target.shape[0]
    elif num_targets is None:
        num_targets = num_sources
    if expected[0] not in (None, num_sources) or expected[1] not in (None, num_targets):
        return None
    edge = None
    if edge_attr is not None:
        edge = _edge_term(conv, source, edge_attr, graph.shape[1])
        if edge is None:
            return None
    adjacency = cached_adjacency(graph, num_sources, num_targets)
    if torch.is_grad_enabled() and not hasattr(conv, "lin_src") and not torch.compiler.is_compiling():
        source = (
            source.clone()
        )  # the fast path keeps it for backward; PyG does not, so that a user may change it in place
    return fast_aggregation.reduce_messages(conv.aggr_module, source, adjacency, edge, eps=float(conv.eps))


def _edge_term(conv: Any, x: Tensor, edge_attr: Tensor, num_edges: int) -> EdgeTerm | None:
    """The edge features as the fast path takes them, or None."""
    if why_no_edges(conv) or not is_usual(edge_attr) or edge_attr.dtype != x.dtype or edge_attr.dim() != 2:
        return None
    if not hasattr(conv, "lin_edge"):
        return Dense(edge_attr) if edge_attr.shape == (num_edges, x.shape[1]) else None
    weight, bias = conv.lin_edge.weight, conv.lin_edge.bias
    for parameter in (weight, bias):
        if parameter is not None and (not is_usual(parameter) or parameter.dtype != x.dtype):
            return None
    if edge_attr.shape != (num_edges, weight.shape[1]) or weight.shape[0] != x.shape[1]:
        return None
    return Dense(conv.lin_edge(edge_attr)) if weight.shape[1] > WIDEST_AFFINE else Affine(edge_attr, weight, bias)


_ABSENT = object()

_CONV = Definition(
    pyg.GENConv, "message", "aggregate", "update", "message_and_aggregate", "_check_input", "_set_size", "_index_select"
)

_LINEAR = {cls: Definition(cls, "forward") for cls in (pyg.Linear, nn.Linear)}

_HOOKS = tuple(
    f"_{step}_forward_{when}" for step in ("propagate", "message", "aggregate") for when in ("pre_hooks", "hooks")
)
"""PyG's attributes for hooks on steps that the fast path skips."""
