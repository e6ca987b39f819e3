"""What :func:`deepergcn.train` returns: a run that has ended, and its network."""

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

    It predicts and embeds as :func:`deepergcn.load` of that directory does.

    Attributes:
        run: The run directory: metrics, scores, recipe.
        report: What was found in the data, and why it was read so; None where the data is no file of the user's own.

    Args:
        run: The run.
        temporary: The temporary folder that holds it, removed with this object.
    """

    def __init__(self, run: Run, temporary: Path | None = None) -> None:
        super().__init__(*load_trained(run.path))
        self.run = run
        self.report: DataReport | None = run.data_report()
        if temporary is not None:
            weakref.finalize(self, shutil.rmtree, temporary, ignore_errors=True)

    @property
    def path(self) -> Path:
        """The run directory, which the commands of the program take."""
        return self.run.path

    def summary(self) -> Summary:
        """The scores of the best epoch."""
        found = self.run.summary()
        assert found is not None  # it has ended
        return found

    def save(self, folder: str | Path) -> "Trained":
        """Copy the run to another directory, which is new, and return the network there."""
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
