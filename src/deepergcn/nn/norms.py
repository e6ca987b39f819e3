"""Normalization layers by name: batch, layer, instance, pair, or none."""

from typing import Literal, get_args

from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import PairNorm

from deepergcn.errors import InputError

NormName = Literal["batch", "layer", "instance", "pair"]
"""The names of the normalization layers."""


class BatchNorm(nn.BatchNorm1d):
    """Batch normalization over the vertices that accepts batches of fewer than two vertices in training.

    Such a batch has no variance: it is normalized by the running statistics and does not update them, so that a small
    last batch neither stops a run nor harms it.
    """

    def forward(self, input: Tensor) -> Tensor:
        if self.training and input.shape[0] < 2:
            return F.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)
        return super().forward(input)


def build_norm(name: NormName | None, channels: int) -> nn.Module | None:
    """Build a normalization layer by name.

    ``"instance"`` treats each vertex as one instance, as other implementations of DeeperGCN do: layer normalization
    without learned scale and shift. ``"pair"`` is PyG's PairNorm (Zhao and Akoglu 2020): features minus their mean,
    scaled to a mean squared length of 1 over all vertices.
    """
    match name:
        case None:
            return None
        case "batch":
            return BatchNorm(channels)
        case "layer":
            return nn.LayerNorm(channels)
        case "instance":
            return nn.LayerNorm(channels, elementwise_affine=False)
        case "pair":
            pair: nn.Module = PairNorm()
            return pair
    raise InputError(f"norm: expected one of {', '.join(get_args(NormName))} or None, got {name!r}")
