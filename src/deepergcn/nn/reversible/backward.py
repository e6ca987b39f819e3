"""The backward of reversible layers, which rebuilds their inputs on the way."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from deepergcn.nn.recompute import statistics_kept
from deepergcn.nn.reversible.layers import Pass, Seed, seed_dropout, total

_ALIGNED = 16
"""Gradients start at multiples of this number of elements, as in blocks of their own."""


class Backward:
    """The backward of a pass: the layers from the last to the first, their inputs rebuilt on the way.

    Args:
        run: the pass.
        edges: the tensors of the edge term that need a gradient.
        states: the virtual nodes that every layer hears.
        hand_over: takes the weights of each layer with their gradients; without it ``found`` has all gradients.
    """

    def __init__(
        self,
        run: Pass,
        edges: Sequence[Tensor],
        states: Sequence[Tensor],
        hand_over: Callable[[Sequence[nn.Parameter]], None] | None = None,
    ) -> None:
        self.run, self.edges, self.states, self.hand_over = run, list(edges), states, hand_over
        self.edge = run.with_edges(edges)
        self._returned: list[Tensor] = [*(run.weights() if hand_over is None else ()), *edges]
        self._room = dict(zip(self._returned, _one_block(self._returned), strict=True))
        self._gradients: dict[Tensor, Tensor] = {}

    def found(self) -> list[Tensor | None]:
        """The gradients of the weights, or None in their place where they were handed over, and of the edge term."""
        gradients = [self._gradients.get(tensor) for tensor in self._returned]
        return gradients if self.hand_over is None else [None, *gradients]

    def all(self, out: Tensor, g: Tensor, seed: Seed) -> tuple[Tensor, Tensor | None]:
        """The gradients of the input and of the first virtual nodes; those of all others are in ``found``."""
        groups = len(self.run.layers[0].functions)
        parts = [part.contiguous() for part in out.chunk(groups, dim=1)]
        grads = [part.clone(memory_format=torch.contiguous_format) for part in g.chunk(groups, dim=1)]
        dv: Tensor | None = torch.zeros_like(self.states[-1]) if self.states else None
        for number in reversed(range(len(self.run.layers))):
            with statistics_kept(self.run.layers[number]):
                self._undo(number, parts, grads, dv, seed)
            if dv is not None and number > 0:
                dv = self._undo_update(number, parts, grads, dv, seed)
            if self.hand_over is not None:
                self._deliver(self.run.own_weights(number), self.hand_over)
        return torch.cat(grads, dim=1), dv

    def _deliver(self, weights: Sequence[nn.Parameter], hand_over: Callable[[Sequence[nn.Parameter]], None]) -> None:
        for weight in weights:
            gradient = self._gradients.pop(weight, None)
            if gradient is not None:
                weight.grad = gradient if weight.grad is None else weight.grad + gradient
        hand_over(weights)

    def _undo(self, number: int, parts: list[Tensor], grads: list[Tensor], dv: Tensor | None, seed: Seed) -> None:
        """From the output of a layer and its gradients to its input and its gradients, in place."""
        layer = self.run.layers[number]
        heard = self.run.heard(number, self.states[number]) if self.states else None
        for i, branch in reversed(list(enumerate(layer.branches()))):
            y = (parts[i - 1] if i else total(parts[1:])).detach().requires_grad_()
            added = None if heard is None else heard[i].detach().requires_grad_()
            seed_dropout(seed, number, i + 1, y.device)
            with _stand_ins(branch) as weights:
                with torch.enable_grad():
                    f = branch.residual(y, self.run.graph, self.edge, virtual=added)
                dy, d_added = self._differentiate(f, grads[i], weights, y, added)
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
        seed_dropout(seed, number, 0, h.device)
        with _stand_ins(module) as weights:
            with statistics_kept(module), torch.enable_grad():
                updated = self.run.update(number, v, [h])
            assert updated is not None
            dh, before = self._differentiate(updated, dv, weights, h, v)
        assert before is not None
        for part, share in zip(grads, dh.chunk(len(grads), dim=1), strict=True):
            part += share
        return before

    def _differentiate(
        self, out: Tensor, g: Tensor, weights: Mapping[Tensor, nn.Parameter], x: Tensor, v: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """The gradients of x and v; those of the module's weights and of the edge term are added up."""
        wanted = [x] if v is None else [x, v]
        others = [*weights, *self.edges]
        found = torch.autograd.grad(out, [*wanted, *others], g.to(out.dtype), allow_unused=True)
        for used, gradient in zip(others, found[len(wanted) :], strict=True):
            tensor = weights.get(used, used)
            if gradient is not None:
                before = self._gradients.get(tensor)
                self._gradients[tensor] = self._own(tensor, gradient) if before is None else before.add_(gradient)
        dx, *dv = (torch.zeros_like(t) if d is None else d for t, d in zip(wanted, found, strict=False))
        return dx, dv[0] if dv else None

    def _own(self, tensor: Tensor, gradient: Tensor) -> Tensor:
        """A copy of a gradient, to which others can be added."""
        room = self._room.get(tensor)
        return gradient.clone(memory_format=torch.contiguous_format) if room is None else room.copy_(gradient)


@contextmanager
def _stand_ins(module: nn.Module) -> Iterator[dict[Tensor, nn.Parameter]]:
    """Let a module compute with parameters in the place of its own that share their memory, and say whose they are.

    Autograd takes half a kilobyte for every parameter that it has differentiated by, as long as the parameter lives.
    """
    found: dict[Tensor, nn.Parameter] = {}
    made: dict[nn.Parameter, nn.Parameter] = {}
    places = []
    for part in module.modules():
        for name, weight in part._parameters.items():
            if weight is not None and weight.requires_grad:
                places.append((part._parameters, name, weight))
    try:
        for parameters, name, weight in places:
            if weight not in made:
                made[weight] = nn.Parameter(weight.detach())
                found[made[weight]] = weight
            parameters[name] = made[weight]
        yield found
    finally:
        for parameters, name, weight in places:
            parameters[name] = weight


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
