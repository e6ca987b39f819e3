"""Tuning: trials are ordinary runs, the search goes on after a kill, and the winner is a recipe."""

import errno
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from deepergcn.errors import InputError, TemporaryError
from deepergcn.recipes.load import load_recipe
from deepergcn.recipes.schema import Recipe
from deepergcn.report.tuning import TrialRecord, TuningRecord, read_tuning, write_tuning
from deepergcn.runs.callbacks import Callback
from deepergcn.runs.run import Row, Run
from deepergcn.runs.state import Progress
from deepergcn.studies.tuning.space import Choice, Range, Space, default_space, read_space
from deepergcn.studies.tuning.tune import BEST, JOURNAL, Tuning
from deepergcn.studies.write_report import write_report
from deepergcn.training.signals import Interrupted
from tests.cli.program import Program
from tests.training.small import molecule_settings, molecules

SPACE: Space = {
    "optimizer.lr": Range(low=1e-4, high=1e-2, log=True),
    "model.hidden_channels": Choice(values=(8, 16)),
    "training.average": Choice(values=(None, 0.9)),
}


def small(tmp_path: Path) -> Recipe:
    return load_recipe("solubility", [*molecule_settings(molecules(tmp_path)), "training.epochs=2"])


def test_trials_are_runs_and_the_winner_is_a_recipe(tmp_path: Path) -> None:
    recipe = small(tmp_path)
    folder = tmp_path / "tuning"
    told: list[int] = []
    record = Tuning(recipe, folder, SPACE).search(3, watch=lambda trial, _: told.append(trial.number))
    assert told == [0, 1, 2]
    assert record == read_tuning(folder)
    for trial in record.trials:
        run = Run.open(folder / trial.folder)
        summary = run.summary()
        assert summary is not None
        assert trial.state == "complete"
        assert trial.score == summary.valid_score
        assert run.recipe.optimizer.lr == trial.settings["optimizer.lr"]
        assert run.recipe.model.hidden_channels == trial.settings["model.hidden_channels"]
    best = record.best()
    assert best is not None
    assert best.score == max(trial.score or 0 for trial in record.trials)
    winner = load_recipe(folder / BEST)
    assert winner.name == "solubility-tuned"
    assert winner.optimizer.lr == best.settings["optimizer.lr"]
    assert winner.data == Run.open(folder / best.folder).recipe.data
    page = write_report([folder])[0].read_text()
    assert best.folder in page
    assert "best so far" in page

    more = Tuning(recipe, folder, SPACE).search(5)
    assert more.trials[:3] == record.trials
    assert len(more.trials) == 5
    again = Tuning(recipe, tmp_path / "again", SPACE).search(2)
    assert [trial.settings for trial in again.trials] == [trial.settings for trial in record.trials[:2]]
    with pytest.raises(InputError, match=r"has a search among other values of optimizer\.lr; expected another --out"):
        Tuning(recipe, folder, {**SPACE, "optimizer.lr": Range(low=0.01, high=0.5)})
    other = recipe.model_copy(update={"model": recipe.model.model_copy(update={"dropout": 0.9})})
    with pytest.raises(InputError, match=r"has a search with model\.dropout 0\.3, not 0\.9; expected another --out"):
        Tuning(other, folder, SPACE)
    (tmp_path / "molecules.csv").rename(tmp_path / "moved.csv")
    moved = recipe.data.model_copy(update={"source": str(tmp_path / "moved.csv")})
    assert Tuning(recipe.model_copy(update={"data": moved}), folder, SPACE).record.trials == more.trials


class Stop(Callback):
    """Interrupts the second trial after an epoch, as a signal does."""

    trials = 0

    def on_train_start(self, run: Run, progress: Progress, steps: int) -> None:
        Stop.trials += 1

    def on_epoch_end(self, metrics: Row, dynamics: Sequence[Row], progress: Progress) -> None:
        if Stop.trials == 2:
            raise Interrupted(15, Path("run"), "in epoch 2")


def test_an_interrupted_trial_is_resumed(tmp_path: Path) -> None:
    recipe, folder = small(tmp_path), tmp_path / "tuning"
    with pytest.raises(Interrupted):
        Tuning(recipe, folder, SPACE).search(3, callbacks=lambda: [Stop()])
    left = read_tuning(folder).trials
    assert [trial.state for trial in left] == ["complete", "running"]
    assert len(Run.open(folder / left[1].folder).metrics()) == 1
    journal = folder / JOURNAL
    good = {file: file.read_bytes() for file in (journal, folder / "tuning.json")}
    journal.write_bytes(good[journal].replace(b"trial-0001", b"../evil"))
    with pytest.raises(
        InputError, match=r"optuna\.log: names the folder '\.\./evil'; expected a name such as trial-0000"
    ):
        Tuning(recipe, folder, SPACE).search(2)
    assert not (tmp_path / "evil").exists()
    for file, content in good.items():
        file.write_bytes(content)
    journal.write_bytes(journal.read_bytes() + b'{"op_code": 8, "tri')  # as a kill leaves it
    record = Tuning(recipe, folder, SPACE).search(2)
    assert [trial.folder for trial in record.trials] == [trial.folder for trial in left]
    assert [trial.state for trial in record.trials] == ["complete", "complete"]
    assert record.trials[1].settings == left[1].settings
    assert len(Run.open(folder / left[1].folder).metrics()) == 2
    good[journal] = journal.read_bytes()
    for damaged in (b"damaged\n", b"\xf0\n", b'{"op_code": 7}\n'):
        journal.write_bytes(damaged + good[journal])
        with pytest.raises(InputError, match=r"optuna\.log: is damaged"):
            Tuning(recipe, folder, SPACE).search(3)


class Full(Callback):
    """Fills the disk after the first epoch."""

    def on_epoch_end(self, metrics: Row, dynamics: Sequence[Row], progress: Progress) -> None:
        raise TemporaryError("state: cannot be written (No space left on device)")


def test_a_full_disk_ends_the_search_and_not_its_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from optuna.storages.journal import JournalFileBackend

    recipe, folder = small(tmp_path), tmp_path / "tuning"
    with pytest.raises(TemporaryError, match="state: cannot be written"):
        Tuning(recipe, folder, SPACE).search(1, callbacks=lambda: [Full()])

    def full(self: JournalFileBackend, logs: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(JournalFileBackend, "append_logs", full)
        with pytest.raises(TemporaryError, match=r"tuning/optuna\.log: cannot be written \(No space left on device\)"):
            Tuning(recipe, folder, SPACE).search(1)
    (tmp_path / "molecules.csv").rename(tmp_path / "moved.csv")
    moved = recipe.data.model_copy(update={"source": str(tmp_path / "moved.csv")})
    record = Tuning(recipe.model_copy(update={"data": moved}), folder, SPACE).search(1)
    assert [(trial.number, trial.folder, trial.state) for trial in record.trials] == [(1, "trial-0000", "complete")]


def test_a_kill_at_any_write_of_a_search_loses_no_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written after the kill is lost: Optuna's journal and the record of the search then differ."""
    from deepergcn.studies.tuning import tune

    class Killed(BaseException):
        pass

    recipe, folder = small(tmp_path), tmp_path / "tuning"
    writes = iter(range(99))

    def killed(folder: Path, record: TuningRecord) -> None:
        if next(writes) == last:
            raise Killed
        write_tuning(folder, record)

    monkeypatch.setattr(tune, "write_tuning", killed)
    # of the first start; at the end of the first trial; when taken up; within the third trial
    for last in (0, 2, 1, 3):
        writes = iter(range(99))
        with pytest.raises(Killed):
            Tuning(recipe, folder, SPACE).search(3)
        (folder / f"{JOURNAL}.lock").symlink_to(folder / JOURNAL) if last == 2 else None  # as Optuna's own would be
    record = Tuning(recipe, folder, SPACE).search(3)
    assert [trial.state for trial in record.trials] == ["complete"] * 3
    assert len({trial.folder for trial in record.trials}) == 3
    assert {trial.folder for trial in record.trials} == {path.name for path in folder.glob("trial-*")}
    for trial in record.trials:
        summary = Run.open(folder / trial.folder).summary()
        assert summary is not None
        assert trial.score == summary.valid_score


def test_a_search_goes_on_with_its_own_data_and_seed_only(tmp_path: Path) -> None:
    """Its scores could not be compared otherwise: a row more changes which molecules are the validation part."""
    recipe, folder = small(tmp_path), tmp_path / "tuning"
    Tuning(recipe, folder, SPACE, seed=1).search(1)
    with pytest.raises(InputError, match="was started with --seed 1; it cannot be continued with --seed 0"):
        Tuning(recipe, folder, SPACE)
    with (tmp_path / "molecules.csv").open("a") as file:
        file.write("CCO,1,train\n")
    with pytest.raises(InputError, match=r"the data in .*molecules\.csv has changed since the search was started"):
        Tuning(recipe, folder, SPACE, seed=1)


def test_a_trial_that_fails_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    recipe, folder = small(tmp_path), tmp_path / "tuning"
    space: Space = {"optimizer.lr": Choice(values=(1e-3, 1e30))}
    record = Tuning(recipe, folder, space).search(6)
    states = {trial.settings["optimizer.lr"]: trial.state for trial in record.trials}
    assert states == {1e-3: "complete", 1e30: "failed"}
    assert all("finite" in trial.reason for trial in record.trials if trial.state == "failed")
    with pytest.raises(InputError, match="all of the first 5 trials failed, the last because of: "):
        Tuning(recipe, tmp_path / "other", {"optimizer.lr": Choice(values=(5e29, 1e30))}).search(9)


def test_a_trial_that_lags_behind_is_pruned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores are drawn by hand: the sixth trial is worse than all others at its first epoch after the warm-up."""
    from deepergcn.studies.tuning import tune

    trained: list[int] = []

    def drawn(recipe: Any, *, out: Path, callbacks: Sequence[Callback], **options: Any) -> Any:
        number = int(out.name.rpartition("-")[2])
        score = 0.1 if number == 5 else 0.8
        for epoch in (1, 2):
            trained.append(number)
            for callback in callbacks:
                callback.on_epoch_end({"epoch": epoch, "valid_score": score}, (), Progress(epoch=epoch))

        class Ended:
            def summary(self) -> Any:
                return type("Summary", (), {"valid_score": score})

        return Ended()

    monkeypatch.setattr(tune, "train", drawn)
    monkeypatch.setattr(tune, "_best_score", lambda folder, record: 0.1)
    record = Tuning(small(tmp_path), tmp_path / "tuning", SPACE).search(6)
    assert [trial.state for trial in record.trials] == ["complete"] * 5 + ["pruned"]
    assert trained.count(5) == 1


def test_the_best_of_an_error_is_the_smallest() -> None:
    trials = tuple(
        TrialRecord(number=i, folder=f"trial-{i}", state="complete", settings={}, score=score)
        for i, score in enumerate((0.5, 0.2, 0.9))
    )
    record = TuningRecord(recipe="r", metric="rmse", higher_is_better=False, space={}, trials=trials)
    assert record.best() == trials[1]


def test_the_default_space_fits_every_kind_of_recipe() -> None:
    for name in ("solubility", "own-tables", "ogbn-proteins", "ogbn-arxiv"):
        recipe = load_recipe(name)
        assert recipe.model.num_layers in default_space(recipe)["model.num_layers"].edges() or name == "ogbn-proteins"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected keys of a recipe"),
        ("[1, 2]", "expected keys of a recipe"),
        ("model.dropout: [0.1]", "expected at least two finite values"),
        ("model.dropout: [0.1, .nan]", "expected at least two finite values"),
        ("model.dropout: {low: 0.5, high: 0.1}", "expected low below high"),
        ("optimizer.lr: {low: 0, high: 0.1, log: true}", "expected low above 0"),
        ("optimizer.lr: {low: 0.1, hihg: 1}", "expected a list of values, or low, high"),
        ("model.dropout: {low: 0.0, high: 1.5}", "model.dropout is 1.5"),
        ("model.depth: [3, 7]", "model.depth is not a key of a recipe"),
        ("data.source: [a, b]", "data.source cannot be tuned"),
        ("training.epochs: [1, 2]", "training.epochs cannot be tuned"),
        ("evaluation.every: [1, 2]", "evaluation.every cannot be tuned"),
        ("a: [b", "is not YAML"),
    ],
)
def test_a_space_that_cannot_be_is_one_clear_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "space.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_space(file, load_recipe("solubility"))
    assert "\n" not in str(caught.value)


def test_a_budget_and_an_empty_folder_are_needed(tmp_path: Path) -> None:
    recipe = small(tmp_path)
    with pytest.raises(InputError, match="expected --trials or --minutes, to limit"):
        Tuning(recipe, tmp_path / "tuning", SPACE).search()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    with pytest.raises(InputError, match="is not empty and has no search"):
        Tuning(recipe, tmp_path / "full", SPACE)


def test_own_data_is_read_with_the_settings_of_its_reader(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["--molecules", molecules(tmp_path), "--target", "active", "--set", "data.options.split_column=smiles"]
    answer = Program(monkeypatch, capsys)("tune", *words, "--trials", 1, "--out", tmp_path / "tuning")
    assert answer.code == 2
    assert "expected train, valid or test" in answer.err
    assert not (tmp_path / "tuning").exists()


def test_what_was_found_in_own_data_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["--molecules", molecules(tmp_path), "--target", "active", "--descriptors", "none"]
    answer = Program(monkeypatch, capsys)("tune", *words, "--minutes", 0, "--out", tmp_path / "tuning")
    assert "target    active: binary, since it holds 0 and 1" in answer.out
    assert "split     " in answer.out
    assert "no trial has finished" in answer.err
