"""GENConv: the graph convolution of DeeperGCN."""

from typing import TypedDict

from torch import Tensor, nn

from deepergcn.errors import InputError
from deepergcn.nn.conv.aggregators import AGGREGATORS, Aggregation, build_aggregation
from deepergcn.nn.conv.message_norm import MessageNorm
from deepergcn.nn.encoders.edges import Categories, EdgeEncoderSpec, EdgeInput, build_edge_encoder
from deepergcn.nn.norms import NormName, build_norm
from deepergcn.nn.pyg.adjacency_cache import cached_adjacency
from deepergcn.ops import Adjacency, EdgeTerm


class GENConvOptions(TypedDict, total=False):
    """The options of :class:`GENConv`, for networks that hand them on."""

    aggr: str | Aggregation
    beta: float
    learn_beta: bool
    p: float
    learn_p: bool
    y: float
    learn_y: bool
    semi_gradient: bool
    msg_norm: bool
    learn_s: bool
    mlp_layers: int
    expansion: int
    bias: bool
    eps: float


class GENConv(nn.Module):
    """The generalized aggregation convolution (equations 4 and 5):

        m_vu = ReLU(h_u + h_e) + eps                        for every edge u -> v
        m_v  = |N(v)|^y AGG({m_vu : u in N(v)})             AGG one of the aggregators, 0 for an empty N(v)
        h_v' = MLP(h_v + m_v)                               or MLP(h_v + s |h_v| m_v / |m_v|) with MsgNorm

    No tensor of the size [edges, channels] is made.

    Args:
        in_channels: the width of the input, or a pair for (source, target). A width that differs from
            ``out_channels`` is projected to it by a Linear layer of its own for sources and for targets.
        out_channels: the width of messages and output.
        aggr: softmax, power_mean, sum, mean, max or min, or an :class:`Aggregation`, which brings its own options.
        beta, learn_beta, semi_gradient: options of softmax, see :class:`SoftmaxAggregation`.
        p, learn_p: options of power_mean, see :class:`PowerMeanAggregation`.
        y, learn_y: the degree scaling of either.
        msg_norm, learn_s: scale the message to the vertex by MsgNorm, with s learned or fixed at 1.
        mlp_layers: the number of Linear layers in the MLP; one is a bare Linear layer.
        expansion: the inner width of the MLP in multiples of ``out_channels``.
        norm: the normalization inside the MLP: batch, layer, instance or None.
        bias: learn biases in all Linear layers.
        edge_encoder: how raw edge features become the edge term: their width (a Linear layer), the sizes of their
            categories (embedding tables), an :class:`EdgeEncoder`, or None where they have ``out_channels`` channels.
        eps: the small constant that keeps messages positive.

    Shapes:
        x: [nodes, in_channels], or a pair ([sources, ...], [targets, ...]);
        edge_index: [2, edges], an ``Adjacency``, or a torch sparse tensor in PyG's ``adj_t`` convention;
        edge_attr: raw features [edges, width], or an edge term; output: [targets, out_channels].
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        aggr: str | Aggregation = "softmax",
        beta: float = 1.0,
        learn_beta: bool = False,
        p: float = 1.0,
        learn_p: bool = False,
        y: float = 0.0,
        learn_y: bool = False,
        semi_gradient: bool = False,
        msg_norm: bool = False,
        learn_s: bool = True,
        mlp_layers: int = 2,
        expansion: int = 2,
        norm: NormName | None = "batch",
        bias: bool = True,
        edge_encoder: EdgeEncoderSpec = None,
        eps: float = 1e-7,
    ) -> None:
        super().__init__()
        sources, targets = (in_channels, in_channels) if isinstance(in_channels, int) else in_channels
        for name, value in (
            ("in_channels", min(sources, targets)),
            ("out_channels", out_channels),
            ("mlp_layers", mlp_layers),
            ("expansion", expansion),
        ):
            if value < 1:
                raise InputError(f"{name}: expected at least 1, got {value}")
        if not 0 < eps < 1:
            raise InputError(f"eps: expected a small positive number, got {eps}")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.eps = eps
        self.source_projection = nn.Linear(sources, out_channels, bias=bias) if sources != out_channels else None
        self.target_projection = nn.Linear(targets, out_channels, bias=bias) if targets != out_channels else None
        self.edge_encoder = build_edge_encoder(edge_encoder, out_channels, bias)
        self.aggregation = _aggregation(aggr, beta, learn_beta, p, learn_p, y, learn_y, semi_gradient)
        self.msg_norm = MessageNorm(learn_s) if msg_norm else None
        self.mlp = _mlp(out_channels, mlp_layers, expansion, norm, bias)

    def forward(
        self, x: Tensor | tuple[Tensor, Tensor], edge_index: Tensor | Adjacency, edge_attr: EdgeInput | None = None
    ) -> Tensor:
        source, target = self._pair(x)
        adjacency = cached_adjacency(edge_index, source.shape[0], target.shape[0])
        if self.source_projection is not None:
            source = self.source_projection(source)
        if self.target_projection is not None:
            target = self.target_projection(target)
        m = self.aggregation(source, adjacency, self.edge_term(edge_attr), self.eps)
        if self.msg_norm is not None:
            m = self.msg_norm(target, m)
        out: Tensor = self.mlp(target + m)
        return out

    def _pair(self, x: Tensor | tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        source, target = (x, x) if isinstance(x, Tensor) else x
        widths = (self.in_channels, self.in_channels) if isinstance(self.in_channels, int) else self.in_channels
        for name, features, width in (("source", source, widths[0]), ("target", target, widths[1])):
            if not isinstance(features, Tensor) or not _fits(features, width):
                found = f"{features.dtype} {list(features.shape)}" if isinstance(features, Tensor) else repr(features)
                raise InputError(f"x: expected floating-point {name} features [nodes, {width}], got {found}")
        return source, target

    def edge_term(self, edge_attr: EdgeInput | None) -> EdgeTerm | Tensor | None:
        """h_e from what this layer was given."""
        if self.edge_encoder is not None:
            if edge_attr is None:
                raise InputError("edge_attr: expected edge features, since the layer was built with an edge encoder")
            term: EdgeTerm = self.edge_encoder(edge_attr)
            return term
        if isinstance(edge_attr, Categories) or (
            isinstance(edge_attr, Tensor) and not _fits(edge_attr, self.out_channels)
        ):
            found = "categories" if isinstance(edge_attr, Categories) else f"{edge_attr.dtype} {list(edge_attr.shape)}"
            raise InputError(
                f"edge_attr: expected a floating-point tensor [edges, {self.out_channels}], since the layer was built "
                f"without an edge encoder, got {found}"
            )
        return edge_attr

    def dynamics(self) -> dict[str, float | list[float]]:
        """The present beta, p, y and s, as far as this layer has them."""
        return {**self.aggregation.dynamics(), **(self.msg_norm.dynamics() if self.msg_norm is not None else {})}

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, eps={self.eps}"


def _fits(features: Tensor, width: int) -> bool:
    return features.is_floating_point() and features.dim() == 2 and features.shape[1] == width


def _aggregation(
    aggr: str | Aggregation,
    beta: float,
    learn_beta: bool,
    p: float,
    learn_p: bool,
    y: float,
    learn_y: bool,
    semi_gradient: bool,
) -> Aggregation:
    if isinstance(aggr, Aggregation):
        return aggr
    if aggr not in AGGREGATORS:
        return build_aggregation(aggr)
    for asked, names, option in (
        (learn_beta, ("softmax",), "learn_beta"),
        (semi_gradient, ("softmax",), "semi_gradient"),
        (learn_p, ("power_mean",), "learn_p"),
        (learn_y or y != 0, ("softmax", "power_mean"), "y and learn_y"),
    ):
        if asked and aggr not in names:
            raise InputError(f"{option}: only {' and '.join(names)} can have it, got aggr={aggr!r}")
    match aggr:
        case "softmax":
            return build_aggregation(
                aggr, beta=beta, learn_beta=learn_beta, y=y, learn_y=learn_y, semi_gradient=semi_gradient
            )
        case "power_mean":
            return build_aggregation(aggr, p=p, learn_p=learn_p, y=y, learn_y=learn_y)
    return build_aggregation(aggr)


def _mlp(channels: int, layers: int, expansion: int, norm: NormName | None, bias: bool) -> nn.Sequential:
    """Linear D -> eD, norm, ReLU, then the same from eD, Linear eD -> D; with one layer a bare Linear D -> D."""
    widths = [channels, *[expansion * channels] * (layers - 1), channels]
    modules: list[nn.Module] = []
    for i in range(layers):
        modules.append(nn.Linear(widths[i], widths[i + 1], bias=bias))
        if i < layers - 1:
            between = build_norm(norm, widths[i + 1])
            modules += [nn.ReLU()] if between is None else [between, nn.ReLU()]
    return nn.Sequential(*modules)
