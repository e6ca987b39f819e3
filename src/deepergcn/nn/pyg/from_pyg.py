"""Convert PyTorch Geometric's modules of DeeperGCN to this library's, with their weights."""

from typing import Any

import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn
from torch_geometric.nn.conv.gen_conv import MLP as PyGMLP  # noqa: N811

from deepergcn.errors import InputError
from deepergcn.nn.blocks import block_class
from deepergcn.nn.conv import aggregators
from deepergcn.nn.conv.gen_conv import GENConv
from deepergcn.nn.conv.message_norm import MessageNorm
from deepergcn.nn.encoders.edges import AffineEncoder
from deepergcn.nn.norms import NormName
from deepergcn.nn.pyg.adjacency_cache import cached_grouping
from deepergcn.nn.pyg.fast_conv import why_changed
from deepergcn.nn.pyg.in_place import original_class
from deepergcn.nn.pyg.replace import (
    Converter,
    Replacement,
    check_module,
    check_unchanged,
    check_widths,
    copy_state,
)
from deepergcn.ops import Adjacency


def from_pyg(module: nn.Module) -> nn.Module:
    """A copy of ``module`` with PyG's modules of DeeperGCN converted to this library's, with their weights.

    Converted, anywhere in a model: ``GENConv``, ``DeepGCNLayer``, ``MessageNorm``, ``SoftmaxAggregation`` and
    ``PowerMeanAggregation``. Each is called as before, so that the rest of the model runs unchanged; aggregations
    become :class:`IndexedAggregation`. What has no equivalent here is refused. :func:`to_pyg` is the inverse.

    Results are PyG's, except that the power mean has no clamps, that a convolution with an edge encoder requires edge
    features, and that checkpointing is non-reentrant.

    Examples:
        >>> import torch_geometric.nn as pyg
        >>> theirs = pyg.GENConv(8, 8)
        >>> ours = from_pyg(theirs)
        >>> x, edge_index = torch.rand(4, 8), torch.tensor([[0, 1, 2], [3, 3, 0]])
        >>> torch.allclose(ours(x, edge_index), theirs(x, edge_index), atol=1e-6)
        True
    """
    check_module(module, "module")
    return Replacement(_CONVERTERS, original_class).of(module)


class IndexedAggregation(nn.Module):
    """An aggregation with PyG's call signature: messages [messages, channels] and the index of each one's group."""

    def __init__(self, aggregation: aggregators.Aggregation) -> None:
        super().__init__()
        self.aggregation = aggregation

    def forward(
        self,
        x: Tensor,
        index: Tensor | None = None,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
    ) -> Tensor:
        if x.dim() != 2 or dim not in (-2, 0):
            raise InputError(f"x: expected messages [messages, channels], got {list(x.shape)} along dimension {dim}")
        is_power = isinstance(self.aggregation, aggregators.PowerMeanAggregation)
        if is_power and x.device.type == "cpu" and bool((x <= 0).any()):  # a GPU would have to be waited for
            raise InputError(f"x: expected positive messages for the power mean, got {float(x.detach().min())}")
        out: Tensor = self.aggregation(x, grouping(x, index, ptr, dim_size), eps=None)
        return out


def grouping(x: Tensor, index: Tensor | None, ptr: Tensor | None, dim_size: int | None) -> Adjacency:
    """The ``Adjacency`` that sends each message to its group, given by index or by pointer."""
    if index is None and ptr is not None:
        known = None if ptr.device.type == "cpu" else x.shape[0]  # a GPU would have to be waited for
        index = torch.arange(ptr.numel() - 1, device=ptr.device).repeat_interleave(ptr.diff(), output_size=known)
        dim_size = ptr.numel() - 1
    if index is None:
        index = torch.zeros(x.shape[0], dtype=torch.int64, device=x.device)
    if dim_size is None:
        dim_size = int(index.max()) + 1 if index.numel() else 0
    return cached_grouping(index, dim_size)


def _gen_conv(theirs: Any, path: str, replace: Replacement) -> nn.Module:
    if theirs.flow != "source_to_target" or theirs.node_dim != -2:
        raise InputError(f"{path}: expected messages from source to target, nodes in rows; got flow={theirs.flow!r}")
    check_widths(theirs, path)
    for name, part in theirs.named_modules():
        check_unchanged(part, f"{path}.{name}" if name else path)
    if changed := why_changed(theirs):
        raise InputError(f"{path}: {changed}; expected GENConv as PyG defines it")
    out_channels = theirs.out_channels
    source, target, edge, message = (
        _linear(theirs, f"lin_{name}", path) for name in ("src", "dst", "edge", "aggr_out")
    )
    if target is not None and hasattr(theirs, "msg_norm"):
        raise InputError(f"{path}: MsgNorm by features of another width than the message has no equivalent here")
    linears, norm, norms = _mlp_parts(theirs.mlp, path)
    bias = linears[0].bias is not None
    ours = GENConv(
        (
            out_channels if source is None else _width(source),
            out_channels if target is None else _width(target),
        ),
        out_channels,
        aggr=_aggregation(theirs.aggr_module, path, replace).aggregation,
        msg_norm=hasattr(theirs, "msg_norm"),
        mlp_layers=len(linears),
        expansion=linears[0].out_channels // out_channels,
        norm=norm,
        bias=bias,
        edge_encoder=None if edge is None else AffineEncoder(_width(edge), out_channels, edge.bias is not None),
        eps=theirs.eps,
    )
    if ours.msg_norm is not None:
        ours.msg_norm = _message_norm(theirs.msg_norm, path, replace)
    # A lazy layer has projections whatever its widths became.
    ours.source_projection, ours.target_projection, ours.message_projection = (
        None if lin is None else nn.Linear(_width(lin), out_channels, lin.bias is not None)
        for lin in (source, target, message)
    )
    pairs: list[tuple[nn.Module | None, Any]] = [
        (ours.source_projection, source),
        (ours.target_projection, target),
        (ours.message_projection, message),
    ]
    if isinstance(ours.edge_encoder, AffineEncoder):
        pairs.append((ours.edge_encoder.linear, edge))
    pairs += zip([m for m in ours.mlp if isinstance(m, nn.Linear)], linears, strict=True)
    pairs += zip([m for m in ours.mlp if not isinstance(m, nn.Linear | nn.ReLU)], norms, strict=True)
    for mine, other in pairs:
        if mine is not None:
            _copy(other, mine, path)
    return ours


def _copy(theirs: nn.Module, ours: nn.Module, path: str) -> None:
    if theirs.state_dict().keys() != ours.state_dict().keys():
        raise InputError(f"{path}: expected the weights that GENConv builds, got others in its {theirs}")
    copy_state(theirs, ours)


def _linear(conv: Any, name: str, path: str) -> Any:
    """A projection of PyG's GENConv, or None."""
    linear = getattr(conv, name, None)
    if type(linear) not in (pyg.Linear, nn.Linear, type(None)):
        raise InputError(f"{path}.{name}: expected a Linear layer, got {type(linear).__name__}")
    return linear


def _width(linear: Any) -> int:
    return int(linear.weight.shape[1])


def _mlp_parts(mlp: Any, path: str) -> tuple[list[Any], NormName | None, list[nn.Module]]:
    """The Linear layers of PyG's MLP, the name of its normalization, and the normalizations."""
    linears = [m for m in mlp if isinstance(m, pyg.Linear)]
    norms = [m for m in mlp if type(m) in _NORMS]
    between = [pyg.Linear, *({type(norm) for norm in norms}), nn.ReLU, nn.Dropout]
    built = [*between * (len(linears) - 1), pyg.Linear]
    is_tracked = all(norm.track_running_stats for norm in norms if isinstance(norm, nn.BatchNorm1d))
    without_dropout = all(m.p == 0 for m in mlp if isinstance(m, nn.Dropout))
    if type(mlp) is not PyGMLP or [type(m) for m in mlp] != built or not is_tracked or not without_dropout:
        raise InputError(f"{path}: expected the MLP that GENConv builds, without dropout")
    return linears, _NORMS[type(norms[0])] if norms else None, norms


def _deep_gcn_layer(theirs: Any, path: str, replace: Replacement) -> nn.Module:
    if theirs.act is not None and type(theirs.act) is not nn.ReLU:
        raise InputError(f"{path}: expected ReLU or no activation, got {theirs.act}")
    if theirs.act is not None:
        check_unchanged(theirs.act, f"{path}.act")
    return block_class(theirs.block)(
        replace(theirs.conv, f"{path}.conv"),
        None if theirs.norm is None else replace(theirs.norm, f"{path}.norm"),
        dropout=theirs.dropout,
        relu=theirs.act is not None,
        checkpoint=theirs.ckpt_grad,
    )


def _message_norm(theirs: Any, path: str, replace: Replacement) -> MessageNorm:
    ours = MessageNorm(learn_s=theirs.scale.requires_grad, s=theirs.scale.item())
    if theirs.scale.requires_grad:
        ours.s = _scalar(theirs.scale)
    return ours


def _aggregation(theirs: Any, path: str, replace: Replacement) -> IndexedAggregation:
    ours: aggregators.Aggregation
    match theirs:
        case pyg.SoftmaxAggregation():
            ours = aggregators.SoftmaxAggregation(
                learn_beta=theirs.learn, semi_gradient=theirs.semi_grad, channels=_channels(theirs)
            )
            ours.beta, ours.initial = _scalar(theirs.t), {"beta": float(theirs._init_t), "y": 0.0}
        case pyg.PowerMeanAggregation():
            ours = aggregators.PowerMeanAggregation(learn_p=theirs.learn, channels=_channels(theirs))
            ours.p, ours.initial = _scalar(theirs.p), {"p": float(theirs._init_p), "y": 0.0}
        case pyg.MultiAggregation(mode="cat"):
            ours = aggregators.MultiAggregation([_aggregation(a, path, replace).aggregation for a in theirs.aggrs])
        case _:
            if original_class(theirs) not in _PLAIN:
                known = ", ".join(cls.__name__ for cls in (pyg.SoftmaxAggregation, pyg.PowerMeanAggregation, *_PLAIN))
                raise InputError(f"{path}: expected {known}, or several of them concatenated, got {theirs}")
            ours = _PLAIN[original_class(theirs)]()
    return IndexedAggregation(ours)


def _channels(theirs: Any) -> int | None:
    return theirs.channels if theirs.channels > 1 else None


def _scalar(value: nn.Parameter | float) -> nn.Parameter | float:
    if not isinstance(value, Tensor):
        return float(value)
    tensor = value.detach().clone()
    return nn.Parameter(tensor if tensor.numel() > 1 else tensor.reshape(()), requires_grad=value.requires_grad)


_NORMS: dict[type, NormName] = {nn.BatchNorm1d: "batch", nn.LayerNorm: "layer", nn.InstanceNorm1d: "instance"}

_PLAIN: dict[type, type[aggregators.Aggregation]] = {
    pyg.SumAggregation: aggregators.SumAggregation,
    pyg.MeanAggregation: aggregators.MeanAggregation,
    pyg.MaxAggregation: aggregators.MaxAggregation,
    pyg.MinAggregation: aggregators.MinAggregation,
}

_CONVERTERS: dict[type, Converter] = {
    pyg.GENConv: _gen_conv,
    pyg.DeepGCNLayer: _deep_gcn_layer,
    pyg.MessageNorm: _message_norm,
    pyg.SoftmaxAggregation: _aggregation,
    pyg.PowerMeanAggregation: _aggregation,
}
