"""Arguments that several commands share."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from deepergcn.cli.typed_tables import Tables, required_tables
from deepergcn.errors import InputError

if TYPE_CHECKING:
    from deepergcn.data.tables.features import Unseen

RecipeArgument = Annotated[
    str | None, typer.Argument(metavar="RECIPE", help="Name or YAML file of a recipe. Default: solubility.")
]
DataOption = Annotated[str | None, typer.Option("--data", help="Dataset to use instead of the recipe's: name or path.")]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting, e.g. model.num_layers=14; may be repeated."),
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory, or its model.safetensors alone.")]
InputArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="INPUT",
        help="File of molecules (CSV, TSV, Parquet, XLSX, SDF, SMI), table of nodes or pairs, folder, or dataset name.",
    ),
]
NodesOption = Annotated[
    list[str] | None,
    typer.Option("--nodes", metavar="FILE", help="Table of nodes, for links; or TYPE=FILE for each node type."),
]
EdgesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--edges",
        metavar="FILE",
        help="Table of edges, for nodes or links; or SOURCE,RELATION,TARGET=FILE for each edge type.",
    ),
]
NodeFeaturesOption = Annotated[
    str | None,
    typer.Option(
        "--node-features", metavar="FILE", help="Sparse features of the nodes, if the network was trained with them."
    ),
]
SmilesColumnOption = Annotated[
    str | None, typer.Option("--smiles-column", metavar="COLUMN", help="Column of SMILES. Default: as in training.")
]
DelimiterOption = Annotated[
    str | None, typer.Option("--delimiter", help="Delimiter between the cells of the file. Default: as in training.")
]
IdColumnOption = Annotated[
    str | None,
    typer.Option(
        "--id-column", metavar="COLUMN", help="Column of the molecules' ids. Default: the molecules themselves."
    ),
]
UnseenOption = Annotated[
    str,
    typer.Option(
        "--unseen", help="What to do with categories not seen in training: error, or other (none of the known ones)."
    ),
]


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path]) -> None:
    """Check that no output file is also an input of the same command, or a file of a run directory.

    Args:
        outputs: The files to write; None where one is not wanted.
        inputs: The files to read.
    """
    from deepergcn.runs.run import FILES

    wanted = [output for output in outputs if output is not None]
    read = {os.path.realpath(path) for path in inputs}
    for output in wanted:
        if os.path.realpath(output) in read:
            raise InputError(f"{output}: is an input of this command; expected another file to write to")
        if output.name in FILES and (output.parent / "run.json").is_file():
            raise InputError(f"{output}: belongs to the run in {output.parent}; expected another name or folder")
    if len({os.path.realpath(output) for output in wanted}) < len(wanted):
        raise InputError(f"{wanted[-1]}: is named for two outputs; expected a different file for each")


def unseen_choice(text: str) -> "Unseen":
    """The value of ``--unseen``."""
    if text not in ("error", "other"):
        raise InputError(f"--unseen is {text!r}; expected error or other")
    return "other" if text == "other" else "error"


class Reading(TypedDict):
    """The arguments of :meth:`Predictor.predict` and ``embed`` for reading the input."""

    data: str | dict[str, str]
    edges: Tables
    nodes: str | None
    smiles_column: str | None
    id_column: str | None
    delimiter: str | None
    unseen: "Unseen"
    skipped_file: Path | None
    node_features: str | None


@dataclass(frozen=True)
class ReadingOptions:
    """How ``predict`` and ``embed`` read INPUT, and the tables that belong to it."""

    nodes: NodesOption = None
    edges: EdgesOption = None
    node_features: NodeFeaturesOption = None
    smiles_column: SmilesColumnOption = None
    id_column: IdColumnOption = None
    delimiter: DelimiterOption = None
    unseen: UnseenOption = "error"
    skipped: Annotated[
        Path | None, typer.Option("--skipped", help="CSV file to write the rows that cannot be read to, with reasons.")
    ] = None

    def arguments(self, data: str | None) -> Reading:
        """The arguments for reading ``data`` with these options."""
        given, edges, nodes = required_tables(data, self.nodes, self.edges)
        return {
            "data": given,
            "edges": edges,
            "nodes": nodes,
            "smiles_column": self.smiles_column,
            "id_column": self.id_column,
            "delimiter": self.delimiter,
            "unseen": unseen_choice(self.unseen),
            "skipped_file": self.skipped,
            "node_features": self.node_features,
        }
