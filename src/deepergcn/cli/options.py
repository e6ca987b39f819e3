"""Arguments that several commands share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deepergcn.errors import InputError

if TYPE_CHECKING:
    from deepergcn.data.tables.features import Unseen

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory, or its model.safetensors alone.")]
InputArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="INPUT",
        help="A file of molecules (CSV, TSV, parquet, SDF, SMI), a table of nodes, or a folder or dataset's name.",
    ),
]
NodesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--nodes", metavar="FILE", help="Table of nodes that belongs to links; or TYPE=FILE for each of several types."
    ),
]
EdgesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--edges",
        metavar="FILE",
        help="Table of edges that belongs to nodes or links; SOURCE,RELATION,TARGET=FILE for each of several types.",
    ),
]
SmilesColumnOption = Annotated[
    str | None, typer.Option("--smiles-column", help="Column of SMILES. Default: that of training.")
]
IdColumnOption = Annotated[
    str | None, typer.Option("--id-column", help="Column of ids of the molecules. Default: the molecules themselves.")
]
DelimiterOption = Annotated[
    str | None, typer.Option("--delimiter", help="What is between the cells of INPUT. Default: as in training.")
]
UnseenOption = Annotated[
    str, typer.Option("--unseen", help="A category that training has not seen: error, or other (none of them).")
]
SkippedOption = Annotated[
    Path | None, typer.Option("--skipped", help="CSV file to list the rows that cannot be read, with the reason.")
]


def unseen_choice(text: str) -> "Unseen":
    """The value of ``--unseen``."""
    if text not in ("error", "other"):
        raise InputError(f"--unseen is {text!r}; expected error or other")
    return "other" if text == "other" else "error"
