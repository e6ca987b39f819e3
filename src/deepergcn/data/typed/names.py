"""The names of types of nodes and edges, as users write them: ``type.column`` and ``source,relation,target``."""

from collections.abc import Mapping, Sequence

from deepergcn.data.tables.columns import as_names
from deepergcn.data.tables.files import Table
from deepergcn.data.typed.dataset import EdgeType
from deepergcn.errors import InputError, listed, quote

NodeTables = Mapping[str, Table]
"""The table of every type of nodes."""
EdgeTables = Mapping[str, Table] | Mapping[EdgeType, Table]
"""The table of every type of edges, by ``"source,relation,target"`` or the three names as a tuple."""


def edge_key(edge_type: EdgeType) -> str:
    """The type of edges as one text."""
    return ",".join(edge_type)


def check_types(nodes: NodeTables, edges: EdgeTables) -> tuple[dict[str, Table], dict[EdgeType, Table]]:
    """The tables by type, after a check that every name is valid and every type of nodes has edges."""
    if not isinstance(nodes, Mapping) or not isinstance(edges, Mapping):
        raise InputError("nodes, edges: expected tables by type, such as {'user': 'users.csv'}")
    for name in nodes:
        _check_name(name, "node type")
    typed: dict[EdgeType, Table] = {}
    for key, table in edges.items():
        parts = tuple(key.split(",")) if isinstance(key, str) else key
        if not isinstance(parts, tuple) or len(parts) != 3 or not all(isinstance(part, str) for part in parts):
            raise InputError(f"edge type {quote(str(key))}: expected source type, relation and target type")
        edge_type = (parts[0].strip(), parts[1].strip(), parts[2].strip())
        for name in edge_type:
            _check_name(name, f"edge type {edge_key(edge_type)!r}")
        for name in (edge_type[0], edge_type[2]):
            if name not in nodes:
                raise InputError(
                    f"edge type {edge_key(edge_type)!r}: there are no nodes of the type {name!r}; "
                    f"the types are {listed([*nodes])}"
                )
        if edge_type in typed:
            raise InputError(f"edge type {edge_key(edge_type)!r}: has two tables; expected one")
        typed[edge_type] = table
    lonely = next((name for name in nodes if all(name not in (t[0], t[2]) for t in typed)), None)
    if lonely is not None:
        raise InputError(f"node type {lonely!r}: has no edges; expected a table of edges that names it")
    return dict(nodes), typed


def label_of(label: str | Sequence[str], types: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The type that is predicted, and the columns of its labels, from ``"type.column"``."""
    labels = as_names(label)
    if not labels:
        raise InputError("label: expected TYPE.COLUMN, the column to predict")
    found = [split_name(one, types, "label") for one in labels]
    others = sorted({name for name, _ in found})
    if len(others) > 1:
        raise InputError(
            f"label: {' and '.join(map(repr, others))} are different node types; expected labels of one type"
        )
    return found[0][0], tuple(column for _, column in found)


def split_name(name: str, types: Sequence[str], what: str) -> tuple[str, str]:
    """The type and the column of ``"type.column"``; a type may have dots itself, as long as only one type fits."""
    fitting = [one for one in types if name.startswith(f"{one}.") and len(name) > len(one) + 1]
    if len(fitting) == 1:
        return fitting[0], name[len(fitting[0]) + 1 :]
    if fitting:
        raise InputError(f"{what}: {quote(name)} may belong to the type {' or '.join(map(repr, fitting))}; rename one")
    raise InputError(f"{what}: {quote(name)} is not TYPE.COLUMN; the types are {listed([*types])}")


def named_columns(
    options: Mapping[str, str | Sequence[str]], types: Sequence[str]
) -> dict[str, dict[str, tuple[str, ...]]]:
    """For every type the columns that each option names, as ``"type.column"``."""
    found: dict[str, dict[str, tuple[str, ...]]] = {one: dict.fromkeys(options, ()) for one in types}
    for option, names in options.items():
        for name in as_names(names):
            one, column = split_name(name, types, option)
            found[one][option] += (column,)
            if sum(column in columns for columns in found[one].values()) > 1:
                raise InputError(
                    f"{option}: {quote(name)} is named as {' and '.join(options)}; expected one of the two"
                )
    return found


def _check_name(name: object, what: str) -> None:
    sound = isinstance(name, str) and name == name.strip() and name.isprintable() and not {",", "="} & {*name}
    if not sound or not name:
        raise InputError(
            f"{what}: the name {quote(str(name))} cannot be used; expected text without commas, equals signs or "
            "surrounding blanks"
        )
