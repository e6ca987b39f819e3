"""Reversible layers and a pass through them, with everything kept or nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from deepergcn.errors import InputError
from deepergcn.nn.blocks import ResPlusBlock
from deepergcn.nn.encoders.edges import EdgeInput
from deepergcn.nn.recompute import changes_its_weights
from deepergcn.nn.unchanged import has_hooks
from deepergcn.nn.virtual_node import VirtualNode
from deepergcn.ops import Adjacency

Seed = int | None
"""The seed of the dropout masks of a pass; None in evaluation, which draws none."""


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


@dataclass(frozen=True)
class Pass:
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

    def own_weights(self, number: int) -> list[nn.Parameter]:
        """The weights of layer ``number`` and of the virtual nodes' update before it, but for those of tied layers.

        Of tied layers the first, which backward comes to last, has them.
        """
        layer = self.layers[number]
        modules: list[nn.Module] = [layer] if self.layers.index(layer) == number else []
        if self.virtual is not None and number > 0:
            modules.append(self.virtual.module.updates[number - 1])
        return [weight for module in modules for weight in module.parameters()]

    def can_hand_over(self) -> bool:
        """Whether a weight has its whole gradient when backward has been through the layer whose own it is."""
        own = [id(weight) for number in range(len(self.layers)) for weight in self.own_weights(number)]
        return len(own) == len(set(own)) and any(weight.requires_grad for weight in self.weights())

    def has_lasting_weights(self) -> bool:
        """Whether backward finds the same weights, as parameters.

        ``functional_call`` lends others, spectral norm changes its own, and replicas of ``DataParallel`` have none.
        """
        parts = (part for module in self.modules() for part in module.modules())
        return (
            all(isinstance(weight, nn.Parameter) for weight in self.weights())
            and not any(vars(part).get("_is_replica") for part in parts)
            and not any(map(changes_its_weights, self.modules()))
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
                seed_dropout(seed, number, 0, x.device)
                v = self.update(number, v, parts)
                if kept is not None and v is not None:
                    kept.append(v)
                heard = self.heard(number, v)
                y = total(parts[1:])
                for i, branch in enumerate(layer.branches()):
                    seed_dropout(seed, number, i + 1, x.device)
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


def total(parts: Sequence[Tensor]) -> Tensor:
    """The sum of tensors of one shape, from the first to the last."""
    out = parts[0]
    for part in parts[1:]:
        out = out + part
    return out


def seed_dropout(seed: Seed, layer: int, place: int, device: torch.device) -> None:
    """Seed dropout for one function of one layer: backward draws the same mask again."""
    if seed is None:
        return
    number = (seed + 1_000_003 * layer + place) % 2**62
    torch.default_generator.manual_seed(number)
    if device.type == "cuda":
        torch.cuda.manual_seed(number)
