"""``deepergcn recipes``: the experiments that come with the package."""

from typing import TYPE_CHECKING, Annotated

import typer

from deepergcn.cli.table import print_table
from deepergcn.cli.terminal import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepergcn.recipes.keys import Key
    from deepergcn.runs.recipes import RecipeEntry


def recipes(
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
    keys: Annotated[
        str | None,
        typer.Option(
            metavar="SECTION", help="Explain the keys of a section, e.g. training or training.average; or all."
        ),
    ] = None,
) -> None:
    """List the recipes with task, layers, aggregator, parameters and published score, or explain their keys."""
    if keys is not None:
        _print_keys("" if keys == "all" else keys, as_json)
        return
    from deepergcn.runs.recipes import list_recipes

    entries = list_recipes()
    if as_json:
        _print_json(entries)
        return

    rows = (
        (
            entry.name,
            "from the data" if entry.task is None else entry.task.replace(",", ""),
            f"{entry.network}, {entry.layers} layers",
            entry.aggregator,
            "" if entry.parameters is None else f"{entry.parameters:,}",
            _score(entry.published, entry.deviation),
        )
        for entry in entries
    )
    print_table(("recipe", "task", "network", "aggregator", "parameters", "published"), rows, right=["parameters"])
    say("to train one: deepergcn train RECIPE; without a name, solubility is trained")


def _print_json(entries: "Sequence[RecipeEntry] | Sequence[Key]") -> None:
    import json
    from dataclasses import asdict

    typer.echo(json.dumps([asdict(entry) for entry in entries], indent=1))


def _print_keys(beginning: str, as_json: bool) -> None:
    from deepergcn.recipes.keys import recipe_keys

    found = recipe_keys(beginning)
    if as_json:
        _print_json(found)
        return
    rows = ((f"{key.section}.{key.name}", key.meaning, key.default) for key in found)
    print_table(("key", "meaning", "default"), rows)
    say("to change one: deepergcn train RECIPE --set KEY=VALUE")


def _score(published: float | None, deviation: float | None) -> str:
    if published is None:
        return ""
    return f"{published:.4f}" if deviation is None else f"{published:.4f} ± {deviation:.4f}"
