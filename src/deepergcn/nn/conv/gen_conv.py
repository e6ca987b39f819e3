"""GENConv: the graph convolution of DeeperGCN."""

from typing import Any, ClassVar, TypedDict

from torch import Tensor, nn
from torch_geometric.nn import MessagePassing
from torch_geometric.typing import OptTensor

from deepergcn.errors import InputError
from deepergcn.nn.conv.aggregators import MultiAggregation, PowerMeanAggregation
from deepergcn.nn.conv.choose import AggregatorSpec, choose_aggregation
from deepergcn.nn.conv.graph import Size, graph_of
from deepergcn.nn.conv.message_norm import MessageNorm
from deepergcn.nn.counts import check_counts, is_number
from deepergcn.nn.encoders.edges import Categories, EdgeEncoderSpec, EdgeInput, build_edge_encoder
from deepergcn.nn.lazy import UNKNOWN, known_width, linear
from deepergcn.nn.norms import NormName, build_norm
from deepergcn.nn.pyg.adjacency_cache import cached_grouping
from deepergcn.nn.pyg.exact import Definition, runs_plainly
from deepergcn.nn.pyg.names import GEN_CONV, NO_EQUAL, pyg_names
from deepergcn.nn.reset import reset_children
from deepergcn.nn.unchanged import has_hooks
from deepergcn.ops import Adjacency, EdgeTerm, large, product

Pair = tuple[Tensor, Tensor | None]
"""The features of sources and of targets; None where the targets have none."""


class GENConvOptions(TypedDict, total=False):
    """The options of :class:`GENConv`, for networks that pass them on."""

    aggr: AggregatorSpec
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
    root_weight: bool


class GENConv(MessagePassing):
    """The generalized aggregation convolution (equations 4 and 5):

        m_vu = ReLU(h_u + h_e) + eps               for every edge u -> v
        m_v  = |N(v)|^y AGG({m_vu : u in N(v)})    0 for an empty N(v)
        h_v' = MLP(h_v + m_v)

    with AGG one of the aggregators. The update is MLP(h_v + s |h_v| m_v / |m_v|) with MsgNorm, and MLP(m_v) + W h_v
    with a root weight.

    No tensor of the size [edges, channels] is made, unless something needs the messages themselves: an explainer
    of PyTorch Geometric, a hook on a step of message passing, or a subclass with its own ``message`` or ``aggregate``.
    PyG's argument names are accepted too: t, learn_t, learn_msg_scale, num_layers, edge_dim.

    Args:
        in_channels: the width of the input, or a pair for (source, target). A width that differs from
            ``out_channels`` is projected to it by a Linear layer of its own for sources and for targets. -1 takes the
            width from the first input, and always has such a layer.
        out_channels: the width of messages and output.
        aggr: softmax, power_mean, sum, mean, max or min, an :class:`Aggregation` with its own options, or a
            list of these, whose results are concatenated and projected to ``out_channels`` by a Linear layer.
        beta, learn_beta, semi_gradient: options of softmax, see :class:`SoftmaxAggregation`.
        p, learn_p: options of power_mean, see :class:`PowerMeanAggregation`.
        y, learn_y: the degree scaling of either.
        msg_norm, learn_s: scale the message to the vertex by MsgNorm, with s learned or fixed at 1.
        mlp_layers: the number of Linear layers in the MLP; 1 is a single Linear layer.
        expansion: the inner width of the MLP in multiples of ``out_channels``.
        norm: the normalization inside the MLP: batch, layer, instance or None.
        bias: learn biases in all Linear layers.
        edge_encoder: how raw edge features become the edge term: their width (a Linear layer), the sizes of their
            categories (embedding tables), an :class:`EdgeEncoder`, or None if they have ``out_channels`` channels.
        eps: the small constant that keeps messages positive.
        root_weight: update with MLP(m_v) + W h_v, a separate weight for the vertex itself, instead of MLP(h_v + m_v).
            Not in the paper; it lets a vertex distinguish itself from its neighbours (Hamilton et al., Inductive
            Representation Learning on Large Graphs, 2017).

    Shapes:
        x: [nodes, in_channels], or a pair ([sources, ...], [targets, ...]); with None for the targets, whose number is
            then that of ``size`` or of the graph, the output is MLP(m_v);
        edge_index: [2, edges], an ``Adjacency``, or a torch sparse tensor in PyG's ``adj_t`` convention;
        edge_attr: raw features [edges, width], or an edge term; size: (sources, targets);
        output: [targets, out_channels].
    """

    _inspector: ClassVar[Any]

    @pyg_names(GEN_CONV, NO_EQUAL)
    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        aggr: AggregatorSpec = "softmax",
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
        root_weight: bool = False,
    ) -> None:
        super().__init__(aggr=None)
        self._share_signatures()
        if isinstance(in_channels, tuple | list) and len(in_channels) != 2:
            raise InputError(f"in_channels: expected a width, or a pair for (source, target), got {in_channels}")
        sources, targets = in_channels if isinstance(in_channels, tuple | list) else (in_channels, in_channels)
        check_counts(out_channels=out_channels, mlp_layers=mlp_layers, expansion=expansion)
        for width in (sources, targets):
            if width != UNKNOWN:
                check_counts(in_channels=width)
        if not (is_number(eps) and 0 < eps < 1):
            raise InputError(f"eps: expected a small positive number, got {eps}")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.eps = eps
        self.source_projection = linear(sources, out_channels, bias) if sources != out_channels else None
        self.target_projection = linear(targets, out_channels, bias) if targets != out_channels else None
        self.edge_encoder = build_edge_encoder(edge_encoder, out_channels, bias)
        self.aggregation = choose_aggregation(
            aggr,
            {
                "beta": beta,
                "learn_beta": learn_beta,
                "p": p,
                "learn_p": learn_p,
                "y": y,
                "learn_y": learn_y,
                "semi_gradient": semi_gradient,
            },
        )
        count = len(self.aggregation.aggregations) if isinstance(self.aggregation, MultiAggregation) else 1
        self.message_projection = linear(count * out_channels, out_channels, bias) if count > 1 else None
        self.msg_norm = MessageNorm(learn_s) if msg_norm else None
        self.mlp = _mlp(out_channels, mlp_layers, expansion, norm, bias)
        self.root = nn.Linear(out_channels, out_channels, bias=False) if root_weight else None

    def _set_jittable_templates(self, raise_on_error: bool = False) -> None:
        """Keep PyG's general ``propagate``: PyG would write code for this class to a temporary file and run it."""

    def _share_signatures(self) -> None:
        """Take what PyG found out about the methods of this class from the first layer of the class."""
        cls, found = type(self), self.__dict__
        if "_inspector" not in cls.__dict__:
            cls._inspector = found["inspector"]
        found["inspector"] = cls._inspector

    def reset_parameters(self) -> None:
        """Reinitialize all parameters, from the same distributions as at construction."""
        reset_children(self)

    def forward(
        self,
        x: Tensor | Pair,
        edge_index: Tensor | Adjacency,
        edge_attr: EdgeInput | None = None,
        size: Size | None = None,
    ) -> Tensor:
        source, target = self._pair(x)
        adjacency = graph_of(edge_index, source, target, size)
        if self.source_projection is not None:
            source = self.source_projection(source)
        if self.target_projection is not None and target is not None:
            target = self.target_projection(target)
        m = self._aggregated(source, adjacency, self.edge_term(edge_attr))
        if self.message_projection is not None:
            m = self.message_projection(m)
        if self.msg_norm is not None:
            if target is None:
                raise InputError("x: expected features of the targets, since MsgNorm scales messages by them, got None")
            m = self.msg_norm(target, m)
        if target is None:
            out = _apply(self.mlp, m)
        elif self.root is None:
            out = _apply(self.mlp, large.add(target, m))
        else:
            out = _apply(self.mlp, m) + self.root(target)
        return out

    def _aggregated(self, source: Tensor, adjacency: Adjacency, edge: EdgeTerm | Tensor | None) -> Tensor:
        """m_v, by the fast path where nothing asks for the messages themselves."""
        if not self._shows_messages():
            m: Tensor = self.aggregation(source, adjacency, edge, self.eps)
            return m
        dense = edge if edge is None or isinstance(edge, Tensor) else edge.materialize()
        size = (adjacency.num_sources, adjacency.num_targets)
        shown: Tensor = self.propagate(adjacency.edge_index(), x=(source, None), edge=dense, size=size)
        return shown

    def _shows_messages(self) -> bool:
        """Whether an explanation, a hook or a changed step of message passing is to see every message."""
        return (
            bool(self.explain)
            or any(getattr(self, hooks) for hooks in _HOOKS)
            or any(step in self.__dict__ or getattr(type(self), step) is not getattr(GENConv, step) for step in _STEPS)
        )

    def message(self, x_j: Tensor, edge: OptTensor) -> Tensor:
        """ReLU(h_u + h_e) + eps for every edge."""
        return (x_j if edge is None else x_j + edge).relu() + self.eps

    def aggregate(self, inputs: Tensor, index: Tensor, dim_size: int) -> Tensor:
        """AGG of messages, which an explainer may have scaled down; those of a power mean stay at least eps."""
        if any(isinstance(module, PowerMeanAggregation) for module in self.aggregation.modules()):
            inputs = inputs.clamp(min=self.eps)
        m: Tensor = self.aggregation(inputs, cached_grouping(index, dim_size), None, None)
        return m

    def _pair(self, x: Tensor | Pair) -> Pair:
        if not isinstance(x, Tensor) and not (isinstance(x, tuple | list) and len(x) == 2):
            raise InputError(f"x: expected features or a pair of them, of sources and of targets, got {_found(x)}")
        source, target = large.twice(x) if isinstance(x, Tensor) else x
        widths = (self.in_channels, self.in_channels) if isinstance(self.in_channels, int) else self.in_channels
        for name, features, width, projection in (
            ("source", source, widths[0], self.source_projection),
            ("target", target, widths[1], self.target_projection),
        ):
            if width == UNKNOWN and projection is not None:
                width = known_width(projection) or UNKNOWN
            if features is None and name == "target":
                continue
            if not isinstance(features, Tensor) or not _fits(features, width):
                expected = "width" if width == UNKNOWN else width
                raise InputError(
                    f"x: expected floating-point {name} features [nodes, {expected}], got {_found(features)}"
                )
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
            found = "categories" if isinstance(edge_attr, Categories) else _found(edge_attr)
            raise InputError(
                f"edge_attr: expected a floating-point tensor [edges, {self.out_channels}], since the layer was built "
                f"without an edge encoder, got {found}"
            )
        return edge_attr

    def dynamics(self) -> dict[str, float | list[float]]:
        """The current values of beta, p, y and s that this layer has."""
        return {**self.aggregation.dynamics(), **(self.msg_norm.dynamics() if self.msg_norm is not None else {})}

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, eps={self.eps}"

    __repr__ = nn.Module.__repr__


def _fits(features: Tensor, width: int) -> bool:
    return features.is_floating_point() and features.dim() == 2 and width in (features.shape[1], UNKNOWN)


def _found(given: Any) -> str:
    """What was given in the place of features, for an error message."""
    if isinstance(given, Tensor):
        return f"{given.dtype} {list(given.shape)}"
    return f"a {type(given).__name__} of {len(given)}" if isinstance(given, tuple | list) else type(given).__name__


_STEPS = ("message", "aggregate", "update")
_HOOKS = tuple(f"_{step}_forward_{when}" for step in ("propagate", *_STEPS[:2]) for when in ("pre_hooks", "hooks"))
"""Where PyG keeps what users attach to the steps that the fast path leaves out."""


def _apply(mlp: nn.Sequential, x: Tensor) -> Tensor:
    """``mlp(x)``; its Linear layers are computed by ``ops.product``, where nobody watches them."""
    if not (runs_plainly() and product.is_special(x) and _is_plain(mlp)):
        out: Tensor = mlp(x)
        return out
    for module in mlp:
        if type(module) is nn.Linear and not has_hooks(module) and not _LINEAR.why_not(module):
            x = product.linear(x, module.weight, module.bias)
        else:
            x = module(x)
    return x


def _is_plain(mlp: nn.Module) -> bool:
    return isinstance(mlp, nn.Sequential) and not has_hooks(mlp) and not _SEQUENTIAL.why_not(mlp)


_SEQUENTIAL, _LINEAR = Definition(nn.Sequential, "forward"), Definition(nn.Linear, "forward")


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
