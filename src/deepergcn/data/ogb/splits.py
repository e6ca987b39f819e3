"""The splits of OGB's layout: folders in ``split/``, or the columns of a table of folds.

``split/<kind>/`` holds ``train``, ``valid`` and ``test``, the numbers of items, one a row. ``folds/folds.csv.gz`` has a
row an item and a column a fold, 0 for train, 1 for valid and 2 for test; column k is the split ``fold-k``, unless a
folder has that name.
"""

import re
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from deepergcn.data.dataset import PARTS
from deepergcn.data.ogb.files import find_table, need_table
from deepergcn.data.ogb.numbers import read_numbers
from deepergcn.data.task import Level
from deepergcn.errors import InputError

FOLDS = "folds/folds"
_FOLD = re.compile(r"fold-(0|[1-9][0-9]{0,5})")


def split_files(folder: Path, kind: str | None) -> list[Path]:
    """The files that a split is read from."""
    if (table := _fold_table(folder, kind)) is not None:
        return [table]
    split = split_folder(folder, kind)
    return [need_table(split, part) for part in PARTS]


def read_split(folder: Path, kind: str | None, items: int, level: Level) -> dict[str, Tensor]:
    """The items of every part."""
    if (table := _fold_table(folder, kind)) is not None and kind is not None:
        return _of_fold(table, int(kind.removeprefix("fold-")), items, level)
    return _of_folder(split_folder(folder, kind), items, level)


def split_folder(folder: Path, kind: str | None) -> Path:
    """The folder of a split; the only one without ``kind``."""
    kinds = sorted(path.name for path in folder.glob("split/*") if path.is_dir())
    if kind is None and len(kinds) == 1:
        kind = kinds[0]
    if kind is None or kind not in kinds:
        found = f"split/ has {', '.join(kinds)}" if kinds else "has no folder in split/"
        raise InputError(f"{folder}: {found}; expected {kind or 'one folder there, or the name of one'}")
    return folder / "split" / kind


def _fold_table(folder: Path, kind: str | None) -> Path | None:
    """The table of folds, where the split is one of its columns."""
    if kind is None or not _FOLD.fullmatch(kind) or (folder / "split" / kind).is_dir():
        return None
    return find_table(folder, FOLDS)


def _of_fold(table: Path, fold: int, items: int, level: Level) -> dict[str, Tensor]:
    parts = read_numbers(table, np.int64, rows=items, why=f"one for each {level}")
    if fold >= parts.shape[1]:
        last = parts.shape[1] - 1
        raise InputError(f"{table}: has {last + 1} folds; expected a split from fold-0 to fold-{last}")
    column = parts[:, fold]
    wrong = np.flatnonzero((column < 0) | (column >= len(PARTS)))
    if len(wrong):
        raise InputError(
            f"{table}, row {wrong[0] + 1}, column {fold + 1}: has {column[wrong[0]]}; expected 0 (train), 1 (valid) or "
            "2 (test)"
        )
    split = {part: torch.from_numpy(np.flatnonzero(column == number)) for number, part in enumerate(PARTS)}
    for number, part in enumerate(PARTS):
        if not len(split[part]):
            raise InputError(f"{table}, column {fold + 1}: has no {number}; expected a {level} for {part}")
    return split


def _of_folder(folder: Path, items: int, level: Level) -> dict[str, Tensor]:
    owner = np.full(items, -1, dtype=np.int8)
    split = {}
    for number, part in enumerate(PARTS):
        path = need_table(folder, part)
        index = read_numbers(path, np.int64, columns=1)[:, 0]
        wrong = np.flatnonzero((index < 0) | (index >= items))
        if len(wrong):
            raise InputError(f"{path}, row {wrong[0] + 1}: names {level} {index[wrong[0]]}; expected 0 to {items - 1}")
        taken = np.flatnonzero(owner[index] >= 0)
        if len(taken):
            item = index[taken[0]]
            raise InputError(f"{path}, row {taken[0] + 1}: {level} {item} is in {PARTS[owner[item]]} too")
        owner[index] = number
        if int((owner == number).sum()) != len(index):
            row = int(np.setdiff1d(np.arange(len(index)), np.unique(index, return_index=True)[1])[0])
            raise InputError(f"{path}, row {row + 1}: {level} {index[row]} is listed twice")
        split[part] = torch.from_numpy(np.ascontiguousarray(index))
    return split
