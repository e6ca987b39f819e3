"""``deepergcn card``: a model card beside the weights, ready to upload."""

from pathlib import Path
from typing import Annotated

import typer

from deepergcn.cli.terminal import say


def card(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A finished run directory.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="New folder for the card and a copy of the model. Default: the run directory."),
    ] = None,
    licence: Annotated[
        str | None, typer.Option("--license", help="Licence of the weights, such as mit or cc-by-4.0.")
    ] = None,
    intended_use: Annotated[str | None, typer.Option("--intended-use", help="What the model is for.")] = None,
) -> None:
    """Write a model card (README.md with Hugging Face front matter) for a finished run."""
    from deepergcn.report.card import write_card
    from deepergcn.runs.run import Run

    say(str(write_card(Run.open(run), out, licence=licence, intended_use=intended_use)))
