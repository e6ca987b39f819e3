"""The backward of reversible layers, which rebuilds their inputs on the way."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from deepergcn.nn.recompute import statistics_kept
from deepergcn.nn.rev_pass import Pass, Seed, seed_dropout, total

_ALIGNED = 16
"""Gradients start at multiples of this number of elements, as in blocks of their own."""


class Backward:
    """The backward of a pass: the layers from the last to the first, their inputs rebuilt on the way."""

    def __init__(
        self, run: Pass, weights: Sequence[nn.Parameter], edges: Sequence[Tensor], states: Sequence[Tensor]
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
            seed_dropout(seed, number, i + 1, y.device)
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
        seed_dropout(seed, number, 0, h.device)
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
