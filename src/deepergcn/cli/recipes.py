"""``deepergcn recipes``: the experiments that come with the package."""

from typing import Annotated

import typer


def recipes(as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False) -> None:
    """List the recipes: task, layers, aggregator, trainable parameters and published score."""
    from deepergcn.training.listing import list_recipes

    entries = list_recipes()
    if as_json:
        import json
        from dataclasses import asdict

        typer.echo(json.dumps([asdict(entry) for entry in entries], indent=1))
        return

    from rich.console import Console
    from rich.table import Column, Table

    table = Table(Column("recipe", no_wrap=True), "task", "network", "layers", "aggregator", "parameters", "published")
    for entry in entries:
        table.add_row(
            entry.name,
            entry.task or "as the data",
            entry.network,
            str(entry.layers),
            entry.aggregator,
            "as the data" if entry.parameters is None else f"{entry.parameters:,}",
            "" if entry.published is None else f"{entry.published:.4f} ± {entry.deviation:.4f}",
        )
    Console().print(table)
    typer.echo("deepergcn train RECIPE trains one; deepergcn train trains solubility")
