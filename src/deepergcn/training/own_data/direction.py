"""What a table of edges says itself of their direction, as exports of Gephi do."""

from collections.abc import Sequence

from deepergcn.data.tables.columns import Columns
from deepergcn.errors import InputError
from deepergcn.runs.data_report import Column

_NAMES = ("type", "direction", "directed")


def check_direction(edges: Columns, directed: bool, said: Sequence[str] = ()) -> list[Column]:
    """The columns to leave out because they only state the direction of the edges; a contradiction is an error.

    Args:
        edges: The table of edges.
        directed: Whether edges go from source to target only.
        said: Columns that the user has declared to be features or not.
    """
    found = []
    for name in edges.names:
        if name.lower() not in _NAMES or name in said or not edges.is_text_type(name):
            continue
        cells = {(cell or "").lower() for cell in edges.text(name).unique().to_pylist()}
        if not cells or not cells <= {"directed", "undirected"}:
            continue
        other = "undirected" if directed else "directed"
        if other in cells:
            some = "some edges" if len(cells) > 1 else "edges"
            how = "without" if directed else "with"
            raise InputError(
                f"{edges.path}: {some} are {other}, according to the column {name!r}; run {how} --directed, which "
                f"applies to all edges, or use --drop {name} to leave the column out"
            )
        found.append(Column(name=name, text="states the direction of the edges"))
    return found
