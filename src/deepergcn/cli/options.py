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
EdgesOption = Annotated[Path | None, typer.Option("--edges", help="The table of edges that goes with one of nodes.")]
SmilesColumnOption = Annotated[
    str | None, typer.Option("--smiles-column", help="The column of SMILES, if not that of training.")
]
IdColumnOption = Annotated[
    str | None, typer.Option("--id-column", help="The column of ids for molecules, if not the molecules themselves.")
]
SkippedOption = Annotated[
    Path | None, typer.Option("--skipped", help="List the rows that cannot be read, with the reason, in this CSV file.")
]
