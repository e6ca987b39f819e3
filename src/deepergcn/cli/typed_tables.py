"""Tables of several types on the command line: ``--nodes TYPE=FILE`` and ``--edges SOURCE,RELATION,TARGET=FILE``."""

from collections.abc import Sequence
from pathlib import Path

from deepergcn.errors import InputError, quote

Tables = str | dict[str, str] | None
"""A file, files by type, or none."""

_FORMS = {"--nodes": "TYPE=FILE", "--edges": "SOURCE,RELATION,TARGET=FILE"}


def node_and_edge_tables(nodes: Sequence[str] | None, edges: Sequence[str] | None) -> tuple[Tables, Tables]:
    """The tables of nodes and of edges, both plain files or both by type."""
    found = {"--nodes": _tables("--nodes", nodes), "--edges": _tables("--edges", edges)}
    for flag, other in (("--nodes", "--edges"), ("--edges", "--nodes")):
        if isinstance(found[flag], dict) and not isinstance(found[other], dict):
            raise InputError(f"{flag}: gives a file for each type; expected {other} {_FORMS[other]} too")
    return found["--nodes"], found["--edges"]


def _tables(flag: str, values: Sequence[str] | None) -> Tables:
    """One file, or the files by type; a name with an equals sign is a file only if such a file exists."""
    if not values:
        return None
    if len(values) == 1 and ("=" not in values[0] or Path(values[0]).exists()):
        return values[0]
    tables: dict[str, str] = {}
    for value in values:
        name, equals, path = (part.strip() for part in value.partition("="))
        if not (name and equals and path):
            raise InputError(f"{flag} is {quote(value)}; expected {_FORMS[flag]} for each of several tables")
        if name in tables:
            raise InputError(f"{flag}: the type {name!r} is named twice; expected one file for each type")
        tables[name] = path
    return tables


def input_tables(
    data: str | None, nodes: Sequence[str] | None, edges: Sequence[str] | None
) -> tuple[Tables, Tables, str | None]:
    """The input of a command: a file, folder or name, or tables by type; its edges; and the nodes of links."""
    given, edge_tables = node_and_edge_tables(nodes, edges)
    if isinstance(given, dict):
        if data is not None:
            raise InputError(f"--nodes TYPE=FILE: cannot be combined with {quote(data)}; expected one of the two")
        return given, edge_tables, None
    return data, edge_tables, given


def required_tables(
    data: str | None, nodes: Sequence[str] | None, edges: Sequence[str] | None
) -> tuple[str | dict[str, str], Tables, str | None]:
    """As :func:`input_tables`, but an input is required."""
    given, edge_tables, its_nodes = input_tables(data, nodes, edges)
    if given is None:
        raise InputError(
            "INPUT is missing; expected a file, folder or dataset name, or --nodes TYPE=FILE for each node type"
        )
    return given, edge_tables, its_nodes


def table_paths(*tables: Tables) -> list[Path]:
    """The files of these tables, including those in a folder; the name of a dataset is treated as a file."""
    named = [name for one in tables if one is not None for name in (one.values() if isinstance(one, dict) else (one,))]
    paths = [Path(name) for name in named]
    inside = (sorted(file for file in path.iterdir() if file.is_file()) for path in paths if path.is_dir())
    return [*(path for path in paths if not path.is_dir()), *(file for files in inside for file in files)]
