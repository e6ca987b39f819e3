"""Reversible layers: a network of any depth keeps the activations of one layer.

The channels of x are divided into C groups x_1, ..., x_C, and a layer is (Li et al. 2021, *Training Graph Neural
Networks with 1000 Layers*)

    y_0 = x_2 + ... + x_C,    y_i = f_i(y_{i-1}) + x_i    for i = 1, ..., C,

which is undone in the opposite order, x_i = y_i - f_i(y_{i-1}). Forward keeps the output of the last layer only;
backward rebuilds the input of each layer from its output while it computes the gradients, so that every f_i runs as
often as with recomputed activations: once in forward and once in backward.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import ParametrizationList

from deepergcn.errors import InputError
from deepergcn.nn.blocks import ResPlusBlock
from deepergcn.nn.encoders.edges import EdgeInput
from deepergcn.nn.recompute import Conditions, statistics_kept, versions
from deepergcn.nn.unchanged import has_hooks
from deepergcn.nn.virtual_node import VirtualNode
from deepergcn.ops import Adjacency
from deepergcn.ops.operators.aggregation import is_eager
from deepergcn.ops.path import is_traced, is_vectorized_backward


class RevBlock(nn.Module):
    """One reversible layer over groups of channels, called as its convolutions are: ``block(x, graph, edge)``.

    Called like this it is an ordinary differentiable module; :func:`reversible` runs a list of them in the memory of
    one.

    Args:
        functions: f_1, ..., f_C, each the residual branch of a pre-activation block of width channels / C.
    """

    def __init__(self, functions: Sequence[ResPlusBlock]) -> None:
        super().__init__()
        if len(functions) < 2:
            raise InputError(f"groups: expected at least 2, got {len(functions)}")
        self.functions = nn.ModuleList(functions)

    def forward(
        self,
        x: Tensor,
        graph: Tensor | Adjacency,
        edge: EdgeInput | None = None,
        virtual: Sequence[Tensor | None] | None = None,
    ) -> Tensor:
        return torch.cat(self.couple(list(x.chunk(len(self.functions), dim=1)), graph, edge, virtual), dim=1)

    def couple(
        self,
        parts: Sequence[Tensor],
        graph: Tensor | Adjacency,
        edge: EdgeInput | None,
        virtual: Sequence[Tensor | None] | None = None,
    ) -> list[Tensor]:
        """From the groups of x to those of y; ``virtual`` is what the virtual nodes add to every group."""
        y = total(parts[1:])
        out = []
        for i, (branch, x) in enumerate(zip(self.branches(), parts, strict=True)):
            y = x + branch.residual(y, graph, edge, virtual=None if virtual is None else virtual[i])
            out.append(y)
        return out

    def branches(self) -> list[ResPlusBlock]:
        """f_1, ..., f_C."""
        return [branch for branch in self.functions if isinstance(branch, ResPlusBlock)]

    @property
    def convs(self) -> list[nn.Module]:
        """The convolutions of all groups."""
        return [branch.conv for branch in self.branches()]


class VirtualNodes(NamedTuple):
    """The virtual nodes of a pass: the module, their first features [graphs, channels], and every vertex's graph."""

    module: VirtualNode
    start: Tensor
    batch: Tensor


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
    run = _Pass(tuple(layers), graph, edge, virtual)
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
    out: Tensor = _Reversible.apply(run, x, start, *run.weights(), *run.edge_tensors())  # type: ignore[no-untyped-call]
    return out


_ALIGNED = 16
"""Gradients start at multiples of this number of elements, as in blocks of their own."""

Seed = int | None
"""The seed of the dropout masks of a pass; None in evaluation, which draws none."""


@dataclass(frozen=True)
class _Pass:
    """One pass through the layers."""

    layers: tuple[RevBlock, ...]
    graph: Tensor | Adjacency
    edge: EdgeInput | None
    virtual: VirtualNodes | None

    def draw_seed(self) -> int | None:
        """A seed from torch's default generator."""
        return int(torch.randint(2**62, (), device="cpu")) if self.layers[0].training else None

    def modules(self) -> list[nn.Module]:
        """The modules that have weights."""
        return [*self.layers, *([] if self.virtual is None else [self.virtual.module])]

    def weights(self) -> list[nn.Parameter]:
        """All parameters once, in a fixed order."""
        return list(dict.fromkeys(p for module in self.modules() for p in module.parameters()))

    def has_lasting_weights(self) -> bool:
        """Whether backward finds the same weights: ``functional_call`` lends others, spectral norm changes its own."""
        parts = (part for module in self.modules() for part in module.modules())
        return all(isinstance(weight, nn.Parameter) for weight in self.weights()) and not any(
            isinstance(part, ParametrizationList) and any(True for _ in part.buffers()) for part in parts
        )

    def given(self) -> list[Tensor]:
        """What backward reads again: the weights, and the tensors of the graph and of the edge term."""
        edge: Sequence[Tensor | None] = (self.edge,) if isinstance(self.edge, Tensor) else self.edge or ()
        graph = [self.graph] if isinstance(self.graph, Tensor) and self.graph.layout == torch.strided else []
        return [*self.weights(), *graph, *(t for t in edge if t is not None)]

    def edge_tensors(self) -> list[Tensor]:
        """What of the edge term may need a gradient, such as the weight of an encoder that all layers share."""
        fields: Sequence[Tensor | None] = (self.edge,) if isinstance(self.edge, Tensor) else self.edge or ()
        return [t for t in fields if t is not None and t.requires_grad]

    def with_edges(self, tensors: Sequence[Tensor]) -> EdgeInput | None:
        """The edge term with these tensors in the place of those that need a gradient."""
        if self.edge is None or not tensors:
            return self.edge
        if isinstance(self.edge, Tensor):
            return tensors[0]
        new = iter(tensors)
        fields: list[Any] = [next(new) if t is not None and t.requires_grad else t for t in self.edge]
        return type(self.edge)(*fields)

    def plain(self, x: Tensor) -> Tensor:
        """The layers as ordinary modules."""
        parts = list(x.chunk(len(self.layers[0].functions), dim=1))
        v = None if self.virtual is None else self.virtual.start
        for number, layer in enumerate(self.layers):
            v = self.update(number, v, parts)
            heard = self.heard(number, v)
            if has_hooks(layer):
                parts = list(layer(torch.cat(parts, dim=1), self.graph, self.edge, heard).chunk(len(parts), dim=1))
            else:
                parts = layer.couple(parts, self.graph, self.edge, heard)
        return torch.cat(parts, dim=1)

    def forward(self, x: Tensor, seed: Seed, kept: list[Tensor] | None = None) -> Tensor:
        """The output without a graph for backward; the virtual nodes of every layer are added to ``kept``."""
        parts = [part.contiguous() for part in x.detach().chunk(len(self.layers[0].functions), dim=1)]
        v = None if self.virtual is None else self.virtual.start.detach()
        with torch.no_grad():
            for number, layer in enumerate(self.layers):
                _seed(seed, number, 0, x.device)
                v = self.update(number, v, parts)
                if kept is not None and v is not None:
                    kept.append(v)
                heard = self.heard(number, v)
                y = total(parts[1:])
                for i, branch in enumerate(layer.branches()):
                    _seed(seed, number, i + 1, x.device)
                    added = None if heard is None else heard[i]
                    y = parts[i] = parts[i] + branch.residual(y, self.graph, self.edge, virtual=added)
        return torch.cat(parts, dim=1)

    def update(self, number: int, v: Tensor | None, parts: Sequence[Tensor]) -> Tensor | None:
        """The virtual nodes before layer ``number``, from those before and the input of the layer."""
        if self.virtual is None or v is None or number == 0:
            return v
        updated: Tensor = self.virtual.module(number, v, torch.cat(list(parts), dim=1), self.virtual.batch)
        return updated

    def heard(self, number: int, v: Tensor | None) -> list[Tensor] | None:
        """What the virtual nodes add to every group of layer ``number``; they are in the input of the first."""
        if self.virtual is None or v is None or number == 0:
            return None
        groups = len(self.layers[0].functions)
        return [self.virtual.module.to_vertices(part, self.virtual.batch) for part in v.chunk(groups, dim=1)]


class _Reversible(torch.autograd.Function):
    """All layers as one function, so that nothing between them is kept."""

    @staticmethod
    def forward(ctx: Any, run: _Pass, x: Tensor, start: Tensor | None, *tensors: Tensor) -> Tensor:
        ctx.run, ctx.seed, ctx.has_virtual = run, run.draw_seed(), start is not None
        ctx.autocast = _autocast_state(x.device.type)
        kept: list[Tensor] = []
        ctx.conditions = Conditions(run.modules())
        with _own_randomness(x.device):
            out = run.forward(x, ctx.seed, kept)
        ctx.dtype = x.dtype
        weights = run.weights()
        ctx.used = versions(run.given())
        ctx.save_for_backward(out, *kept, *tensors[len(weights) :])
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
        run: _Pass = ctx.run
        out, *rest = ctx.saved_tensors
        states, edges = (rest[: len(run.layers)], rest[len(run.layers) :]) if ctx.has_virtual else ([], rest)
        weights = run.weights()
        used = versions(run.given())
        if used[::2] != ctx.used[::2]:
            raise InputError("the weights of a reversible network were replaced between forward and backward")
        if used != ctx.used:
            raise RuntimeError(
                "a weight, the edges or the edge features of a reversible network have been modified by an inplace "
                "operation between forward and backward"
            )
        step = _Backward(run, weights, [t.detach().requires_grad_() for t in edges], states)
        with ctx.conditions.restored(), _own_randomness(out.device), torch.autocast(**ctx.autocast):
            dx, dstart = step.all(out, grads[0], ctx.seed)
        return None, dx.to(ctx.dtype), dstart, *step.gradients


class _Backward:
    """The backward of a pass: the layers from the last to the first, their inputs rebuilt on the way."""

    def __init__(
        self, run: _Pass, weights: Sequence[nn.Parameter], edges: Sequence[Tensor], states: Sequence[Tensor]
    ) -> None:
        self.run, self.edges, self.states = run, list(edges), states
        self.edge = run.with_edges(edges)
        self.places: dict[Tensor, int] = {tensor: place for place, tensor in enumerate([*weights, *edges])}
        self.gradients: list[Tensor | None] = [None] * len(self.places)
        self._room = _one_block([*weights, *edges])

    def all(self, out: Tensor, g: Tensor, seed: Seed) -> tuple[Tensor, Tensor | None]:
        """The gradients of the input and of the first virtual nodes; those of all others are in ``gradients``."""
        groups = len(self.run.layers[0].functions)
        parts = [part.contiguous() for part in out.chunk(groups, dim=1)]
        grads = [part.clone(memory_format=torch.contiguous_format) for part in g.chunk(groups, dim=1)]
        dv: Tensor | None = torch.zeros_like(self.states[-1]) if self.states else None
        for number in reversed(range(len(self.run.layers))):
            with statistics_kept(self.run.layers[number]):
                self._undo(number, parts, grads, dv, seed)
            if dv is not None and number > 0:
                dv = self._undo_update(number, parts, grads, dv, seed)
        return torch.cat(grads, dim=1), dv

    def _undo(self, number: int, parts: list[Tensor], grads: list[Tensor], dv: Tensor | None, seed: Seed) -> None:
        """From the output of a layer and its gradients to its input and its gradients, in place."""
        layer = self.run.layers[number]
        heard = self.run.heard(number, self.states[number]) if self.states else None
        for i, branch in reversed(list(enumerate(layer.branches()))):
            y = (parts[i - 1] if i else total(parts[1:])).detach().requires_grad_()
            added = None if heard is None else heard[i].detach().requires_grad_()
            _seed(seed, number, i + 1, y.device)
            with torch.enable_grad():
                f = branch.residual(y, self.run.graph, self.edge, virtual=added)
            dy, d_added = self._gradients(f, grads[i], branch, y, added)
            parts[i] = parts[i] - f.detach()
            for other in grads[i - 1 : i] if i else grads[1:]:
                other += dy
            if d_added is not None and dv is not None and self.run.virtual is not None:
                width = parts[i].shape[1]
                dv[:, i * width : (i + 1) * width].index_add_(0, self.run.virtual.batch, d_added)

    def _undo_update(self, number: int, parts: list[Tensor], grads: list[Tensor], dv: Tensor, seed: Seed) -> Tensor:
        """The gradient of the virtual nodes before a layer's update, whose share in the layer's input it adds."""
        assert self.run.virtual is not None
        module = self.run.virtual.module
        v = self.states[number - 1].detach().requires_grad_()
        h = torch.cat(parts, dim=1).requires_grad_()
        _seed(seed, number, 0, h.device)
        with statistics_kept(module), torch.enable_grad():
            updated = self.run.update(number, v, [h])
        assert updated is not None
        dh, before = self._gradients(updated, dv, module, h, v)
        assert before is not None
        for part, share in zip(grads, dh.chunk(len(grads), dim=1), strict=True):
            part += share
        return before

    def _gradients(
        self, out: Tensor, g: Tensor, module: nn.Module, x: Tensor, v: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """The gradients of x and v; those of the module's weights and of the edge term are added up."""
        wanted = [x] if v is None else [x, v]
        others = [p for p in dict.fromkeys([*module.parameters(), *self.edges]) if p.requires_grad]
        found = torch.autograd.grad(out, [*wanted, *others], g.to(out.dtype), allow_unused=True)
        for tensor, gradient in zip(others, found[len(wanted) :], strict=True):
            if gradient is not None:
                place = self.places[tensor]
                before = self.gradients[place]
                self.gradients[place] = self._room[place].copy_(gradient) if before is None else before.add_(gradient)
        dx, *dv = (torch.zeros_like(t) if d is None else d for t, d in zip(wanted, found, strict=False))
        return dx, dv[0] if dv else None


def _one_block(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Room for a gradient of each tensor, all in one block of memory for every type.

    Gradients that are allocated one by one while layers come and go leave holes between them that nothing fills: a
    thousand layers took several times the memory of their gradients.
    """
    sizes: dict[tuple[torch.dtype, torch.device], int] = {}
    starts = []
    for tensor in tensors:
        key = tensor.dtype, tensor.device
        starts.append(sizes.get(key, 0))
        sizes[key] = starts[-1] + -(-tensor.numel() // _ALIGNED) * _ALIGNED
    blocks = {key: torch.empty(size, dtype=key[0], device=key[1]) for key, size in sizes.items()}
    return [
        blocks[tensor.dtype, tensor.device][start : start + tensor.numel()].view(tensor.shape)
        for tensor, start in zip(tensors, starts, strict=True)
    ]


def total(parts: Sequence[Tensor]) -> Tensor:
    """The sum of tensors of one shape, from the first to the last."""
    out = parts[0]
    for part in parts[1:]:
        out = out + part
    return out


def _seed(seed: Seed, layer: int, place: int, device: torch.device) -> None:
    """Seed dropout for one function of one layer: backward draws the same mask again."""
    if seed is None:
        return
    number = (seed + 1_000_003 * layer + place) % 2**62
    torch.default_generator.manual_seed(number)
    if device.type == "cuda":
        torch.cuda.manual_seed(number)


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
