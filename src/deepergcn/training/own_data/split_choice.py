"""Where the split of a user's table comes from: an option, its own columns, or a random draw."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deepergcn.data.dataset import PARTS
from deepergcn.data.split import is_truth, mask_part, part_of
from deepergcn.data.tables.columns import Columns, as_names
from deepergcn.data.tables.parts import named_parts
from deepergcn.data.task import Kind
from deepergcn.errors import InputError
from deepergcn.training.own_data.choices import Choices

_SPLIT_COLUMN = "split"  # in any capitals


@dataclass(frozen=True)
class SplitChoice:
    """A split: the options of the reader that make it, and where it comes from."""

    options: dict[str, Any]
    source: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that give the split; empty if none does."""
        return as_names(self.options.get("split_column", ()))


def choose_split(
    table: Columns, labels: Sequence[str], choices: Choices, kind: Kind, known: Sequence[str]
) -> SplitChoice:
    """The split that was chosen, else that of the table's columns, else a random one, stratified for classes.

    Args:
        table: The table.
        labels: Its label columns.
        choices: What the user has chosen.
        kind: The kind of the task.
        known: The splits that need no column.
    """
    said = choices.split
    if said == "scaffold" and choices.seed is not None:
        raise InputError("--split-seed: cannot be combined with a scaffold split, which is not random")
    if choices.folds is not None:
        return _folds(table, said, choices, kind, known)
    if said is not None and said not in known:
        columns = [said] if said in table.names else [part.strip() for part in said.split(",") if part.strip()]
        return _by_columns(table, columns, "as given", choices)
    if said is None:
        columns = own_split(table, labels)
        if columns:
            return _by_columns(table, columns, "change it with --split", choices)
        _check_other_names(table, labels)
    split = said or ("stratified" if kind in ("binary", "multi-class") else "random")
    seed = "" if split == "scaffold" else f" with seed {choices.seed or 0}"
    return SplitChoice({"split": split}, f"{split}{seed} ({'as given' if said else 'there is no split column'})")


def split_columns(table: Columns) -> list[str]:
    """The columns that give a split: they are not features, even if another split is chosen."""
    return [
        name
        for name in table.names
        if name.lower() == _SPLIT_COLUMN or _is_mask(table, name) or _holds_parts(table, name)
    ]


def own_split(table: Columns, labels: Sequence[str] = ()) -> list[str]:
    """The column with the split, or the columns with its masks; empty if there are none."""
    found = [name for name in table.names if name.lower() == _SPLIT_COLUMN and name not in labels]
    masks = [name for name in table.names if name not in labels and _is_mask(table, name)]
    if len(found) > 1 or (found and masks):
        names = ", ".join(map(repr, found + masks))
        raise InputError(f"{table.path}: has the columns {names}; expected one split column, or --split")
    if found or masks:
        _parts(table, found or masks)
    return found or masks


def _folds(table: Columns, said: str | None, choices: Choices, kind: Kind, known: Sequence[str]) -> SplitChoice:
    """The first fold of a cross-validation."""
    if said is not None and said not in known:
        raise InputError(f"--split is {said!r}; expected {' or '.join(known)} with --folds")
    split = said or ("stratified" if kind in ("binary", "multi-class") else "random")
    seed = "" if split == "scaffold" else f" with seed {choices.seed or 0}"
    unused = [name for name in own_split(table) if said is None]
    why = f"the column {unused[0]!r} is not used" if unused else "as given" if said else "change it with --split"
    source = f"{choices.folds} folds, {split}{seed} ({why}), each the test part once; in the first fold"
    return SplitChoice({"split": split, "fold": [0, choices.folds]}, source)


def _by_columns(table: Columns, columns: Sequence[str], why: str, choices: Choices) -> SplitChoice:
    drawn = "valid" not in _parts(table, columns)
    name = columns[0] if len(columns) == 1 else list(columns)
    shown = f"column {name!r}" if len(columns) == 1 else f"masks {', '.join(columns)}"
    unused = "--split-seed" if choices.seed is not None else "--split-fractions" if choices.fractions else None
    if unused is not None and not drawn:
        raise InputError(f"{unused}: has no effect, since the {shown} gives every part; --split random draws them")
    added = f", and valid drawn from train with seed {choices.seed or 0}" if drawn else ""
    return SplitChoice({"split_column": name}, f"{shown}{added} ({why})")


def _parts(table: Columns, columns: Sequence[str]) -> list[str | None]:
    try:
        return named_parts(table, columns)
    except InputError as error:
        raise InputError(f"{error}; --split random splits at random instead") from error


def _check_other_names(table: Columns, labels: Sequence[str]) -> None:
    """Check that no column holds parts under another name than those of splits and masks."""
    bare = [name for name in table.names if name not in labels and part_of(name) and _says_truth(table, name)]
    if len(bare) > 1:
        raise InputError(
            f"{table.path}: the columns {', '.join(map(repr, bare))} may be masks; rename them "
            f"({', '.join(f'{name}_mask' for name in bare)}), or use --split random"
        )
    for name in table.names:
        if name not in labels and _holds_parts(table, name):
            raise InputError(
                f"{table.path}: the column {name!r} has names of parts, such as {', '.join(PARTS)}; say whether "
                f"it is the split (--split {name!r}) or not (--split random)"
            )


def _is_mask(table: Columns, name: str) -> bool:
    if mask_part(name) is None:
        return False
    return "mask" in name.lower() or _says_truth(table, name)


def _says_truth(table: Columns, name: str) -> bool:
    return all(map(is_truth, table.text(name).unique().to_pylist()))


def _holds_parts(table: Columns, name: str) -> bool:
    """Whether every cell is the name of a part, and not all of the same."""
    if name.lower() == _SPLIT_COLUMN or mask_part(name) is not None or not table.is_text_type(name):
        return False
    found = {part_of(cell) for cell in table.text(name).unique().to_pylist() if cell is not None}
    return None not in found and len(found) > 1 and "train" in found
