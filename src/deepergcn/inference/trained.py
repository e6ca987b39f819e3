"""What a trained network is read from: its run directory, or its model file alone."""

import logging
from dataclasses import replace
from pathlib import Path

from deepergcn.errors import InputError
from deepergcn.runs.environment import environment, warn_of_changes
from deepergcn.runs.model.model_file import TrainedModel, load_model
from deepergcn.runs.own_files import holds_data
from deepergcn.runs.run import Run

_log = logging.getLogger(__name__)


def load_trained(run: Path) -> tuple[TrainedModel, bool]:
    """The trained model, and whether it was loaded from its run directory.

    Args:
        run: A run directory, a folder with ``model.safetensors``, or that file.
    """
    path, opened = run, None
    if path.is_dir():
        alone = (path / "model.safetensors").is_file() and not (path / "run.json").exists()
        if not alone:
            opened = Run.open(path)
        path = path / "model.safetensors"
        if not path.is_file():
            raise InputError(f"{path}: does not exist yet; expected a run that has finished its first epoch")
    elif not path.exists():
        raise InputError(f"{path}: there is no such run directory or model file")
    trained = load_model(path)
    warn_of_changes(str(run), trained.info.environment, trained.info.versions, environment(), training=False)
    if opened is None:
        return trained, False
    if opened.summary() is None and (run / "state").is_dir():
        _log.warning("%s: training has not ended; the network is that of the best epoch so far, %d", run, trained.epoch)
    if holds_data(opened.recipe, run) and opened.info.digest == trained.info.digest:  # it may have been moved
        moved = trained.recipe.model_copy(update={"data": opened.recipe.data})
        return replace(trained, recipe=moved), True
    return trained, trained.recipe.data == opened.recipe.data
