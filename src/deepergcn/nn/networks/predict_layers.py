"""Layers of predictions with fewer passes over the features: what a backward would need is not made.

A layer h + conv(ReLU(norm(h))) is three passes here: norm, ReLU and the sums for the virtual node; the aggregation, to
which the vertex itself and its virtual node are added; and the last Linear layer, which adds to h in place. The biases
of these Linear layers are the same for all vertices: they are owed to h, in a row that the next norm takes from its
mean.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from deepergcn.nn.blocks import Block, PlainBlock, ResPlusBlock
from deepergcn.nn.conv.aggregators import SoftmaxAggregation
from deepergcn.nn.conv.gen_conv import GENConv
from deepergcn.nn.encoders.edges import EdgeInput
from deepergcn.nn.norms import BatchNorm
from deepergcn.nn.pooling import Pooling
from deepergcn.nn.unchanged import is_unchanged
from deepergcn.nn.virtual_node import VirtualNode
from deepergcn.ops import Adjacency, Table
from deepergcn.ops.check import check_inputs, check_parameter
from deepergcn.ops.kernels.cpu.machine.arrays import WIDEST
from deepergcn.ops.norm_relu_dropout import norm_relu_and_sums
from deepergcn.ops.operators.aggregation import is_eager
from deepergcn.ops.path import is_forward_only, on_plain_path
from deepergcn.ops.softmax import run_alone

Row = npt.NDArray[np.float32]


class Graphs(NamedTuple):
    """Which vertices belong together: the graph of every vertex, and where each graph begins."""

    batch: Tensor
    ptr: Tensor


def predict_layers(
    layers: Sequence[Block],
    h: Tensor,
    v: Tensor | None,
    graph: Tensor | Adjacency,
    edge: EdgeInput | None,
    virtual: VirtualNode | None,
    batch: Tensor | None,
) -> Tensor | None:
    """The features of the vertices after all layers, as :func:`run_layers`; None where this code does not fit.

    It fits pre-activation blocks with batch norm, softmax aggregation, embedded edge categories and, where there are
    virtual nodes, vertices in the order of their graphs, on a CPU in float32, if nobody has hooks on these modules.
    """
    if not (is_forward_only() and isinstance(graph, Adjacency) and _is_plain(h)):
        return None
    if graph.num_sources != h.shape[0] or graph.num_targets != h.shape[0] or not all(map(_fits_layer, layers)):
        return None
    if virtual is not None and not all(map(_fits_update, virtual.updates)):
        return None
    if any(map(_is_watched, [*layers, *(() if virtual is None else (virtual,))])):
        return None
    convs: list[Any] = [layer.conv for layer in layers]
    terms = [conv.edge_term(edge) for conv in convs]
    graphs = _graphs(h, v, batch)
    if graphs is None or not all(isinstance(term, Table) and term.table.dtype == torch.float32 for term in terms):
        return None
    owed = np.zeros(h.shape[1], np.float32)
    for number, (layer, conv, term) in enumerate(zip(layers, convs, terms, strict=True)):
        if isinstance(layer, PlainBlock):  # the virtual nodes are in the input of the first
            h, owed = _through(conv.mlp, _update(conv, h, graph, term)), owed * 0
            continue
        heard, sums = norm_relu_and_sums(h, *_moments(layer.norm, owed), graphs.ptr, sums=v is not None)
        if v is None or virtual is None or number == 0:
            u = _update(conv, heard, graph, term)
        else:
            v = _updated(virtual.updates[number - 1], v + sums)
            u = _update(conv, heard, graph, term, v, graphs.batch)
        *before, last = conv.mlp
        h = (torch.addmm if number == 0 else torch.Tensor.addmm_)(h, _through(before, u), last.weight.t())
        owed = owed if last.bias is None else owed + last.bias.detach().numpy()
    return h.add_(torch.from_numpy(owed)) if owed.any() else h


def predict_pooled(
    norm: nn.Module | None, h: Tensor, batch: Tensor, num_graphs: int, pooling: Pooling
) -> Tensor | None:
    """The mean or the sum of norm(h) over the vertices of every graph; None where this code does not fit."""
    if not (is_forward_only() and _is_plain(h) and _is_batch_norm(norm) and pooling in ("mean", "sum")):
        return None
    if norm is not None and _is_watched(norm):
        return None
    graphs = _graphs(h, h.new_empty(num_graphs, 0), batch)
    if graphs is None:
        return None
    _, sums = norm_relu_and_sums(h, *_moments(norm, np.zeros(h.shape[1], np.float32)), graphs.ptr, relu=False)
    return sums if pooling == "sum" else sums / graphs.ptr.diff().clamp(min=1)[:, None]


def _is_plain(h: Tensor) -> bool:
    """Whether the kernels take these features."""
    return (
        h.dtype == torch.float32
        and h.dim() == 2
        and h.shape[0] > 0
        and 0 < h.shape[1] <= WIDEST
        and h.device.type == "cpu"
        and is_eager(h)
        and not on_plain_path()
        and not torch.is_autocast_enabled("cpu")
    )


def _fits_layer(layer: Block) -> bool:
    conv = layer.conv
    if type(conv) is not GENConv or layer.training or conv._shows_messages():
        return False
    if type(layer) is PlainBlock:
        wired = layer.norm is None and layer.act is None
    else:
        wired = type(layer) is ResPlusBlock and type(layer.act) is nn.ReLU and _is_batch_norm(layer.norm)
    rest = (conv.source_projection, conv.target_projection, conv.message_projection, conv.msg_norm, conv.root)
    aggregation = conv.aggregation
    return (
        wired
        and all(part is None for part in rest)
        and type(aggregation) is SoftmaxAggregation
        and isinstance(aggregation.y, float | int)
        and aggregation.y == 0
        and type(conv.mlp) is nn.Sequential
        and type(conv.mlp[-1]) is nn.Linear
        and conv.mlp[-1].weight.dtype == torch.float32
    )


def _is_batch_norm(norm: nn.Module | None) -> bool:
    """Whether it is a batch norm by running moments, or none."""
    if norm is None:
        return True
    known = type(norm) in (BatchNorm, nn.BatchNorm1d) and not norm.training and norm.running_mean is not None
    return bool(known and norm.running_mean.dtype == torch.float32)


def _fits_update(update: nn.Module) -> bool:
    """Whether the update of virtual nodes is Linear layers, each with a batch norm or none and ReLU."""
    return (
        isinstance(update, nn.Sequential)
        and len(update) in (4, 6)
        and all(
            type(module) in (nn.Linear, nn.ReLU) or (len(update) == 6 and _is_batch_norm(module)) for module in update
        )
    )


def _is_watched(module: nn.Module) -> bool:
    """Whether somebody has a hook on a module or on one within it, or has replaced its forward."""
    return not all(map(is_unchanged, module.modules()))


def _graphs(h: Tensor, v: Tensor | None, batch: Tensor | None) -> Graphs | None:
    """The graphs of the vertices, of which each is one where there are no virtual nodes; None where out of order."""
    if v is None or batch is None:
        every = torch.arange(h.shape[0] + 1, device="cpu")
        return Graphs(every[:-1], every)
    if not bool((batch[1:] >= batch[:-1]).all()) or int(batch[0]) < 0 or int(batch[-1]) >= v.shape[0]:
        return None
    return Graphs(batch.contiguous(), torch.searchsorted(batch, torch.arange(v.shape[0] + 1, device="cpu")))


def _moments(norm: nn.Module | None, owed: Row) -> tuple[Row, Row, Row]:
    """(mean, scale, shift) of a batch norm for features to which a row is still owed."""
    if not isinstance(norm, nn.BatchNorm1d):
        return -owed, np.ones_like(owed), np.zeros_like(owed)
    assert norm.running_mean is not None
    assert norm.running_var is not None
    mean, variance = norm.running_mean.numpy(), norm.running_var.numpy()
    with np.errstate(all="ignore"):
        scale = 1 / np.sqrt(variance + np.float32(norm.eps))
        scale = scale if norm.weight is None else scale * norm.weight.detach().numpy()
        shift = np.zeros_like(mean) if norm.bias is None else norm.bias.detach().numpy()
        return mean - owed, scale, shift


def _update(
    conv: Any, x: Tensor, graph: Adjacency, term: Table, told: Tensor | None = None, batch: Tensor | None = None
) -> Tensor:
    """h_v + m_v of every vertex, with the row of its virtual node in every h."""
    check_inputs(x, graph, term, conv.eps)
    check_parameter("beta", conv.aggregation.beta, x.shape[1], x.device)
    beta = torch.as_tensor(conv.aggregation.beta, dtype=torch.float32, device="cpu").expand(x.shape[1])
    if told is None or batch is None:
        told, batch = x.new_zeros(1, x.shape[1]), x.new_zeros(x.shape[0], dtype=torch.int64)
    index = [graph.rowptr, graph.source, graph.edge, graph.rowptr_t]
    return run_alone(x, beta, index, list(term), conv.eps, told, batch, own=True)


def _through(modules: Iterable[nn.Module], u: Tensor) -> Tensor:
    for module in modules:
        u = module(u)
    return u


def _updated(update: Any, v: Tensor) -> Tensor:
    """The virtual nodes after an update, [graphs, channels]."""
    alone = torch.arange(v.shape[0] + 1, device="cpu")
    norm: nn.Module | None = None
    for module in update:
        if isinstance(module, nn.Linear):
            v, norm = module(v), None
        elif isinstance(module, nn.ReLU):
            v, _ = norm_relu_and_sums(v, *_moments(norm, np.zeros(v.shape[1], np.float32)), alone, sums=False)
        else:
            norm = module
    return v
