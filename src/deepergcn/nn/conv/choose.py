"""Build the aggregator of GENConv from its options."""

from collections.abc import Sequence
from typing import Any

from deepergcn.errors import InputError, listed
from deepergcn.nn.conv.aggregators import AGGREGATORS, Aggregation, MultiAggregation, build_aggregation
from deepergcn.nn.pyg.names import AGGREGATORS as PYG_AGGREGATORS

AggregatorSpec = str | Aggregation | Sequence[str | Aggregation]
"""The name of an aggregator, an aggregator, or a list of them, whose results are concatenated."""

_TAKES = {
    "softmax": ("beta", "learn_beta", "y", "learn_y", "semi_gradient"),
    "power_mean": ("p", "learn_p", "y", "learn_y"),
}
"""The options of each aggregator."""


def choose_aggregation(aggr: AggregatorSpec, options: dict[str, Any]) -> Aggregation:
    """Build the aggregator ``aggr`` with those of the options that it has.

    An option that no aggregator has must be neutral: False, or y = 0; beta and p are ignored.
    """
    if isinstance(aggr, Aggregation):
        return aggr
    if isinstance(aggr, str):
        _check_options([aggr], options)
        return _one(aggr, options)
    if not isinstance(aggr, Sequence):
        raise InputError(f"aggr: expected a name, an Aggregation or a list of them, got {type(aggr).__name__}")
    if others := [type(one).__name__ for one in aggr if not isinstance(one, str | Aggregation)]:
        raise InputError(f"aggr: expected names and Aggregations in the list, got {listed(others)}")
    names = [name for name in aggr if isinstance(name, str)]
    if names:
        _check_options(names, options)
    return MultiAggregation([one if isinstance(one, Aggregation) else _one(one, options) for one in aggr])


def _one(name: str, options: dict[str, Any]) -> Aggregation:
    ours, semi_gradient = _our_name(name)
    if semi_gradient:
        options = options | {"semi_gradient": True}
    return build_aggregation(ours, **{option: options[option] for option in _TAKES.get(ours, ())})


def _our_name(name: str) -> tuple[str, bool]:
    """Our name of an aggregator, and whether PyG's name implies the semi-gradient."""
    return ("softmax", True) if name == "softmax_sg" else (PYG_AGGREGATORS.get(name, name), False)


def _check_options(names: Sequence[str], options: dict[str, Any]) -> None:
    ours = [_our_name(name)[0] for name in names]
    if any(name not in AGGREGATORS for name in ours):
        return  # build_aggregation refuses the name
    for asked, shown in (
        ("learn_beta", "learn_beta"),
        ("semi_gradient", "semi_gradient"),
        ("learn_p", "learn_p"),
        ("y", "y and learn_y"),
        ("learn_y", "y and learn_y"),
    ):
        if options[asked] and not any(asked in _TAKES.get(name, ()) for name in ours):
            takers = " and ".join(name for name, taken in _TAKES.items() if asked in taken)
            raise InputError(f"{shown}: only {takers} can have it, got aggr={names[0] if len(names) == 1 else names!r}")
