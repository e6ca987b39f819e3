"""The layers of a network one after the other; the activations of some of them are computed again in backward."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from deepergcn.nn.blocks import Block, ResPlusBlock
from deepergcn.nn.encoders.edges import EdgeInput
from deepergcn.nn.networks.predict_layers import predict_layers
from deepergcn.nn.recompute import recompute
from deepergcn.nn.virtual_node import VirtualNode
from deepergcn.ops import Adjacency


class Surroundings(NamedTuple):
    """What all layers of a pass share: the graph, the edges' features, the virtual nodes and every vertex's graph."""

    graph: Tensor | Adjacency
    edge: EdgeInput | None
    virtual: VirtualNode | None = None
    batch: Tensor | None = None


def run_layers(
    layers: Sequence[Block], h: Tensor, v: Tensor | None, around: Surroundings, segments: Sequence[int] = ()
) -> Tensor:
    """The features of the vertices after all layers.

    Args:
        layers: the layers from the first to the last.
        h: [nodes, channels], the features before the first layer.
        v: [graphs, channels], the virtual nodes before the first layer; None without them.
        around: what all layers share.
        segments: the lengths of consecutive segments, from the first layer on. Of each of them its input alone is
            kept, and the rest is computed again in backward; the layers after them keep all that backward needs.

    Where no gradient is asked for, nothing of a layer is kept when the next has run.
    """
    predicted = predict_layers(layers, h, v, *around)
    if predicted is not None:
        return predicted
    start = 0
    for length in segments if torch.is_grad_enabled() else ():
        modules: list[nn.Module] = list(layers[start : start + length])
        if around.virtual is not None:
            modules.extend(around.virtual.updates[max(start - 1, 0) : start + length - 1])
        h, v = recompute(modules, _run, layers, start, start + length, h, v, around)
        start += length
    h, _ = _run(layers, start, len(layers), h, v, around)
    return h


def _run(
    layers: Sequence[Block], start: int, stop: int, h: Tensor, v: Tensor | None, around: Surroundings
) -> tuple[Tensor, Tensor | None]:
    """Layers ``start`` to ``stop``."""
    for number in range(start, stop):
        if v is None or number == 0:  # the virtual nodes are in the input of the first
            h = layers[number](h, around.graph, around.edge)
        else:
            h, v = _hear_virtual(number, layers[number], h, v, around)
    return h, v


def _hear_virtual(number: int, layer: Block, h: Tensor, v: Tensor, around: Surroundings) -> tuple[Tensor, Tensor]:
    """A layer with the virtual nodes added to what its convolution hears."""
    virtual, batch = around.virtual, around.batch
    assert virtual is not None
    assert batch is not None
    if not isinstance(layer, ResPlusBlock):
        v = virtual(number, v, h, batch)
        return layer(h + virtual.to_vertices(v, batch), around.graph, around.edge), v

    def tell(heard: Tensor) -> Tensor:
        nonlocal v
        v = virtual(number, v, heard, batch)
        return virtual.to_vertices(v, batch)

    return layer(h, around.graph, around.edge, virtual=tell), v
