"""Which columns of a user's table say the split, and which are features."""

import logging
from collections.abc import Sequence

from deepergcn.data.split import part_names
from deepergcn.data.tables.columns import Columns, errors_in
from deepergcn.data.tables.features import MOST_CATEGORIES
from deepergcn.errors import InputError

_SPLIT_COLUMN = "split"  # in any capitals

_log = logging.getLogger(__name__)


def own_split(table: Columns, labels: Sequence[str]) -> str:
    """The column "split" of a table, or ``"random"`` where it has none; other values than parts are an error."""
    columns = [name for name in table.names if name.strip().lower() == _SPLIT_COLUMN and name not in labels]
    if not columns:
        return "random"
    if len(columns) > 1:
        found = ", ".join(map(repr, columns))
        raise InputError(f"{table.path}: has the columns {found}; expected one split column, or --split")
    try:
        with errors_in(table.path):
            part_names(table.text(columns[0]).to_pylist(), columns[0])
    except InputError as error:
        raise InputError(f"{error}; --split random splits at random instead") from error
    _log.warning("%s: column %r says train, valid or test, and is the split", table.path, columns[0])
    return columns[0]


def split_columns(table: Columns) -> list[str]:
    """The columns that say train, valid or test: they are no features, even where another split is wanted."""
    return [name for name in table.names if name.strip().lower() == _SPLIT_COLUMN and _are_parts(table, name)]


def _are_parts(table: Columns, column: str) -> bool:
    try:
        return bool(part_names(table.text(column).to_pylist()))
    except InputError:
        return False


def usable_features(table: Columns, taken: set[str]) -> list[str]:
    usable = []
    for name in table.names:
        if name in taken:
            continue
        if table.is_numeric(name):
            usable.append(name)
            continue
        values = len(table.text(name).drop_null().unique())
        if 0 < values <= MOST_CATEGORIES:
            usable.append(name)
        else:
            _log.warning(
                "%s: column %r is left out of the features: it has %d different texts; expected numbers or 1 to %d",
                table.path,
                name,
                values,
                MOST_CATEGORIES,
            )
    return usable
