"""``deepergcn convert``: make a checkpoint of the authors' code a model for ``evaluate`` and ``predict``."""

from pathlib import Path
from typing import Annotated

import typer


def convert(
    checkpoint: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="A .pth file written by deep_gcns_torch.")],
    recipe: Annotated[str, typer.Option("--recipe", help="Recipe of the network: name or YAML file.")],
    out: Annotated[Path, typer.Option("--out", help="A .safetensors file or a run directory to create.")],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the recipe; may be repeated."),
    ] = None,
) -> None:
    """Convert a checkpoint of the paper's authors, to evaluate it or to predict with it."""
    from deepergcn.runs.model.convert import convert as convert_checkpoint

    file, info = convert_checkpoint(checkpoint, recipe, out, settings or ())
    typer.echo(f"{file}: {info.parameters:,} parameters, for {info.dataset}")
    typer.echo(f"next deepergcn evaluate {out}")
