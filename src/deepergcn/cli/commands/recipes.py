"""``deepergcn recipes``: the experiments that come with the package."""

from typing import Annotated

import typer

from deepergcn.cli.table import print_table
from deepergcn.cli.terminal import say


def recipes(as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False) -> None:
    """List the recipes: task, layers, aggregator, trainable parameters and published score."""
    from deepergcn.runs.recipes import list_recipes

    entries = list_recipes()
    if as_json:
        import json
        from dataclasses import asdict

        typer.echo(json.dumps([asdict(entry) for entry in entries], indent=1))
        return

    rows = (
        (
            entry.name,
            "as the data" if entry.task is None else entry.task.replace(",", ""),
            f"{entry.network}, {entry.layers} layers",
            entry.aggregator,
            "" if entry.parameters is None else f"{entry.parameters:,}",
            _score(entry.published, entry.deviation),
        )
        for entry in entries
    )
    print_table(("recipe", "task", "network", "aggregator", "parameters", "published"), rows, right=["parameters"])
    say("deepergcn train RECIPE trains one; deepergcn train trains solubility")


def _score(published: float | None, deviation: float | None) -> str:
    if published is None:
        return ""
    return f"{published:.4f}" if deviation is None else f"{published:.4f} ± {deviation:.4f}"
