"""One aggregation as a pair of ``torch.library`` operators, so that autograd, torch.compile, autocast and activation
checkpointing see an ordinary operator of PyTorch. What the two take and give is said in ``kernels.contract``.

Outside torch.compile the same two functions run under a plain ``autograd.Function``: a small graph, such as a batch of
molecules, would spend as long in the operators' bookkeeping as in its kernels.

The kernels know first derivatives alone. Where backward is itself to be differentiated (``create_graph=True``) or
vectorized over, it goes through the definition, which is made of PyTorch's own operators.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from deepergcn.ops.adjacency import Adjacency
from deepergcn.ops.edge import Affine, Dense, EdgeTerm, Table
from deepergcn.ops.kernels.contract import Backward, Forward, Gradients, Kernels, Tensors
from deepergcn.ops.operators import device
from deepergcn.ops.operators.heap import gives_back
from deepergcn.ops.path import is_forward_only, is_vectorized_backward, under_transform

Aggregate = Callable[[Tensor, Tensor, Tensors, Tensors, float | None, int], Tensor]
Definition = Callable[[Tensor, Adjacency, EdgeTerm | None, Tensor, float | None, int], Tensor]

_INPUTS = "Tensor x, Tensor parameter, Tensor[] graph, Tensor[] edge, float? eps, int option"


def register(
    name: str,
    forward: Forward,
    backward: Backward,
    shapes: Forward,
    definition: Definition,
    *,
    keeps_out: bool = True,
    alone: Forward | None = None,
) -> Aggregate:
    """Register ``deepergcn::name`` and its backward: the given kernels on a CPU, ``kernels.gpu.name`` on a GPU.

    ``definition`` is the same aggregation in PyTorch's own operators, of (x, adjacency, edge, parameter, eps, option).
    Without ``keeps_out`` backward is given ``kept`` alone, not [out, *kept]. ``alone``, if given, is called on a CPU in
    place of ``forward`` within ``forward_only``, and gives [out].
    """
    library = torch.library
    without_gradients = alone or forward  # whose tensors are all freed soon: the heap has no holes to give back
    forward, backward = gives_back(forward), gives_back(backward)
    on_cpu = Kernels(forward, backward, shapes)

    def kernels_for(x: Tensor) -> Kernels:
        if not device.on_gpu(x):
            return on_cpu
        module = device.gpu_kernels(name)
        return Kernels(module.forward, module.backward, module.shapes)

    forward_op = library.custom_op(
        f"deepergcn::{name}", forward, mutates_args=(), device_types="cpu", schema=f"({_INPUTS}) -> Tensor[]"
    )
    forward_op.register_fake(lambda x, *rest: kernels_for(x).shapes(x, *rest))
    forward_op.register_kernel("cuda", lambda x, *rest: kernels_for(x).forward(x, *rest))
    backward_op = library.custom_op(
        f"deepergcn::{name}_backward",
        backward,
        mutates_args=(),
        device_types="cpu",
        schema=f"(Tensor g, {_INPUTS}, Tensor[] kept) -> (Tensor, Tensor[], Tensor)",
    )
    backward_op.register_fake(_gradient_shapes)
    backward_op.register_kernel("cuda", lambda g, x, *rest: kernels_for(x).backward(g, x, *rest))

    def differentiate(ctx: Any, grads: Sequence[Tensor | None]) -> Any:
        x, parameter, *rest = ctx.saved_tensors
        graph, edge, kept = rest[:6], rest[6 : 6 + ctx.edge_length], rest[6 + ctx.edge_length :]
        if grads[0] is None:
            return None, None, [None] * 6, [None] * ctx.edge_length, None, None
        if needs_definition():
            call = (graph, ctx.eps, ctx.option)
            dx, dparameter, *d_edge = _by_definition(definition, grads[0], x, parameter, edge, *call)
            return dx, dparameter, [None] * 6, d_edge, None, None
        arguments = (grads[0].contiguous(), x, parameter, graph, edge, ctx.eps, ctx.option, kept)
        dx, learnable, dparameter = backward_op(*arguments)
        return dx, dparameter, [None] * 6, _edge_gradients(ctx.edge_length, learnable), None, None

    def remember(ctx: Any, inputs: Any, output: Any) -> None:
        x, parameter, graph, edge, ctx.eps, ctx.option = inputs
        ctx.edge_length = len(edge)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x, parameter, *graph, *edge, *output[0 if keeps_out else 1 :])

    forward_op.register_autograd(differentiate, setup_context=remember)

    def aggregate(
        x: Tensor, parameter: Tensor, graph: Tensors, edge: Tensors, eps: float | None, option: int
    ) -> Tensor:
        out: Tensor
        if is_forward_only() and is_eager(x) and not device.on_gpu(x):
            out = without_gradients(x, parameter.contiguous(), graph, edge, eps, option)[0]
        elif is_eager(x):
            functions = (kernels_for(x), definition, keeps_out)
            out = _Eager.apply(functions, graph, eps, option, x, parameter, *edge)  # type: ignore[no-untyped-call]
        else:
            out = forward_op(x, parameter, graph, edge, eps, option)[0]
        return out

    return aggregate


def is_eager(x: Tensor) -> bool:
    """Whether ``x`` is an ordinary tensor outside of any tracing."""
    return not torch.compiler.is_compiling() and type(x) in (Tensor, torch.nn.Parameter)


class _Eager(torch.autograd.Function):
    """The operator without its registration: the edge term follows x and the parameter; the graph has no gradient."""

    @staticmethod
    def forward(
        ctx: Any,
        functions: tuple[Kernels, Definition, bool],
        graph: Tensors,
        eps: float | None,
        option: int,
        x: Tensor,
        parameter: Tensor,
        *edge: Tensor,
    ) -> Tensor:
        written_out = parameter.contiguous()  # a number for all channels is written out once
        kernels, _, keeps_out = functions
        out, *kept = kernels.forward(x, written_out, graph, edge, eps, option)
        ctx.functions, ctx.graph, ctx.eps, ctx.option, ctx.edge_length = functions, graph, eps, option, len(edge)
        kept = [out, *kept] if keeps_out else kept
        ctx.save_for_backward(x, parameter, written_out, *edge, *kept)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        x, parameter, written_out, *rest = ctx.saved_tensors
        edge, kept = rest[: ctx.edge_length], rest[ctx.edge_length :]
        kernels, definition, _ = ctx.functions
        if needs_definition():
            call = (ctx.graph, ctx.eps, ctx.option)
            return *[None] * 4, *_by_definition(definition, grads[0], x, parameter, edge, *call)
        arguments = (grads[0].contiguous(), x, written_out, ctx.graph, edge, ctx.eps, ctx.option, kept)
        dx, learnable, dparameter = kernels.backward(*arguments)
        return *[None] * 4, dx, dparameter, *_edge_gradients(ctx.edge_length, learnable)


def needs_definition() -> bool:
    """Whether a backward must be made of differentiable operators: its graph is asked for, or it is vectorized over."""
    if torch.is_grad_enabled() or under_transform():
        return True
    return not torch.compiler.is_compiling() and is_vectorized_backward()


def gradients_of(
    function: Callable[..., Tensor], inputs: Sequence[Tensor | None], gradient: Tensor
) -> list[Tensor | None]:
    """The gradients of ``function(*inputs)`` in every input that requires one, themselves differentiable where asked.

    Each input is taken through a view of its own: one that was computed from another must not lead to it.
    """
    create_graph = torch.is_grad_enabled()
    with torch.enable_grad():
        own = [t.view_as(t) if t is not None and t.requires_grad else t for t in inputs]
        wanted = [t for t in own if t is not None and t.requires_grad]
        out = function(*own)
        found = torch.autograd.grad(
            out, wanted, gradient, create_graph=create_graph, allow_unused=True, materialize_grads=True
        )
    rest = iter(found)
    return [next(rest) if t is not None and t.requires_grad else None for t in own]


def _by_definition(
    definition: Definition,
    gradient: Tensor,
    x: Tensor,
    parameter: Tensor,
    edge: Tensors,
    graph: Tensors,
    eps: float | None,
    option: int,
) -> list[Tensor | None]:
    """The gradients of x, the parameter and every tensor of the edge term."""

    def function(x: Tensor, parameter: Tensor, *edge: Tensor) -> Tensor:
        adjacency = Adjacency(x.shape[0], graph[0].shape[0] - 1, *graph)
        return definition(x, adjacency, _edge_term(edge), parameter, eps, option)

    return gradients_of(function, (x, parameter, *edge), gradient)


def _edge_term(edge: Tensors) -> EdgeTerm | None:
    match tuple(edge):
        case (features,):
            return Dense(features)
        case (codes, table):
            return Table(codes, table)
        case (features, weight, bias):
            return Affine(features, weight, bias)
    return None


def _learnable(edge: Tensors) -> Tensors:
    """The tensors of an edge term that have a gradient: not the raw features and codes of a factored one."""
    return edge if len(edge) == 1 else edge[1:]


def _edge_gradients(length: int, learnable: Tensors) -> list[Tensor | None]:
    return list(learnable) if length < 2 else [None, *learnable]


def _gradient_shapes(g: Tensor, x: Tensor, parameter: Tensor, graph: Any, edge: Tensors, *rest: Any) -> Gradients:
    dx, *d_edge = (torch.empty_like(t, memory_format=torch.contiguous_format) for t in (x, *_learnable(edge)))
    return dx, d_edge, torch.empty_like(parameter, memory_format=torch.contiguous_format)
