"""The result of :func:`deepergcn.train`: a finished run and its network."""

import shutil
import weakref
from pathlib import Path

from deepergcn.data.storage.files import make_folder
from deepergcn.errors import InputError
from deepergcn.inference.predictor import Predictor
from deepergcn.inference.trained import load_trained
from deepergcn.runs.data_report import DataReport
from deepergcn.runs.run import Run, Summary


class Trained(Predictor):
    """The network of a run at its best epoch, and the run directory.

    It predicts and embeds like the result of :func:`deepergcn.load` on that directory.

    Attributes:
        run: The run, with its metrics, scores and recipe.
        report: The data report; None for data other than the user's own.

    Args:
        run: The run.
        temporary: The temporary folder of the run, removed with this object.
    """

    def __init__(self, run: Run, temporary: Path | None = None) -> None:
        super().__init__(*load_trained(run.path))
        self.run = run
        self.report: DataReport | None = run.data_report()
        if temporary is not None:
            weakref.finalize(self, shutil.rmtree, temporary, ignore_errors=True)

    @property
    def path(self) -> Path:
        """The run directory, to use on the command line."""
        return self.run.path

    def summary(self) -> Summary:
        """The scores of the best epoch."""
        found = self.run.summary()
        assert found is not None  # it has ended
        return found

    def save(self, folder: str | Path) -> "Trained":
        """Copy the run to a new directory, and return the network there."""
        if not self.path.is_dir():
            raise InputError(f"{self.path}: the run directory no longer exists")

        def copy(part: Path) -> Path:
            shutil.copytree(self.path, part, dirs_exist_ok=True)
            return part

        make_folder(Path(folder), copy)
        return Trained(Run.open(folder))

    def __repr__(self) -> str:
        """The recipe, the score and the place."""
        found = self.summary()
        score = "no test score" if found.test_score is None else f"test {found.metric} {found.test_score:.4f}"
        return f"Trained({found.recipe}, {score}, epoch {found.best_epoch}, {self.path})"
