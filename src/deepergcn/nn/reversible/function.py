"""Run reversible layers: a network of any depth keeps the activations of one layer.

The channels of x are divided into C groups x_1, ..., x_C, and a layer is (Li et al. 2021, *Training Graph Neural
Networks with 1000 Layers*)

    y_0 = x_2 + ... + x_C,    y_i = f_i(y_{i-1}) + x_i    for i = 1, ..., C,

which is undone in the opposite order, x_i = y_i - f_i(y_{i-1}). Forward keeps the output of the last layer only;
backward rebuilds the input of each layer from its output while it computes the gradients, so that every f_i runs as
often as with recomputed activations: once in forward and once in backward.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from deepergcn.errors import InputError
from deepergcn.nn.encoders.edges import EdgeInput
from deepergcn.nn.recompute import Conditions, versions
from deepergcn.nn.reversible.backward import Backward
from deepergcn.nn.reversible.layers import Pass, RevBlock, VirtualNodes
from deepergcn.nn.unchanged import has_hooks
from deepergcn.ops import Adjacency
from deepergcn.ops.operators.aggregation import is_eager
from deepergcn.ops.path import is_traced, is_vectorized_backward


def reversible(
    layers: Sequence[RevBlock],
    x: Tensor,
    graph: Tensor | Adjacency,
    edge: EdgeInput | None = None,
    virtual: VirtualNodes | None = None,
    rebuild: bool = True,
) -> Tensor:
    """Run reversible layers one after the other, keeping the activations of one.

    Args:
        layers: the layers; one that stands in the list several times shares its weights.
        x: [nodes, channels].
        graph, edge: as for the convolutions.
        virtual: virtual nodes, which every layer but the first hears.
        rebuild: False keeps the activations of all layers, which second-order gradients need. They are also kept in
            what transforms of torch.func and ``functional_call`` compute, and where a layer has hooks.
    """
    run = Pass(tuple(layers), graph, edge, virtual)
    x = x.to(torch.promote_types(x.dtype, torch.float32))  # half precision could not be undone
    if not is_eager(x) or is_traced() or x.device.type == "meta" or any(map(has_hooks, layers)):
        return run.plain(x)
    if torch.is_grad_enabled() and not (rebuild and run.has_lasting_weights()):
        return run.plain(x)
    if not torch.is_grad_enabled():
        seed = run.draw_seed()
        with _own_randomness(x.device):
            return run.forward(x, seed)
    start = None if virtual is None else virtual.start
    hand_over = _hand_over if run.can_hand_over() else None
    weights: list[Tensor] = [*run.weights()] if hand_over is None else [x.new_zeros((), requires_grad=True)]
    out: Tensor = _Reversible.apply(run, hand_over, x, start, len(weights), *weights, *run.edge_tensors())  # type: ignore[no-untyped-call]
    return out


HandOver = Callable[[Sequence[nn.Parameter]], None]
"""Takes the weights of a layer that have their gradients."""

_hand_over: HandOver | None = None


@contextmanager
def after_each_layer(hand_over: HandOver) -> Iterator[None]:
    """Hand over the weights of each layer in backward, as soon as they have their gradients.

    What takes them may change the weights and delete the gradients, so that those of all layers are never there at
    once. It is for networks that run forward in this context, are followed by one ``backward``, and use the weights of
    a layer nowhere else; layers that share some of their weights hand over nothing.
    """
    global _hand_over
    before, _hand_over = _hand_over, hand_over
    try:
        yield
    finally:
        _hand_over = before


class _Reversible(torch.autograd.Function):
    """All layers as one function, so that nothing between them is kept.

    Its last inputs are the weights, or one that stands for them where they are handed over, and the tensors of the edge
    term. What autograd has for each of 20,000 weights takes 12 MB.
    """

    @staticmethod
    def forward(
        ctx: Any, run: Pass, hand_over: HandOver | None, x: Tensor, start: Tensor | None, weights: int, *tensors: Tensor
    ) -> Tensor:
        ctx.run, ctx.hand_over, ctx.seed, ctx.has_virtual = run, hand_over, run.draw_seed(), start is not None
        ctx.autocast = _autocast_state(x.device.type)
        kept: list[Tensor] = []
        ctx.conditions = Conditions(run.modules())
        with _own_randomness(x.device):
            out = run.forward(x, ctx.seed, kept)
        ctx.dtype = x.dtype
        ctx.used = versions(run.given())
        ctx.save_for_backward(out, *kept, *tensors[weights:])
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        if torch.is_grad_enabled():
            raise InputError(
                "a reversible network has no second-order gradients, since it keeps no activations; "
                "expected rebuild=False, which keeps them"
            )
        if is_vectorized_backward():
            raise InputError(
                "a reversible network has no backward for many gradients at once (is_grads_batched, vectorize); "
                "expected rebuild=False, which has one"
            )
        run: Pass = ctx.run
        out, *rest = ctx.saved_tensors
        states, edges = (rest[: len(run.layers)], rest[len(run.layers) :]) if ctx.has_virtual else ([], rest)
        used = versions(run.given())
        if used[::2] != ctx.used[::2]:
            raise InputError("the weights of a reversible network were replaced between forward and backward")
        if used != ctx.used:
            raise RuntimeError(
                "a weight, the edges or the edge features of a reversible network have been modified by an inplace "
                "operation between forward and backward"
            )
        step = Backward(run, [t.detach().requires_grad_() for t in edges], states, ctx.hand_over)
        with ctx.conditions.restored(), _own_randomness(out.device), torch.autocast(**ctx.autocast):
            dx, dstart = step.all(out, grads[0], ctx.seed)
        return None, None, dx.to(ctx.dtype), dstart, None, *step.found()


@contextmanager
def _own_randomness(device: torch.device) -> Iterator[None]:
    """Leave torch's generators as they were."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        yield


def _autocast_state(device_type: str) -> dict[str, Any]:
    """Autocast as it is now, without the cache of cast weights, whose graphs one layer's backward frees."""
    return {
        "device_type": device_type,
        "enabled": torch.is_autocast_enabled(device_type),
        "dtype": torch.get_autocast_dtype(device_type),
        "cache_enabled": False,
    }
