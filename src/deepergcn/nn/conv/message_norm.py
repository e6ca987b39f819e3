"""MsgNorm: normalizes the aggregated message and scales it to the norm of the vertex."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from deepergcn.nn.conv.scalar import Scalar, present, restore, scalar
from deepergcn.nn.pyg.names import pyg_names


class MessageNorm(nn.Module):
    """MsgNorm (equation 5): s * |h_v| * m_v / |m_v|, with the l2 norm over the channels.

    A zero message, such as that of a vertex without in-neighbours, stays zero.

    Args:
        learn_s: learn the scaling factor.
        s: the scaling factor, or its initial value.
    """

    s: Scalar

    @pyg_names({"learn_scale": "learn_s"})
    def __init__(self, learn_s: bool = True, s: float = 1.0) -> None:
        super().__init__()
        self.s = scalar("s", s, learn_s)
        self.initial = float(s)

    def reset_parameters(self) -> None:
        """Reset a learned s to its initial value."""
        restore(self.s, self.initial)

    def forward(self, h: Tensor, m: Tensor) -> Tensor:
        """The normalized message of vertices with features ``h`` and aggregated messages ``m``, both [nodes, D]."""
        length: Tensor = torch.linalg.vector_norm(h, dim=-1, keepdim=True)
        direction: Tensor = F.normalize(m, dim=-1)
        return self.s * length * direction

    def dynamics(self) -> dict[str, float | list[float]]:
        """The current s."""
        return {"s": present(self.s)}

    def extra_repr(self) -> str:
        return f"learn_s={isinstance(self.s, Tensor)}, s={present(self.s)}"
