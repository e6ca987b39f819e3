"""``deepergcn tune``: search for better settings of a recipe, or for your own data."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deepergcn.cli.option_group import with_options
from deepergcn.cli.options import DataOption, RecipeArgument, SettingsOption
from deepergcn.cli.own_data_options import OwnDataOptions
from deepergcn.cli.read_own_data import read_own_data
from deepergcn.cli.terminal import say
from deepergcn.errors import InputError

if TYPE_CHECKING:
    from deepergcn.report.tuning import TrialRecord, TuningRecord

_MOST_TRIALS = 10_000


@with_options("own", OwnDataOptions)
def tune(
    recipe: RecipeArgument = None,
    data: DataOption = None,
    settings: SettingsOption = None,
    trials: Annotated[
        int | None,
        typer.Option("--trials", help="Total number of trials, including earlier ones in the same folder.", min=1),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option("--minutes", help="Time limit in minutes; the last trial is completed.", min=0),
    ] = None,
    space: Annotated[
        Path | None,
        typer.Option(
            "--space", help="YAML file of the search space: for each setting a list of values, or {low, high, log}."
        ),
    ] = None,
    epochs: Annotated[int | None, typer.Option("--epochs", help="Number of epochs of each trial.", min=1)] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the search and of every trial.", min=0)] = 0,
    out: Annotated[Path | None, typer.Option("--out", help="Folder of the search. Default: tuning/RECIPE.")] = None,
    *,
    own: OwnDataOptions,
) -> None:
    """Search for the settings with the best validation score, and save them as a recipe. Run it again to continue."""
    if trials is None and minutes is None:
        raise InputError("tune: expected --trials or --minutes, to limit the search")
    if trials is not None and trials > _MOST_TRIALS:
        raise InputError(f"--trials is {trials}; expected from 1 to {_MOST_TRIALS}, or --minutes")
    if own.folds is not None:
        raise InputError("--folds: cannot be combined with tune")
    read = read_own_data(own, settings or (), recipe)
    from deepergcn.recipes.load import load_recipe
    from deepergcn.runs.folders import DEFAULT
    from deepergcn.studies.tuning.space import read_space
    from deepergcn.studies.tuning.tune import BEST, Tuning
    from deepergcn.training.signals import Interrupted
    from deepergcn.training.train import source_setting

    name, found = (recipe, None) if read is None else (recipe or read[0], read[1])
    for topic, text in () if found is None else found.lines():
        say(f"{topic:<9} {text}")
    changes = (
        *source_setting(data),
        *(found.settings if found else ()),
        *(settings or ()),
        *(() if epochs is None else (f"training.epochs={epochs}",)),
    )
    resolved = load_recipe(name or DEFAULT, changes)
    folder = out or Path("tuning") / resolved.name
    tuning = Tuning(
        resolved,
        folder,
        None if space is None else read_space(space, resolved),
        seed,
        None if found is None else found.loaded,
    )
    say(f"tuning {', '.join(tuning.space)} of {resolved.name} by validation {tuning.record.metric}, in {folder}")
    try:
        record = tuning.search(trials, None if minutes is None else 60 * minutes, _tell)
    except Interrupted as interrupted:
        say("stopped; the state is saved: run the same command again to continue", err=True)
        raise typer.Exit(128 + interrupted.number) from None
    best = record.best()
    if best is None:
        raise InputError(f"{folder}: no trial has finished; expected more --trials or --minutes")
    say(f"best {best.folder}: validation {record.metric} {best.score:.4f}, of {len(record.trials)} trials")
    say(f"page {folder / 'report.html'}")
    say(f"next {shlex.join(['deepergcn', 'train', str(folder / BEST)])}")


def _tell(trial: "TrialRecord", record: "TuningRecord") -> None:
    score = trial.reason if trial.score is None else f"{record.metric} {trial.score:.4f}"
    values = "  ".join(f"{key.rpartition('.')[2]}={_short(value)}" for key, value in trial.settings.items())
    say(f"{trial.folder}  {trial.state}  {score}  {values}")


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
