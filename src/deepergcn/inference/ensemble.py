"""Several seeds or folds of one recipe as one predictor: the mean of their predictions, and how far they differ."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from pydantic import BaseModel

from deepergcn.errors import InputError, listed
from deepergcn.inference.inputs import Input, Rows
from deepergcn.inference.predictions import Predictions
from deepergcn.inference.predictor import Predictor
from deepergcn.recipes.schema import Recipe
from deepergcn.runs.folders import FOLDS, SEEDS, fold_folder, member_folders, seed_folder, seed_folders
from deepergcn.runs.model.network import AnyNetwork
from deepergcn.runs.run import read_json

_log = logging.getLogger(__name__)


class _Planned(BaseModel):
    """The seeds or folds that a folder was started with."""

    seeds: tuple[int, ...] = ()
    folds: int = 0


class Ensemble(Predictor):
    """The networks of a folder of seeds or folds, as ``deepergcn train --runs N`` or ``--folds K`` leaves it.

    Only :meth:`predict` takes all of them together; what belongs to a single network is an error that names one.

    Args:
        folder: the folder.
        members: the networks, of one recipe, at least two.
    """

    def __init__(self, folder: Path, members: Sequence[Predictor]) -> None:
        if len(members) < 2:
            raise InputError(f"{folder}: has {len(members)} trained {_what(folder)}; expected at least 2 to average")
        first = members[0]
        for member in members[1:]:
            if _without_fold(member.recipe) != _without_fold(first.recipe) or member.info.digest != first.info.digest:
                raise InputError(f"{folder}: has {_what(folder)} of different recipes or data; expected one of them")
        self.folder, self.members = folder, tuple(members)
        self.recipe, self.info, self.task, self.epoch = first.recipe, first.info, first.task, first.epoch

    def predict(self, data: Input, *arguments: Any, **options: Any) -> Predictions:
        """The mean of the members' predictions, with the standard deviation between them.

        The arguments are those of :meth:`Predictor.predict`.
        """
        if self.task.level != "link":
            return super().predict(data, *arguments, **options)
        first, *others = self.members
        quiet = options | {"skipped_file": None, "progress": None}
        found = [member.predict(data, *arguments, **quiet) for member in others]
        return _mean([first.predict(data, *arguments, **options), *found])

    def predict_rows(self, rows: Rows) -> Predictions:
        """The same for rows that have been read, which all members share."""
        return _mean([member.predict_rows(rows) for member in self.members])

    @property
    def network(self) -> AnyNetwork:  # type: ignore[override]
        self._refuse()

    @property
    def calibration(self) -> NoReturn:  # type: ignore[override]
        self._refuse()

    @property
    def blend(self) -> NoReturn:  # type: ignore[override]
        self._refuse()

    @property
    def own_run(self) -> NoReturn:  # type: ignore[override]
        self._refuse()

    def embed(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse()

    def embed_rows(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse()

    def rows(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse()

    def evaluate(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse()

    def evaluate_all(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse()

    def evaluate_file(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        one = next(iter(member_folders(self.folder).values()))
        raise InputError(
            f"{self.folder}: has several {_what(self.folder)}, which only predict combines; expected one of them, "
            f"such as {one}"
        )


def warn_of_absent(folder: Path, trained: Sequence[Path]) -> None:
    """Log a warning if seeds or folds that the folder was started with have no network yet."""
    files = [folder / name for name in (SEEDS, FOLDS) if (folder / name).is_file()]
    for planned in (read_json(file, _Planned) for file in files):
        all_of_them = [
            *(seed_folder(folder, number) for number in planned.seeds),
            *(fold_folder(folder, number) for number in range(planned.folds)),
        ]
        absent = [path.name for path in all_of_them if path not in trained]
        if absent:
            _log.warning(
                "%s: %s %s not been trained; predictions are means of the other %d",
                *(folder, listed(absent), "has" if len(absent) == 1 else "have", len(trained)),
            )


def _what(folder: Path) -> str:
    return "seeds" if seed_folders(folder) else "folds"


def _without_fold(recipe: Recipe) -> Recipe:
    """The recipe without the number of its fold, in which alone those of a cross-validation differ."""
    options = {name: value for name, value in recipe.data.options.items() if name != "fold"}
    return recipe.model_copy(update={"data": recipe.data.model_copy(update={"options": options})})


def _mean(found: Sequence[Predictions]) -> Predictions:
    values = np.stack([one.values for one in found])
    parts = dict.fromkeys(one.made_of for one in found)
    made_of = next(iter(parts)) if len(parts) == 1 else f"means of {len(found)} blends of network and forest"
    return replace(found[0], values=values.mean(0), deviations=values.std(0, ddof=1), made_of=made_of)
