"""The normalized adjacency matrix of GCN times features, without a tensor of the size of the edges."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from deepergcn import ops
from deepergcn.nn.unchanged import is_unchanged
from deepergcn.ops import Adjacency
from deepergcn.ops.path import on_plain_path


class NormalizedAdjacency(NamedTuple):
    """D^(-1/2) (A + I) D^(-1/2) as PyG has it: every vertex has one self-loop, whether the graph has any or several.

    D is the number of in-edges, with the self-loop. ``times`` scales the features, sums them over the edges, and scales
    the sums, which is the same product.

    Attributes:
        adjacency: the edges as they are, with their self-loops.
        scale: [nodes, 1], D^(-1/2).
        own: [nodes, 1], 1 minus the number of self-loops that the graph has: what its sums lack of one.
    """

    adjacency: Adjacency
    scale: Tensor
    own: Tensor

    @classmethod
    def of(cls, adjacency: Adjacency, dtype: torch.dtype) -> "NormalizedAdjacency":
        """The normalized matrix of a graph, for features of type ``dtype``."""
        source, target = adjacency.edge_index()
        loops = torch.zeros_like(adjacency.rowptr[1:]).index_add_(0, target, (source == target).to(adjacency.rowptr))
        own = 1 - loops
        # Counted in integers: a half-precision number would not hold every degree.
        scale = (adjacency.rowptr[1:] - adjacency.rowptr[:-1] + own).to(torch.float64).rsqrt()
        return cls(adjacency, scale.to(dtype)[:, None], own.to(dtype)[:, None])

    def times(self, x: Tensor) -> Tensor:
        """The product with ``x`` [nodes, channels]."""
        scaled = self.scale * x
        return self.scale * torch.addcmul(ops.sum(scaled, self.adjacency, eps=None), self.own, scaled)


def needs_messages(module: nn.Module) -> bool:
    """Whether someone masks or watches the messages of PyG's modules in ``module``, or exports them."""
    convs = [conv for conv in module.modules() if isinstance(conv, MessagePassing)]
    return on_plain_path() or any(
        conv.explain or not is_unchanged(conv) or any(conv.__dict__[hooks] for hooks in _HOOKS) for conv in convs
    )


_HOOKS = tuple(
    f"_{step}_forward_{when}"
    for step in ("propagate", "message", "aggregate", "message_and_aggregate")
    for when in ("pre_hooks", "hooks")
)
"""PyG's attributes for hooks on the steps of message passing."""
