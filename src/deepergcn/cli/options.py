"""Arguments that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory, or its model.safetensors alone.")]
InputArgument = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        help="A file of molecules (CSV, parquet, SDF), a table of nodes, or a folder or dataset's name.",
    ),
]
EdgesOption = Annotated[Path | None, typer.Option("--edges", help="Table of edges that belongs to a table of nodes.")]
SmilesColumnOption = Annotated[
    str | None, typer.Option("--smiles-column", help="Column of SMILES. Default: that of training.")
]
IdColumnOption = Annotated[
    str | None, typer.Option("--id-column", help="Column of ids of the molecules. Default: the molecules themselves.")
]
SkippedOption = Annotated[
    Path | None, typer.Option("--skipped", help="CSV file to list the rows that cannot be read, with the reason.")
]
