"""``deepergcn plan``: estimate the cost of a run before it starts."""

from typing import TYPE_CHECKING, Annotated

import typer

from deepergcn.cli.options import DataOption, RecipeArgument, SettingsOption
from deepergcn.cli.table import print_table
from deepergcn.cli.terminal import say

if TYPE_CHECKING:
    from deepergcn.training.cost.estimate import Cost

_LARGER = (10**8, 10**9)  # edges


def plan(
    recipe: RecipeArgument = None,
    data: DataOption = None,
    settings: SettingsOption = None,
    devices: Annotated[int, typer.Option("--devices", help="Number of processes.", min=1)] = 1,
    machine: Annotated[
        bool, typer.Option("--machine", help="Also estimate the same network on 100 million and a billion edges.")
    ] = False,
) -> None:
    """Estimate the time, memory and disk space of a run, and what to change if it does not fit."""
    from deepergcn.training.cost.estimate import time_text
    from deepergcn.training.cost.sizes import memory_text
    from deepergcn.training.train import plan_cost

    cost = plan_cost(recipe, data=data, settings=settings or (), devices=devices)
    rows = [
        ("step", time_text(cost.step)),
        ("epoch", time_text(cost.epoch)),
        ("run", time_text(cost.run) + (" without its forests" if cost.forests else "")),
        ("memory", f"{memory_text(cost.memory)} of {memory_text(cost.available)}"),
        ("disk", memory_text(cost.disk)),
    ]
    if cost.segments:
        rows.append(("recomputed", f"{sum(cost.segments)} layers, in {len(cost.segments)} segments"))
    print_table(("what", "about"), rows, right=["about"])
    if machine:
        _on_paper(cost)
    say("it fits" if cost.fits else f"it does not fit: expected {cost.advice()}")


def _on_paper(cost: "Cost") -> None:
    """Extrapolate to larger graphs of the same degree: what grows with a graph grows with its edges."""
    from deepergcn.training.cost.estimate import time_text
    from deepergcn.training.cost.sizes import memory_text

    rows = []
    for edges in _LARGER:
        factor = edges / max(cost.whole.edges, 1)
        memory = cost.memory + (factor - 1) * cost.growing
        rows.append(
            (f"{edges:,}", f"{factor * cost.whole.nodes:,.0f}", time_text(factor * cost.epoch), memory_text(memory))
        )
    print_table(("edges", "nodes", "epoch", "memory"), rows, right=["edges", "nodes", "epoch", "memory"])
