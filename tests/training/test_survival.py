"""A run that is stopped, in whatever way, goes on bit for bit as the run that was never stopped."""

import contextlib
import errno
import fcntl
import itertools
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import torch

from deepergcn.errors import InputError
from deepergcn.runs.callbacks import Callback
from deepergcn.runs.lock import locked
from deepergcn.runs.run import Row
from deepergcn.runs.state import Progress
from deepergcn.training.signals import Interrupted, Signals
from deepergcn.training.train import train
from tests.kills import compare
from tests.training.small import molecule_settings, molecules, network, network_settings, repeatable, start

KILLS = 4  # of each recipe; ``python -m tests.kills`` goes on


def _train(recipe: str, settings: list[str], out: Path, resume: bool) -> None:
    torch.set_num_threads(1)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup would have set aside
    try:
        train(recipe, settings=settings, out=out, resume=resume)
    except Interrupted as interrupted:
        raise SystemExit(128 + interrupted.number) from None


def _rows(out: Path) -> int:
    file = out / "metrics.csv"
    return len(file.read_text().splitlines()) if file.exists() else 0


@pytest.fixture(params=["molecules", "partitions"])
def job(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, list[str]]:
    if request.param == "molecules":
        return "solubility", molecule_settings(molecules(tmp_path), "optimizer.schedule=cosine")
    return "yeast-proteins", network_settings(network(tmp_path), "optimizer.clip=1.0", "model.msg_norm=true")


@pytest.mark.parametrize("name", ["molecules", "network", "tables"])
def test_killed_again_and_again_the_run_ends_bit_for_bit_as_if_never_stopped(tmp_path: Path, name: str) -> None:
    assert compare(tmp_path, name, KILLS, seed=0) == KILLS


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_saves_in_the_middle_of_an_epoch(tmp_path: Path, number: signal.Signals) -> None:
    settings = molecule_settings(molecules(tmp_path, count=120), "training.epochs=3", "training.batch_size=3")
    whole = train("solubility", settings=settings, out=tmp_path / "whole")
    out = tmp_path / "stopped"
    process = start(_train, "solubility", settings, out, False)
    while _rows(out) < 2:
        time.sleep(0.001)
    assert process.pid is not None
    os.kill(process.pid, number)
    process.join()
    assert process.exitcode == 128 + number
    newest = sorted((out / "state").glob("*.safetensors"))[-1]
    assert not newest.stem.endswith("-00000000")
    assert repeatable(train(out=out, resume=True)) == repeatable(whole)


def test_a_second_hangup_does_not_disturb_and_an_ignored_one_is_left_alone() -> None:
    """A shell that is left sends it again; nohup ignores it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        with Signals().watched() as signals:
            signal.raise_signal(signal.SIGHUP)
            signal.raise_signal(signal.SIGHUP)
            assert signals.received == signal.SIGHUP
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        with Signals().watched() as signals:
            signal.raise_signal(signal.SIGHUP)
            assert not signals.received
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_run_that_was_moved_away_stops_and_goes_on_where_it_is(tmp_path: Path) -> None:
    settings = molecule_settings(molecules(tmp_path), "training.epochs=3")
    whole = repeatable(train("solubility", settings=settings, out=tmp_path / "whole"))
    out, moved = tmp_path / "out", tmp_path / "moved"

    class Move(Callback):
        def on_epoch_end(self, metrics: Row, dynamics: Sequence[Row], progress: Progress) -> None:
            out.rename(moved)

    with pytest.raises(InputError, match="out: was moved or removed while the run was training"):
        train("solubility", settings=settings, out=out, callbacks=[Move()])
    assert not out.exists()
    assert repeatable(train(out=moved, resume=True)) == whole


def test_a_run_that_dies_at_any_write_goes_on_bit_for_bit(
    tmp_path: Path, job: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, settings = job[0], [*job[1], "training.epochs=12"]
    whole = repeatable(train(recipe, settings=settings, out=tmp_path / "whole"))
    out, replace, deaths = tmp_path / "dying", Path.replace, 0

    class DeathError(Exception):
        pass

    for fatal in range(1, 13):
        written = itertools.count(1)

        def die(part: Path, target: Path, fatal: int = fatal, written: Iterator[int] = written) -> Path:
            """Die at one write, before the file has its name or right after."""
            last = next(written) == fatal
            if last and fatal % 2:
                raise DeathError
            replace(part, target)
            if last:
                raise DeathError
            return target

        with monkeypatch.context() as patch, contextlib.suppress(DeathError):
            patch.setattr(Path, "replace", die)
            train(recipe, settings=settings, out=out, resume=(out / "run.json").exists())
        deaths += next(written) > fatal
    assert deaths >= 10
    assert repeatable(train(recipe, settings=settings, out=out, resume=True)) == whole


def test_a_damaged_state_falls_back_to_the_one_before(
    tmp_path: Path, job: tuple[str, list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    recipe, settings = job[0], [*job[1], "optimizer.schedule=constant"]
    whole = repeatable(train(recipe, settings=settings, out=tmp_path / "whole"))
    for number, damage in enumerate((_truncate, _flip, _empty)):
        out = tmp_path / f"damaged-{number}"
        train(recipe, settings=settings, out=out, epochs=3)
        older, newest = sorted((out / "state").glob("*.safetensors"))
        damage(newest)
        caplog.clear()
        assert repeatable(train(recipe, settings=settings, out=out, epochs=4, resume=True)) == whole
        assert f"{newest.name}: is damaged; the previous state is used" in caplog.text
        assert older.name not in caplog.text


def test_results_without_a_state_that_can_be_read_are_never_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "run"
    train("solubility", settings=molecule_settings(molecules(tmp_path)), out=out, epochs=2)
    for damage in (_flip, Path.unlink):
        for state in (out / "state").iterdir():
            damage(state)
        before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
        with pytest.raises(InputError, match=r"run: cannot be resumed: .*state has no state that can be read"):
            train(out=out, resume=True, epochs=3)
        assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_a_run_killed_before_its_first_state_starts_at_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = molecule_settings(molecules(tmp_path))
    whole = repeatable(train("solubility", settings=settings, out=tmp_path / "whole"))

    class DeathError(Exception):
        pass

    def die(*args: object) -> None:
        raise DeathError

    with monkeypatch.context() as patch:
        patch.setattr("deepergcn.training.train.seed_torch", die)
        with pytest.raises(DeathError):
            train("solubility", settings=settings, out=tmp_path / "killed")
    assert not (tmp_path / "killed" / "state").exists()
    assert repeatable(train(out=tmp_path / "killed", resume=True)) == whole


def test_what_a_kill_leaves_half_written_is_removed_by_the_next_run(tmp_path: Path) -> None:
    settings = molecule_settings(molecules(tmp_path))
    out = tmp_path / "run"
    train("solubility", settings=settings, out=out, epochs=1)
    part = f"{'0' * 32}.part"
    left = [out / f"model.safetensors.{part}", out / "state" / f"000002-00000000.safetensors.{part}"]
    mine = [out / f"predictions.csv.{part}", out / "notes.part"]
    for path in (*left, *mine):
        path.touch()
    train(out=out, resume=True, epochs=2)
    assert [path.exists() for path in (*left, *mine)] == [False, False, True, True]


def test_more_epochs_go_on_from_a_run_that_has_ended(tmp_path: Path, job: tuple[str, list[str]]) -> None:
    recipe, settings = job
    constant = [*settings, "optimizer.schedule=constant"]
    whole = repeatable(train(recipe, settings=constant, out=tmp_path / "whole", epochs=6))
    train(recipe, settings=constant, out=tmp_path / "grown", epochs=2)
    grown = train(out=tmp_path / "grown", resume=True, epochs=6)
    assert grown.recipe.training.epochs == 6
    assert repeatable(grown) == whole
    with pytest.raises(InputError, match=r"training.epochs is 5; expected at least 6, since .* has finished 6"):
        train(out=tmp_path / "grown", resume=True, epochs=5)


def test_a_run_that_has_ended_stays_as_it_is_when_resumed(tmp_path: Path) -> None:
    run = train("solubility", settings=molecule_settings(molecules(tmp_path)), out=tmp_path / "run")
    before = repeatable(run)
    assert repeatable(train(out=run.path, resume=True)) == before


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    settings = molecule_settings(molecules(tmp_path))
    with (
        locked(tmp_path / "run"),
        pytest.raises(InputError, match="run: another process is training in this directory"),
    ):
        train("solubility", settings=settings, out=tmp_path / "run")
    train("solubility", settings=settings, out=tmp_path / "run")


def test_a_name_that_is_not_utf_8_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the name is not UTF-8"), locked(tmp_path / os.fsdecode(b"run\xff")):
        pass
    assert not list(tmp_path.iterdir())


def test_a_lock_that_is_no_file_is_refused_and_does_not_hang(tmp_path: Path) -> None:
    for kind in ("pipe", "folder", "link"):
        folder = tmp_path / kind
        folder.mkdir()
        lock = folder / "lock"
        if kind == "pipe":
            os.mkfifo(lock)
        elif kind == "folder":
            lock.mkdir()
        else:
            lock.symlink_to("/dev/null")
        with pytest.raises(InputError, match="lock: is not a regular file"), locked(folder):
            pass


def test_a_file_system_without_locks_is_named_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP]

    def refuse(descriptor: int, operation: int) -> None:
        number = numbers.pop()
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    while numbers:
        with (
            pytest.raises(InputError, match=r"its file system does not support locks \(flock: "),
            locked(tmp_path / "run"),
        ):
            pass


def test_a_full_disk_is_a_clear_error_that_leaves_the_earlier_state_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = molecule_settings(molecules(tmp_path), "training.epochs=6")
    whole = repeatable(train("solubility", settings=settings, out=tmp_path / "whole"))
    out = tmp_path / "full"
    train("solubility", settings=settings, out=out, epochs=2)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(InputError, match=r"cannot be written \(No space left on device\)"):
            train("solubility", settings=settings, out=out, epochs=6, resume=True)
    assert not list(out.rglob("*.part"))
    assert repeatable(train("solubility", settings=settings, out=out, epochs=6, resume=True)) == whole


def test_an_unwritable_folder_is_a_clear_error(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(InputError, match=r"file/run/lock: cannot be written \(Not a directory\)"):
        train("solubility", settings=molecule_settings(molecules(tmp_path)), out=file / "run")


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def _empty(path: Path) -> None:
    path.write_bytes(b"")
