"""PyTorch Geometric's argument names, accepted besides the paper's."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec

from deepergcn.errors import InputError

P = ParamSpec("P")

GEN_CONV = {
    "t": "beta",
    "learn_t": "learn_beta",
    "learn_msg_scale": "learn_s",
    "num_layers": "mlp_layers",
    "edge_dim": "edge_encoder",
}
"""Arguments of ``GENConv``, by PyG's name."""

NETWORK = {
    "t": "beta",
    "learn_t": "learn_beta",
    "learn_msg_scale": "learn_s",
    "in_channels": "node_encoder",
    "out_channels": "head",
    "edge_dim": "layer_edge_encoder",
    "ckpt_grad": "checkpoint",
}
"""Arguments of the networks, by PyG's name; ``num_layers`` is their depth, not that of an MLP."""

AGGREGATORS = {"add": "sum", "powermean": "power_mean", "power": "power_mean"}
"""Aggregators, by PyG's name; ``softmax_sg`` is softmax with ``semi_gradient=True``."""

NO_EQUAL = {
    "aggr_kwargs": "the options of the aggregator are arguments of their own, or give an Aggregation as aggr",
    "flow": "messages go from source to target; turn the graph round with Adjacency.transpose()",
    "node_dim": "nodes are in rows",
    "decomposed_layers": "no tensor of the size [edges, channels] is made",
}
"""Arguments of PyG's message passing without an equivalent here, and what to use instead."""


def pyg_names(
    names: Mapping[str, str], no_equal: Mapping[str, str] | None = None
) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Accept PyG's argument names in a constructor; one without an equivalent raises an error that says why."""

    def decorate(init: Callable[P, None]) -> Callable[P, None]:
        @wraps(init)
        def renamed(*args: P.args, **kwargs: P.kwargs) -> None:
            for theirs in kwargs.keys() & names.keys():
                _rename(kwargs, theirs, names[theirs])
            for theirs in kwargs.keys() & (no_equal or {}).keys():
                raise InputError(f"{theirs}: has no equivalent here; {(no_equal or {})[theirs]}")
            init(*args, **kwargs)

        return renamed

    return decorate


def _rename(kwargs: dict[str, Any], theirs: str, ours: str) -> None:
    if ours in kwargs:
        raise InputError(f"{theirs}: is PyG's name for {ours}, which is given too; expected one of them")
    kwargs[ours] = kwargs.pop(theirs)
