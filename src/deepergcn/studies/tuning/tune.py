"""``tune``: trials of a recipe with other settings, each an ordinary run, the best of them a recipe."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepergcn.data.seeds import check_seed, derive
from deepergcn.data.storage.files import write_bytes, write_text
from deepergcn.errors import InputError, TemporaryError, quote
from deepergcn.recipes.differences import differences
from deepergcn.recipes.load import dump_recipe, load_recipe
from deepergcn.recipes.schema import Recipe
from deepergcn.report.page import render
from deepergcn.report.tuning import TrialRecord, TuningRecord, is_tuning, read_tuning, tuning_page, write_tuning
from deepergcn.runs.callbacks import Callback
from deepergcn.runs.dataset import LoadedData, absolute, named_files, read_data
from deepergcn.runs.lock import locked
from deepergcn.runs.run import Row, Run
from deepergcn.runs.state import Progress
from deepergcn.studies.tuning.space import Space, changed, check_space, default_space
from deepergcn.training.scoring.metrics import make_metric
from deepergcn.training.train import train

if TYPE_CHECKING:
    import optuna

BEST = "best.yaml"
JOURNAL = "optuna.log"
RECIPE = "recipe.yaml"
_FOLDER = re.compile(r"trial-[0-9]{4,9}")
_DAMAGE = (AttributeError, IndexError, KeyError, TypeError, ValueError)  # what Optuna raises for a damaged journal
_STARTUP = 5  # trials before any is pruned, and before importance says anything


class Tuning:
    """A search for better settings of a recipe in a folder of its own; go on with it by opening it again.

    Args:
        recipe: the recipe, with every change made to it; its data and its number of epochs stay as they are.
        folder: ``tuning.json``, Optuna's journal, ``best.yaml``, the page, and one run directory per trial.
        space: the settings to search; :func:`default_space` if None.
        seed: of every run, and of the search.
        loaded: the dataset, where it has been read already.
    """

    def __init__(
        self,
        recipe: Recipe,
        folder: Path,
        space: Space | None = None,
        seed: int = 0,
        loaded: LoadedData | None = None,
    ) -> None:
        check_seed(seed, "--seed")
        recipe = recipe.model_copy(update={"data": absolute(recipe.data)})
        self.recipe, self.folder, self.seed = recipe, folder, seed
        self.loaded = read_data(recipe.data) if loaded is None else loaded
        task = self.loaded.dataset.task
        self.space = default_space(recipe) if space is None else space
        check_space(self.space, recipe, "the space")
        self.record = TuningRecord(
            recipe=recipe.name,
            metric=task.metric,
            higher_is_better=make_metric(task).higher_is_better,
            seed=seed,
            digest=self.loaded.dataset.digest,
            space={key: values.model_dump(mode="json") for key, values in self.space.items()},
        )
        self._go_on_with_old()

    def search(
        self,
        trials: int | None = None,
        seconds: float | None = None,
        watch: Callable[[TrialRecord, TuningRecord], None] = lambda trial, record: None,
        callbacks: Callable[[], Sequence[Callback]] = tuple,
    ) -> TuningRecord:
        """Train trials until there are ``trials`` in all, or until ``seconds`` have passed; the one under way ends.

        Args:
            trials: the number of trials in the folder, those of earlier calls included.
            seconds: the time of this call.
            watch: called after every trial.
            callbacks: makes the callbacks of a trial's training.
        """
        if trials is None and seconds is None:
            raise InputError("tune: expected --trials or --minutes, to limit the search")
        started = time.monotonic()
        with locked(self.folder):
            study = self._study()
            write_text(self.folder / RECIPE, dump_recipe(self.recipe))
            self._take_up_interrupted(study)
            write_tuning(self.folder, self.record)
            while trials is None or self._done() < trials:
                if seconds is not None and time.monotonic() - started >= seconds:
                    break
                watch(self._trial(study, callbacks()), self.record)
                self._stop_if_nothing_works()
            self._conclude(study)
        return self.record

    def _trial(self, study: "optuna.Study", callbacks: Sequence[Callback]) -> TrialRecord:
        import optuna

        study.sampler = optuna.samplers.TPESampler(seed=derive(self.seed, "tune", len(study.trials)) % 2**32)
        trial = study.ask()
        settings = {key: values.draw(trial, key) for key, values in self.space.items()}
        folder = str(trial.user_attrs.get("folder", f"trial-{trial.number:04d}"))
        if not _FOLDER.fullmatch(folder):
            raise InputError(
                f"{self.folder / JOURNAL}: names the folder {quote(folder)}; expected a name such as trial-0000"
            )
        trial.set_user_attr("folder", folder)
        record = TrialRecord(number=trial.number, folder=folder, state="running", settings=settings)
        self._note(record)
        path = self.folder / folder
        try:
            recipe = changed(self.recipe, settings, folder)
            write_text(path.with_suffix(".yaml"), dump_recipe(recipe))
            run = train(
                path.with_suffix(".yaml"),
                seed=self.seed,
                out=path,
                resume=(path / "run.json").exists(),
                loaded=self.loaded,
                callbacks=[*callbacks, _Pruning(trial)],
            )
            summary = run.summary()
            assert summary is not None
            if summary.valid_score is None:
                raise InputError("the run has no validation score; expected a valid part with labels")
            study.tell(trial, summary.valid_score)
            record = record.model_copy(update={"state": "complete", "score": summary.valid_score})
        except optuna.TrialPruned:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            record = record.model_copy(update={"state": "pruned", "score": _best_score(path, self.record)})
        except TemporaryError:  # a full disk says nothing about the settings: the trial is resumed later
            raise
        except InputError as error:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
            record = record.model_copy(update={"state": "failed", "reason": str(error)})
        finally:
            path.with_suffix(".yaml").unlink(missing_ok=True)
        self._note(record)
        return record

    def _study(self) -> "optuna.Study":
        try:
            import optuna
            from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
        except ImportError as error:
            raise InputError("tune needs optuna; install the extra: pip install 'deepergcn[tune]'") from error

        class Held(JournalFileOpenLock):
            """The search holds the lock of its folder; Optuna's own lock would outlast a kill by half a minute."""

            def acquire(self) -> bool:
                return True

            def release(self) -> None:
                pass

        class Journal(JournalFileBackend):
            """Optuna's journal, with errors that name the file."""

            def append_logs(self, logs: list[dict[str, Any]]) -> None:
                try:
                    super().append_logs(logs)
                except OSError as error:
                    raise TemporaryError(f"{journal}: cannot be written ({error.strerror or error})") from error

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        journal = self.folder / JOURNAL
        _end_with_a_whole_line(journal)
        try:
            return optuna.create_study(
                storage=optuna.storages.JournalStorage(Journal(str(journal), Held(str(journal)))),
                study_name=self.recipe.name,
                direction="maximize" if self.record.higher_is_better else "minimize",
                pruner=optuna.pruners.MedianPruner(_STARTUP, n_warmup_steps=self.recipe.training.epochs // 5),
                load_if_exists=True,
            )
        except TemporaryError:
            raise
        except _DAMAGE as error:
            reason = " ".join(str(error).split())
            raise InputError(f"{journal}: is damaged ({reason}); search again with another --out") from error

    def _take_up_interrupted(self, study: "optuna.Study") -> None:
        """Ask again for trials that a kill has left under way, whose runs are resumed; note how the others ended.

        A kill in here loses nothing either: a trial is asked for again before it is given up.
        """
        import optuna

        states = optuna.trial.TrialState
        waiting = {frozen.user_attrs.get("folder") for frozen in study.get_trials(states=[states.WAITING])}
        for frozen in study.get_trials(states=[states.RUNNING]):
            if frozen.user_attrs.get("folder") not in {None, *waiting}:
                study.enqueue_trial(frozen.params, user_attrs=frozen.user_attrs)
            study.tell(frozen.number, state=states.FAIL)
        ended = {trial.number: trial for trial in study.get_trials(states=[states.COMPLETE, states.PRUNED])}
        trials = []
        for trial in self.record.trials:
            if trial.state != "running":
                trials.append(trial)
            elif trial.number in ended:  # killed before it was noted
                complete = ended[trial.number].state == states.COMPLETE
                score = ended[trial.number].value if complete else _best_score(self.folder / trial.folder, self.record)
                trials.append(trial.model_copy(update={"state": "complete" if complete else "pruned", "score": score}))
        self.record = self.record.model_copy(update={"trials": tuple(trials)})

    def _conclude(self, study: "optuna.Study") -> None:
        """Write the winner as a recipe, how much each setting mattered, and the page."""
        import optuna

        complete = [trial for trial in self.record.trials if trial.state == "complete"]
        if len(complete) >= _STARTUP and len({trial.score for trial in complete}) > 1:
            evaluator = optuna.importance.PedAnovaImportanceEvaluator()
            found = optuna.importance.get_param_importances(study, evaluator=evaluator)
            self.record = self.record.model_copy(update={"importance": {k: float(v) for k, v in found.items()}})
        write_tuning(self.folder, self.record)
        best = self.record.best()
        if best is not None:
            winner = changed(self.recipe, {**best.settings, "name": f"{self.recipe.name}-tuned"}, best.folder)
            write_text(self.folder / BEST, dump_recipe(winner))
        write_text(self.folder / "report.html", render([tuning_page(self.folder)]))

    def _go_on_with_old(self) -> None:
        if not is_tuning(self.folder):
            if self.folder.exists() and not _has_only_begun(self.folder):
                raise InputError(f"{self.folder}: is not empty and has no search; expected another --out")
            return
        old = read_tuning(self.folder)
        for key, before, now in differences(load_recipe(self.folder / RECIPE), self.recipe):
            raise InputError(f"{self.folder}: has a search with {key} {before}, not {now}; expected another --out")
        if old.space != self.record.space:
            raise InputError(
                f"{self.folder}: has a search among other values of {_other_keys(old.space, self.record.space)}; "
                "expected another --out"
            )
        if old.seed != self.seed:
            raise InputError(
                f"{self.folder}: was started with --seed {old.seed}; it cannot be continued with --seed {self.seed}"
            )
        if old.digest != self.record.digest:
            raise InputError(
                f"{self.folder}: the data in {named_files(self.recipe.data)} has changed since the search was started, "
                "so that its scores cannot be compared; expected another --out"
            )
        self.record = self.record.model_copy(update={"trials": old.trials, "importance": old.importance})

    def _note(self, record: TrialRecord) -> None:
        others = tuple(trial for trial in self.record.trials if trial.number != record.number)
        self.record = self.record.model_copy(update={"trials": (*others, record)})
        write_tuning(self.folder, self.record)

    def _done(self) -> int:
        return sum(trial.state != "running" for trial in self.record.trials)

    def _stop_if_nothing_works(self) -> None:
        trials = self.record.trials
        if len(trials) >= _STARTUP and all(trial.state == "failed" for trial in trials):
            raise InputError(
                f"{self.folder}: all of the first {len(trials)} trials failed, the last because of: {trials[-1].reason}"
            )


def _has_only_begun(folder: Path) -> bool:
    """Whether a folder is empty, or holds only what a search writes before its record."""
    names = {file.name for file in folder.iterdir() if file.suffix != ".part"}
    return names <= {"lock", JOURNAL, RECIPE} and (RECIPE not in names or JOURNAL in names)


def _other_keys(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    return ", ".join(key for key in {**old, **new} if old.get(key) != new.get(key))


def _end_with_a_whole_line(journal: Path) -> None:
    """Cut off a last line that a kill or a full disk has left half-written: the next one would be added to it."""
    if journal.exists():
        content = journal.read_bytes()
        if not content.endswith(b"\n"):
            write_bytes(journal, content[: content.rfind(b"\n") + 1])


class _Pruning(Callback):
    """Reports validation scores to Optuna, and stops a trial where others did better by the same epoch."""

    def __init__(self, trial: "optuna.Trial") -> None:
        self.trial = trial

    def on_train_start(self, run: Run, progress: Progress, steps: int) -> None:
        for row in run.metrics() if progress.epoch else ():
            self._report(row)

    def on_epoch_end(self, metrics: Row, dynamics: Sequence[Row], progress: Progress) -> None:
        import optuna

        if self._report(metrics) and self.trial.should_prune():
            raise optuna.TrialPruned

    def _report(self, row: Row) -> bool:
        score, epoch = row["valid_score"], row["epoch"]
        if score is None or epoch is None:
            return False
        self.trial.report(score, int(epoch))
        return True


def _best_score(folder: Path, record: TuningRecord) -> float | None:
    scores = [row["valid_score"] for row in Run.open(folder).metrics()]
    known: list[Any] = [score for score in scores if score is not None]
    return (max if record.higher_is_better else min)(known, default=None)
