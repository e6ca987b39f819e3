"""The convolution of GaAN: multi-head attention with a gate on every head."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import scatter, softmax

from deepergcn.errors import InputError
from deepergcn.nn.reset import reset_children


class GaANConv(MessagePassing):
    """Gated attention (Zhang et al. 2018). With z_e = h_u + h_e for an edge e = u -> v:

        w_e  = softmax over N(v) of <Q h_v, K z_e>                         for every head
        g_v  = sigmoid(G [h_v, max_e M z_e, mean_e z_e])                   one number a head
        h_v' = O [h_v, g_v sum_e w_e LeakyReLU(V z_e), for every head]

    Args:
        in_channels: the width of the input.
        out_channels: the width of the output, and of V and M; a multiple of ``heads``.
        heads: the number of heads.
    """

    def __init__(self, in_channels: int, out_channels: int, heads: int = 8) -> None:
        super().__init__(aggr=None)
        if heads < 1 or out_channels % heads:
            raise InputError(f"heads: expected a divisor of the {out_channels} channels, got {heads}")
        self.heads = heads
        self.query = nn.Linear(in_channels, out_channels)
        self.key = nn.Linear(in_channels, out_channels)
        self.value = nn.Linear(in_channels, out_channels)
        self.gate_max = nn.Linear(in_channels, out_channels)
        self.gate = nn.Linear(2 * in_channels + out_channels, heads)
        self.out = nn.Linear(in_channels + out_channels, out_channels)

    def reset_parameters(self) -> None:
        """Reinitialize all parameters."""
        reset_children(self)

    def forward(self, x: Tensor, edge_index: Tensor, edge: Tensor | None = None) -> Tensor:
        """Features [nodes, out_channels] from ``x`` [nodes, in_channels] and an edge term [edges, in_channels]."""
        source, target = edge_index
        nodes = x.shape[0]
        z = x[source] if edge is None else x[source] + edge
        query = self.query(x).view(nodes, self.heads, -1)
        key = self.key(z).view(len(z), self.heads, -1)
        value = F.leaky_relu(self.value(z), 0.1).view(len(z), self.heads, -1)

        weight = softmax((query[target] * key).sum(-1), target, num_nodes=nodes)
        messages = weight[:, :, None] * value
        if self.explain:
            messages = self.explain_message(messages.flatten(1), nodes).view_as(messages)
        attended = scatter(messages, target, dim_size=nodes)
        largest = scatter(self.gate_max(z), target, dim_size=nodes, reduce="max")
        average = scatter(z, target, dim_size=nodes, reduce="mean")
        gate = torch.sigmoid(self.gate(torch.cat([x, largest, average], dim=1)))
        out: Tensor = self.out(torch.cat([x, (gate[:, :, None] * attended).flatten(1)], dim=1))
        return out
