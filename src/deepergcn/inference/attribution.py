"""Integrated gradients: how much every node and edge contributes to an output of a network."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

from deepergcn.errors import InputError
from deepergcn.nn.networks.graph_network import GraphNetwork

_POINTS = (16, 32, 64, 128, 256)
"""The numbers of points of the quadrature, each tried where the one before has not been enough."""

_SHARE = 0.01
"""The share of the difference that contributions may miss before more points are taken."""


@dataclass(frozen=True, eq=False)
class Attribution:
    """The contributions to one output of every item of a batch.

    Attributes:
        nodes: [nodes], the contribution of every node.
        edges: [edges], the contribution of every edge, in the order of ``edge_index``.
        descriptors: [items, descriptors], the contribution of every descriptor of the graph.
        output: [items], the output.
        baseline: [items], the output without features, messages and counts, where all numbers about the graph
            have their mean.
        residual: [items], the part of ``output - baseline`` that the contributions miss.
    """

    nodes: Tensor
    edges: Tensor
    descriptors: Tensor
    output: Tensor
    baseline: Tensor
    residual: Tensor


def attribute(network: GraphNetwork, batch: Data, output: Tensor, item: int | None = None) -> Attribution:
    r"""Integrated gradients (Sundararajan et al., *Axiomatic Attribution for Deep Networks*, 2017) of nodes and edges.

    With f(t) the output where the embeddings of all nodes and all messages are multiplied by t, node v with embedding
    :math:`h_v` and edge e, whose messages carry the factor :math:`w_e`, contribute

    .. math:: c_v = \int_0^1 h_v \cdot \frac{\partial f}{\partial h_v}(t)\, dt, \qquad
              c_e = \int_0^1 \frac{\partial f}{\partial w_e}(t)\, dt.

    The scaled descriptors of a graph, where there are some, are multiplied by t too, and contribute as an embedding
    does, so that all contributions to an output add up to f(1) - f(0) (completeness). The integral is taken by the
    Gauss-Legendre rule, whose points are doubled until at most 1 % of the difference is missed, or there are 256.

    Args:
        network: the network; it is evaluated as in prediction, whatever its mode.
        batch: the graphs, whose contributions are separate, or one graph, of which ``item`` is a node.
        output: int64 [items], the number of the output that is explained for each graph, or [1] for a node.
        item: the node to explain, in a network that predicts nodes.
    """
    if network.node_encoder is None:
        raise InputError("explain: expected a network with a node encoder")
    if (network.level == "node") != (item is not None):
        raise InputError("item: expected the number of a node if the network predicts nodes, otherwise None")
    training = network.training
    network.eval()
    try:
        scale = nn.Identity() if network.descriptors is None else network.descriptors.scale
        with torch.no_grad(), _watched(network.node_encoder) as seen, _watched(scale) as scaled:
            end = _chosen(network(batch), output, item)
        values = scaled[0] if scaled else end.new_zeros(len(end), 0)
        path = _Path(network, batch, seen[0].detach(), values.detach(), output, item)
        with torch.no_grad():
            start = path.value(0.0)[0]
        alone = item is not None or "batch" not in batch
        owner = torch.zeros(len(path.h), dtype=torch.int64) if alone else batch.batch
        for points in _POINTS:
            nodes, edges, descriptors = _integrate(path, points)
            total = end.new_zeros(len(end)).index_add_(0, owner, nodes)
            total.index_add_(0, owner[batch.edge_index[1]], edges)
            residual = end - start - total - descriptors.sum(1)
            if bool((residual.abs() <= _SHARE * (end - start).abs() + 1e-6 * end.abs()).all()):
                break
    finally:
        network.train(training)
    return Attribution(nodes, edges, descriptors, end, start, residual)


class _Path:
    """The straight path from the baseline to the input."""

    def __init__(
        self, network: GraphNetwork, batch: Data, h: Tensor, descriptors: Tensor, output: Tensor, item: int | None
    ) -> None:
        self.network, self.batch, self.h, self.output, self.item = network, batch, h, output, item
        self.descriptors = descriptors

    def value(self, t: float) -> tuple[Tensor, tuple[Tensor, nn.Parameter, Tensor]]:
        """The outputs at ``t``, with the embeddings, the factors of messages and the descriptors they came from."""
        assert self.network.node_encoder is not None
        scaled, descriptors = (t * self.h).requires_grad_(), (t * self.descriptors).requires_grad_()
        factors = nn.Parameter(torch.full((self.batch.edge_index.shape[1],), t, dtype=self.h.dtype))
        set_masks(self.network, factors, self.batch.edge_index, apply_sigmoid=False)
        handles = [self.network.node_encoder.register_forward_hook(lambda *call: scaled)]
        if self.network.descriptors is not None:
            handles.append(self.network.descriptors.scale.register_forward_hook(lambda *call: descriptors))
        try:
            return _chosen(self.network(self.batch), self.output, self.item), (scaled, factors, descriptors)
        finally:
            for handle in handles:
                handle.remove()
            clear_masks(self.network)


def _integrate(path: _Path, points: int) -> tuple[Tensor, Tensor, Tensor]:
    places, weights = np.polynomial.legendre.leggauss(points)
    nodes, edges = path.h.new_zeros(len(path.h)), path.h.new_zeros(path.batch.edge_index.shape[1])
    descriptors = torch.zeros_like(path.descriptors)
    for place, weight in zip((places + 1) / 2, weights / 2, strict=True):
        value, at = path.value(float(place))
        of_nodes, of_edges, of_descriptors = torch.autograd.grad(value.sum(), at, allow_unused=True)
        if of_nodes is not None:
            nodes += float(weight) * (of_nodes * path.h).sum(1)
        if of_edges is not None:
            edges += float(weight) * of_edges
        if of_descriptors is not None:
            descriptors += float(weight) * of_descriptors * path.descriptors
    return nodes, edges, descriptors


def _chosen(outputs: Tensor, number: Tensor, item: int | None) -> Tensor:
    rows = outputs if item is None else outputs[item : item + 1]
    return rows.gather(1, number[:, None])[:, 0]


@contextmanager
def _watched(module: nn.Module) -> Iterator[list[Any]]:
    """The outputs of a module, one per call."""
    seen: list[Any] = []
    handle = module.register_forward_hook(lambda _, inputs, output: seen.append(output))
    try:
        yield seen
    finally:
        handle.remove()
