"""Convert this library's modules to PyTorch Geometric's, with their weights."""

from typing import Any

import torch_geometric.nn as pyg
from torch import Tensor, nn

from deepergcn.errors import InputError
from deepergcn.nn.blocks import BLOCKS
from deepergcn.nn.conv import aggregators
from deepergcn.nn.conv.gen_conv import GENConv
from deepergcn.nn.conv.message_norm import MessageNorm
from deepergcn.nn.conv.scalar import Scalar, present
from deepergcn.nn.encoders.edges import AffineEncoder
from deepergcn.nn.networks.graph_network import GraphNetwork
from deepergcn.nn.norms import BatchNorm
from deepergcn.nn.pyg.from_pyg import IndexedAggregation
from deepergcn.nn.pyg.replace import Converter, Replacement, check_module, check_unchanged, check_widths, copy_state
from deepergcn.nn.reversible.layers import RevBlock


def to_pyg(module: nn.Module) -> nn.Module:
    """A copy of ``module`` with this library's modules converted to PyTorch Geometric's, with their weights.

    Converted, anywhere in a model: :class:`GENConv`, the blocks (to ``DeepGCNLayer``), :class:`MessageNorm` and the
    aggregations of :func:`from_pyg`, which is the inverse. Results and gradients are the same; PyG's power mean gets
    clamps that have no effect. Refused, since PyG has no equivalent: degree scaling (y), a power mean with p <= 0,
    edge encoders of categories, MsgNorm by projected features, root weights, reversible blocks and whole networks.
    """
    check_module(module, "module")
    for path, part in module.named_modules():
        name = path or type(part).__name__
        if isinstance(part, GraphNetwork):
            raise InputError(
                f"{name}: a whole network has no equivalent in PyG; "
                "it takes PyG's Data as it is, and to_pyg(network.layers) converts its layers"
            )
        if isinstance(part, RevBlock):
            raise InputError(f"{name}: reversible layers cannot be converted to PyG's GroupAddRev")
    return Replacement(_CONVERTERS).of(module)


def _gen_conv(ours: GENConv, path: str, replace: Replacement) -> nn.Module:
    check_widths(ours, path)
    for name, part in ours.named_modules():
        check_unchanged(part, f"{path}.{name}" if name else path)
    if ours._shows_messages():
        raise InputError(f"{path}: its messages are explained, hooked or replaced; expected GENConv as it is")
    if ours.edge_encoder is not None and type(ours.edge_encoder) is not AffineEncoder:
        raise InputError(f"{path}: PyG has no edge encoder like {type(ours.edge_encoder).__name__}")
    if ours.root is not None:
        raise InputError(f"{path}: a root weight (root_weight=True) has no equivalent in PyG's GENConv")
    if ours.msg_norm is not None and ours.target_projection is not None:
        raise InputError(f"{path}: MsgNorm by projected features has no equivalent in PyG")
    linears, norms = _mlp_parts(ours.mlp, path)
    name, options = _aggregators(ours.aggregation, path)
    theirs = pyg.GENConv(
        _widths(ours),
        ours.out_channels,
        aggr=name,
        aggr_kwargs=options,
        msg_norm=ours.msg_norm is not None,
        norm=_norm_name(norms[0]) if norms else None,
        num_layers=len(linears),
        expansion=linears[0].out_features // ours.out_channels,
        eps=ours.eps,
        bias=linears[0].bias is not None,
    )
    _copy_parameters(ours.aggregation, theirs.aggr_module)
    if ours.msg_norm is not None:
        theirs.msg_norm = replace(ours.msg_norm, f"{path}.msg_norm")
    for their_name, linear in (
        ("lin_src", ours.source_projection),
        ("lin_dst", ours.target_projection),
        ("lin_aggr_out", ours.message_projection),
        ("lin_edge", None if ours.edge_encoder is None else ours.edge_encoder.linear),
    ):
        if linear is not None:
            if type(linear) is not nn.Linear:
                raise InputError(f"{path}: expected a Linear layer as {their_name}, got {type(linear).__name__}")
            # PyG builds none for edge features of the convolution's width, but uses one that is there.
            setattr(theirs, their_name, pyg.Linear(linear.in_features, linear.out_features, linear.bias is not None))
            copy_state(linear, getattr(theirs, their_name))
    for mine, other in zip(linears, [m for m in theirs.mlp if isinstance(m, pyg.Linear)], strict=True):
        copy_state(mine, other)
    others = [m for m in theirs.mlp if not isinstance(m, pyg.Linear | nn.ReLU | nn.Dropout)]
    for norm, other in zip(norms, others, strict=True):
        copy_state(norm, other)
    return theirs  # type: ignore[no-any-return]


def _mlp_parts(mlp: nn.Module, path: str) -> tuple[list[Any], list[Any]]:
    """The Linear layers of an MLP as GENConv builds it, and its normalizations."""
    parts: list[Any] = list(mlp.children())
    linears = [m for m in parts if type(m) is nn.Linear]
    norms = [m for m in parts if type(m) in (BatchNorm, nn.BatchNorm1d, nn.LayerNorm)]
    between = [*({type(norm) for norm in norms}), nn.ReLU]
    built = [*[nn.Linear, *between] * (len(linears) - 1), nn.Linear]
    if type(mlp) is not nn.Sequential or [type(m) for m in parts] != built:
        raise InputError(f"{path}: expected the MLP that GENConv builds, of known norms and ReLU")
    return linears, norms


def _widths(ours: GENConv) -> tuple[int, int]:
    projections = (ours.source_projection, ours.target_projection)
    source, target = (ours.out_channels if p is None else p.weight.shape[1] for p in projections)
    return source, target


def _norm_name(norm: nn.Module) -> str:
    if isinstance(norm, nn.LayerNorm):
        return "layer" if norm.elementwise_affine else "instance"
    return "batch"


def _aggregators(ours: aggregators.Aggregation, path: str) -> tuple[str | list[str], dict[str, Any]]:
    """PyG's names and options of one or several aggregators."""
    if not isinstance(ours, aggregators.MultiAggregation):
        return _aggregator(ours, path)
    every: list[Any] = [_aggregator(one, path) for one in ours.aggregations]
    return [name for name, _ in every], {"aggrs_kwargs": [options for _, options in every]}


def _aggregator(ours: Any, path: str) -> tuple[str, dict[str, Any]]:
    if type(ours) not in _NAMES:
        raise InputError(f"{path}: {type(ours).__name__} has no equivalent in PyG")
    if isinstance(getattr(ours, "y", 0.0), Tensor) or getattr(ours, "y", 0.0) != 0:
        raise InputError(f"{path}: degree scaling (y) has no equivalent in PyG")
    match ours:
        case aggregators.SoftmaxAggregation():
            options = {"t": _number(ours.beta), "semi_grad": ours.semi_gradient, **_learning(ours.beta)}
        case aggregators.PowerMeanAggregation():
            p = present(ours.p)
            if min(p if isinstance(p, list) else [p]) <= 0:
                raise InputError(f"{path}: PyG's power mean of no messages is infinite for p <= 0, got p={p}")
            options = {"p": _number(ours.p), "clamp_min": 0.0, "clamp_max": None, **_learning(ours.p)}
        case _:
            options = {}
    return _NAMES[type(ours)], options


def _learning(value: Scalar) -> dict[str, Any]:
    return {"learn": True, "channels": value.numel()} if isinstance(value, Tensor) else {}


def _number(value: Scalar) -> float:
    return float(value.detach().flatten()[0]) if isinstance(value, Tensor) else value


def _copy_parameters(ours: Any, theirs: Any) -> None:
    """Copy the learned values and their initial values."""
    if isinstance(ours, aggregators.MultiAggregation):
        for one, other in zip(ours.aggregations, theirs.aggrs, strict=True):
            _copy_parameters(one, other)
        return
    for mine, other in (("beta", "t"), ("p", "p")):
        value = getattr(ours, mine, None)
        if value is not None:
            setattr(theirs, f"_init_{other}", ours.initial[mine])
        if isinstance(value, nn.Parameter):
            setattr(theirs, other, nn.Parameter(value.detach().clone().reshape(-1), value.requires_grad))


def _indexed(ours: IndexedAggregation, path: str, replace: Replacement) -> nn.Module:
    name, options = _aggregators(ours.aggregation, path)
    theirs: nn.Module = pyg.resolver.aggregation_resolver(name, **options)
    _copy_parameters(ours.aggregation, theirs)
    return theirs


def _block(ours: Any, path: str, replace: Replacement) -> nn.Module:
    if ours.act is not None:
        if type(ours.act) is not nn.ReLU:
            raise InputError(f"{path}: expected ReLU or no activation, got {type(ours.act).__name__}")
        check_unchanged(ours.act, f"{path}.act")
    layer: nn.Module = pyg.DeepGCNLayer(
        replace(ours.conv, f"{path}.conv"),
        None if ours.norm is None else replace(ours.norm, f"{path}.norm"),
        None if ours.act is None else nn.ReLU(),
        block=next(name for name, cls in BLOCKS.items() if type(ours) is cls),
        dropout=ours.dropout,
        ckpt_grad=ours.checkpoint,
    )
    return layer


def _message_norm(ours: MessageNorm, path: str, replace: Replacement) -> nn.Module:
    theirs: Any = pyg.MessageNorm(learn_scale=isinstance(ours.s, Tensor))
    value = ours.s.detach() if isinstance(ours.s, Tensor) else theirs.scale.new_tensor(ours.s)
    theirs.scale = nn.Parameter(value.clone().reshape(1), requires_grad=theirs.scale.requires_grad)
    converted: nn.Module = theirs
    return converted


def _batch_norm(ours: BatchNorm, path: str, replace: Replacement) -> nn.Module:
    theirs = nn.BatchNorm1d(ours.num_features, affine=ours.affine, track_running_stats=ours.track_running_stats)
    copy_state(ours, theirs)
    return theirs


_NAMES: dict[type, str] = {
    aggregators.SoftmaxAggregation: "softmax",
    aggregators.PowerMeanAggregation: "powermean",
    aggregators.SumAggregation: "sum",
    aggregators.MeanAggregation: "mean",
    aggregators.MaxAggregation: "max",
    aggregators.MinAggregation: "min",
}

_CONVERTERS: dict[type, Converter] = {
    GENConv: _gen_conv,
    MessageNorm: _message_norm,
    IndexedAggregation: _indexed,
    BatchNorm: _batch_norm,
    **dict.fromkeys(BLOCKS.values(), _block),
}
