"""One aggregation as a pair of ``torch.library`` operators, so that autograd, torch.compile, autocast and activation
checkpointing see an ordinary operator of PyTorch.

Every aggregation has the same form. Forward takes

    x          [sources, channels], float32 or float64
    parameter  [channels], beta or p; unused by the others
    graph      the six index tensors of the ``Adjacency``
    edge       [] for none, [features] dense, [codes, table], or [features, weight, bias] affine
    eps        the constant of equation (4), or None for messages as they are
    option     one switch of the aggregation's own

and gives [out, *kept], ``kept`` being what its backward wants beside the inputs. Backward gives the gradients of x, of
what is learnable in the edge term, and of the parameter.

Outside torch.compile the same two functions run under a plain ``autograd.Function``: a small graph, such as a batch of
molecules, would spend as long in the operators' bookkeeping as in its kernels.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

Tensors = Sequence[Tensor]
Forward = Callable[[Tensor, Tensor, Tensors, Tensors, float | None, bool], list[Tensor]]
Aggregate = Callable[[Tensor, Tensor, Tensors, Tensors, float | None, bool], Tensor]
Gradients = tuple[Tensor, list[Tensor], Tensor]
Backward = Callable[[Tensor, Tensor, Tensor, Tensors, Tensors, float | None, bool, Tensors], Gradients]

_INPUTS = "Tensor x, Tensor parameter, Tensor[] graph, Tensor[] edge, float? eps, bool option"


def register(name: str, forward: Forward, backward: Backward, shapes: Forward) -> Aggregate:
    """Register ``deepergcn::name`` and its backward; ``shapes`` gives empty tensors of forward's shapes."""
    library = torch.library
    forward_op = library.custom_op(
        f"deepergcn::{name}", forward, mutates_args=(), device_types="cpu", schema=f"({_INPUTS}) -> Tensor[]"
    )
    forward_op.register_fake(shapes)
    backward_op = library.custom_op(
        f"deepergcn::{name}_backward",
        backward,
        mutates_args=(),
        device_types="cpu",
        schema=f"(Tensor g, {_INPUTS}, Tensor[] kept) -> (Tensor, Tensor[], Tensor)",
    )
    backward_op.register_fake(_gradient_shapes)

    def differentiate(ctx: Any, grads: Sequence[Tensor | None]) -> Any:
        x, parameter, *rest = ctx.saved_tensors
        graph, edge, kept = rest[:6], rest[6 : 6 + ctx.edge_length], rest[6 + ctx.edge_length :]
        if grads[0] is None:
            return None, None, [None] * 6, [None] * ctx.edge_length, None, None
        arguments = (grads[0].contiguous(), x, parameter, graph, edge, ctx.eps, ctx.option, kept)
        dx, learnable, dparameter = backward_op(*arguments)
        return dx, dparameter, [None] * 6, _edge_gradients(ctx.edge_length, learnable), None, None

    forward_op.register_autograd(differentiate, setup_context=_remember)

    def aggregate(
        x: Tensor, parameter: Tensor, graph: Tensors, edge: Tensors, eps: float | None, option: bool
    ) -> Tensor:
        out: Tensor
        if is_eager(x):
            out = _Eager.apply(forward, backward, graph, eps, option, x, parameter, *edge)  # type: ignore[no-untyped-call]
        else:
            out = forward_op(x, parameter, graph, edge, eps, option)[0]
        return out

    return aggregate


def is_eager(x: Tensor) -> bool:
    """Whether ``x`` is an ordinary tensor outside of any tracing."""
    return not torch.compiler.is_compiling() and type(x) in (Tensor, torch.nn.Parameter)


class _Eager(torch.autograd.Function):
    """The operator without its registration: the edge term follows x and the parameter; the graph is no variable."""

    @staticmethod
    def forward(
        ctx: Any,
        forward: Forward,
        backward: Backward,
        graph: Tensors,
        eps: float | None,
        option: bool,
        x: Tensor,
        parameter: Tensor,
        *edge: Tensor,
    ) -> Tensor:
        parameter = parameter.contiguous()  # a number for all channels is written out once
        out, *kept = forward(x, parameter, graph, edge, eps, option)
        ctx.backward, ctx.graph, ctx.eps, ctx.option, ctx.edge_length = backward, graph, eps, option, len(edge)
        ctx.save_for_backward(x, parameter, *edge, out, *kept)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        x, parameter, *rest = ctx.saved_tensors
        edge, kept = rest[: ctx.edge_length], rest[ctx.edge_length :]
        arguments = (grads[0].contiguous(), x, parameter, ctx.graph, edge, ctx.eps, ctx.option, kept)
        dx, learnable, dparameter = ctx.backward(*arguments)
        return *[None] * 5, dx, dparameter, *_edge_gradients(ctx.edge_length, learnable)


def _remember(ctx: Any, inputs: Any, output: Any) -> None:
    x, parameter, graph, edge, ctx.eps, ctx.option = inputs
    ctx.edge_length = len(edge)
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(x, parameter, *graph, *edge, *output)


def _learnable(edge: Tensors) -> Tensors:
    """The tensors of an edge term that have a gradient: not the raw features and codes of a factored one."""
    return edge if len(edge) == 1 else edge[1:]


def _edge_gradients(length: int, learnable: Tensors) -> list[Tensor | None]:
    return list(learnable) if length < 2 else [None, *learnable]


def _gradient_shapes(g: Tensor, x: Tensor, parameter: Tensor, graph: Any, edge: Tensors, *rest: Any) -> Gradients:
    dx, *d_edge = (torch.empty_like(t, memory_format=torch.contiguous_format) for t in (x, *_learnable(edge)))
    return dx, d_edge, torch.empty_like(parameter, memory_format=torch.contiguous_format)
