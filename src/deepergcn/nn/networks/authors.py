"""Load weights of the authors' code (``deep_gcns_torch``) into this library's networks.

Modules by their names in checkpoints:

| theirs | ours |
|---|---|
| ``gcns.i.mlp.k`` | ``layers.i.conv.mlp.k`` |
| ``gcns.i.t``, ``gcns.i.p`` | ``layers.i.conv.aggregation.beta``, ``.p`` |
| ``gcns.i.y``, the power of the degree before a sigmoid | ``layers.i.conv.aggregation.y``, after it |
| ``gcns.i.msg_norm.msg_scale`` | ``layers.i.conv.msg_norm.s`` |
| ``gcns.i.edge_encoder``, a Linear layer or a list of embeddings | ``layers.i.conv.edge_encoder`` |
| ``norms.i`` or ``layer_norms.i`` | ``layers.i+1.norm``, the last ``norm`` (res+); ``layers.i.norm`` (res, plain) |
| ``node_features_encoder``, ``node_one_hot_encoder``, ``atom_encoder`` | ``node_encoder`` |
| ``edge_encoder``, ``bond_encoder`` | ``edge_encoder`` |
| ``virtualnode_embedding``, ``mlp_virtualnode_list`` | ``virtual_node`` |
| ``node_pred_linear``, ``graph_pred_linear`` | ``head`` |
"""

import re
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from deepergcn.errors import InputError
from deepergcn.nn.blocks import Block
from deepergcn.nn.conv.gen_conv import GENConv
from deepergcn.nn.networks.graph_network import GraphNetwork

COMPUTED = ("node_features_encoder_1st.weight",)
"""Buffers in their checkpoints: sums of incident edge features, which are computed from the data."""


def from_authors(tensors: Mapping[str, Tensor], model: GraphNetwork) -> dict[str, Tensor]:
    """The ``state_dict`` of ``model`` from the tensors of one of the authors' checkpoints.

    Every weight of the model must be among the tensors, with the same shape, and every tensor must be used.
    """
    theirs = {name.removeprefix("module."): value for name, value in tensors.items()}
    used = {name for name in COMPUTED if name in theirs} | _fixed(theirs, model)
    state = {}
    for name, expected in model.state_dict().items():
        names, change = _source(name, theirs, model)
        missing = next((one for one in names if one not in theirs), None)
        if missing is not None:
            raise InputError(f"has no weight {missing}, which the network needs as {name}")
        used.update(names)
        found = change(torch.cat([theirs[one] for one in names]) if len(names) > 1 else theirs[names[0]])
        found = found.reshape(expected.shape) if found.numel() == 1 or name in _FLAT else found
        if found.shape != expected.shape or found.is_floating_point() != expected.is_floating_point():
            raise InputError(
                f"the weight {names[0]} is {found.dtype} {list(found.shape)}; "
                f"the network expects {expected.dtype} {list(expected.shape)} as {name}".replace("torch.", "")
            )
        if not bool(found.isfinite().all()):
            raise InputError(f"the weight {names[0]} has values that are not finite")
        state[name] = found.to(expected.dtype)
    left = sorted(theirs.keys() - used)
    if left:
        raise InputError(f"has the weight {left[0]}, which the network has no place for{_hint(left[0])}")
    return state


def embedding_sizes(tensors: Mapping[str, Tensor], name: str) -> tuple[int, ...]:
    """The sizes of the embeddings in the list ``name``; empty if there is none."""
    names = _list_of(name, {key.removeprefix("module."): value for key, value in tensors.items()})
    return tuple(
        value.shape[0] for key, value in tensors.items() if key.removeprefix("module.") in names and value.dim() == 2
    )


_FLAT = ("virtual_node.embedding",)  # theirs is an embedding of one row

_NAMES = (
    (r"node_encoder\.linear\.(\w+)", "node_features_encoder.{0}"),
    (r"node_encoder\.species\.(\w+)", "node_one_hot_encoder.{0}"),
    (r"edge_encoder\.linear\.(\w+)", "edge_encoder.{0}"),
    (r"layers\.(\d+)\.conv\.mlp\.(.+)", "gcns.{0}.mlp.{1}"),
    (r"layers\.(\d+)\.conv\.edge_encoder\.linear\.(\w+)", "gcns.{0}.edge_encoder.{1}"),
    (r"layers\.(\d+)\.conv\.aggregation\.beta", "gcns.{0}.t"),
    (r"layers\.(\d+)\.conv\.aggregation\.([py])", "gcns.{0}.{1}"),
    (r"layers\.(\d+)\.conv\.msg_norm\.s", "gcns.{0}.msg_norm.msg_scale"),
    (r"virtual_node\.embedding", "virtualnode_embedding.weight"),
    (r"virtual_node\.updates\.(.+)", "mlp_virtualnode_list.{0}"),
)

_LISTS = (
    (r"node_encoder\.tables\.weight", "atom_encoder.atom_embedding_list"),
    (r"edge_encoder\.tables\.weight", "bond_encoder.bond_embedding_list"),
    (r"layers\.(\d+)\.conv\.edge_encoder\.tables\.weight", "gcns.{0}.edge_encoder.bond_embedding_list"),
)

Change = Callable[[Tensor], Tensor]


def _source(name: str, theirs: Mapping[str, Tensor], model: GraphNetwork) -> tuple[list[str], Change]:
    """Their names of a weight of ours, to be concatenated, and the function that converts its values."""
    for pattern, theirs_name in _NAMES:
        match = re.fullmatch(pattern, name)
        if match:
            change: Change = torch.sigmoid if name.endswith(".aggregation.y") else _same
            return [theirs_name.format(*match.groups())], change
    for pattern, theirs_name in _LISTS:
        match = re.fullmatch(pattern, name)
        if match:
            listed = theirs_name.format(*match.groups())
            return _list_of(listed, theirs) or [f"{listed}.0.weight"], _same
    match = re.fullmatch(r"(?:layers\.(\d+)\.)?norm\.(\w+)", name)
    if match:
        layer = len(model.layers) if match[1] is None else int(match[1])
        norms = "layer_norms" if any(key.startswith("layer_norms.") for key in theirs) else "norms"
        return [f"{norms}.{layer - 1 if model.pre_activation else layer}.{match[2]}"], _same
    match = re.fullmatch(r"head\.(\w+)", name)
    if match:
        return [f"{model.level}_pred_linear.{match[1]}"], _same
    raise InputError(f"the network has the weight {name}, which none of the authors' networks has")


def _same(values: Tensor) -> Tensor:
    return values


def _list_of(name: str, theirs: Mapping[str, Tensor]) -> list[str]:
    """The names of the embeddings in a list, in order."""
    numbers = [re.fullmatch(rf"{re.escape(name)}\.(\d+)\.weight", key) for key in theirs]
    return [f"{name}.{number}.weight" for number in sorted(int(found[1]) for found in numbers if found)]


def _fixed(theirs: Mapping[str, Tensor], model: GraphNetwork) -> set[str]:
    """Their names of s and y that are fixed numbers here and constant weights there; they must be equal."""
    names = set()
    for i, layer in enumerate(model.layers):
        conv = layer.conv if isinstance(layer, Block) else None
        if not isinstance(conv, GENConv):
            continue
        for name, change, value in (
            (f"gcns.{i}.msg_norm.msg_scale", _same, None if conv.msg_norm is None else conv.msg_norm.s),
            (f"gcns.{i}.y", torch.sigmoid, getattr(conv.aggregation, "y", None)),
        ):
            if name not in theirs or value is None or isinstance(value, Tensor):
                continue
            found = float(change(theirs[name]).flatten()[0])
            if abs(found - value) > 1e-6:
                raise InputError(f"{name} stands for {found:g}; the network keeps it at {value:g}")
            names.add(name)
    return names


def _hint(name: str) -> str:
    for end, option in ((".t", "learn_beta"), (".p", "learn_p"), (".y", "y or learn_y"), (".msg_scale", "msg_norm")):
        if name.endswith(end):
            return f"; expected a network with {option}"
    return ""
