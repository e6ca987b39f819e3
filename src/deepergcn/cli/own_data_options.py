"""The options of ``deepergcn train`` for a user's own data: declared here, checked here, handed to the reader.

A new option is a field of :class:`OwnDataOptions`, an entry in the groups below it, and an argument of the reader.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepergcn.errors import InputError

if TYPE_CHECKING:
    from deepergcn.training.own_data import OwnData

Text = str | None
Texts = list[str] | None


def _option(flag: str, help_text: str, metavar: str | None = None) -> Any:
    return typer.Option(flag, help=help_text, metavar=metavar, rich_help_panel="Your own data")


@dataclass(frozen=True)
class OwnDataOptions:
    """What a user says about files of their own; the options of one kind of data are refused for another."""

    nodes: Annotated[Text, _option("--nodes", "Own table of nodes.", "FILE")] = None
    edges: Annotated[Text, _option("--edges", "Own table of edges, to go with --nodes or --links.", "FILE")] = None
    links: Annotated[Text, _option("--links", "Own table of links to learn: source, target.", "FILE")] = None
    label: Annotated[Texts, _option("--label", "The column of --nodes to learn.")] = None
    molecules: Annotated[Text, _option("--molecules", "Own file of molecules: CSV, parquet, SDF.", "FILE")] = None
    smiles_column: Annotated[Text, _option("--smiles-column", "The column of SMILES.")] = None
    target: Annotated[Texts, _option("--target", "The column of --molecules to learn.")] = None
    id_column: Annotated[Text, _option("--id-column", "The column of ids.")] = None
    split: Annotated[
        Text, _option("--split", "A column that says train, valid or test; random; or scaffold, for molecules.")
    ] = None
    strict: Annotated[bool, _option("--strict", "A molecule that cannot be read is an error.")] = False
    directed: Annotated[bool, _option("--directed", "--edges go from source to target only.")] = False

    def given(self, *names: str) -> str | None:
        """The flag of the first of these options that was given, if one was."""
        return next((_flag(name) for name in names if getattr(self, name)), None)


_FOR_MOLECULES = ("smiles_column", "target", "strict")
_FOR_TABLES = ("label", "directed")
_FOR_BOTH = ("id_column", "split")


def read_own_data(options: OwnDataOptions) -> "tuple[str, OwnData] | None":
    """The recipe for the files that the options name, and what was found in them; None where they name none."""
    if options.molecules is not None:
        _refuse(options, ("nodes", "edges", "links", *_FOR_TABLES), "does not go with --molecules")
        return "own-molecules", _molecules(options, options.molecules)
    if options.links is not None:
        _refuse(options, (*_FOR_MOLECULES, "label"), "does not go with --links")
        return "own-links", _links(options, options.links)
    if options.nodes is not None or options.edges is not None:
        _refuse(options, _FOR_MOLECULES, "does not go with --nodes and --edges")
        return "own-tables", _tables(options)
    _refuse(
        options,
        (*_FOR_MOLECULES, *_FOR_TABLES, *_FOR_BOTH),
        "expected --molecules, --links, or --nodes and --edges, with it",
    )
    return None


def _molecules(options: OwnDataOptions, path: str) -> "OwnData":
    if not options.target:
        raise InputError("--molecules: expected --target with the column to learn")
    from deepergcn.cli.progress import molecule_bar
    from deepergcn.training.own_data import own_molecules

    with molecule_bar() as progress:
        return own_molecules(
            path,
            targets=options.target,
            smiles_column=options.smiles_column,
            id_column=options.id_column,
            split=options.split,
            strict=options.strict,
            progress=progress,
        )


def _tables(options: OwnDataOptions) -> "OwnData":
    if options.nodes is None or not options.label:
        raise InputError("--edges: expected --nodes with the table of nodes, and --label with its column to learn")
    from deepergcn.training.own_data import own_tables

    return own_tables(
        options.nodes,
        options.edges,
        label=options.label,
        id_column=options.id_column or "id",
        split=options.split,
        directed=options.directed,
    )


def _links(options: OwnDataOptions, path: str) -> "OwnData":
    from deepergcn.training.own_data import own_links

    return own_links(
        path,
        options.nodes,
        options.edges,
        id_column=options.id_column or "id",
        split=options.split,
        directed=options.directed,
    )


def _refuse(options: OwnDataOptions, names: tuple[str, ...], why: str) -> None:
    if flag := options.given(*names):
        raise InputError(f"{flag}: {why}")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
