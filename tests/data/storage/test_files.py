"""Files and folders are there whole or not at all, and what a kill leaves behind goes away."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from deepergcn.data.storage.files import (
    make_folder,
    remove_abandoned,
    replacing,
    write_bytes,
    write_tensors,
    write_text,
)
from deepergcn.errors import InputError

PART = f"{'0' * 31}a.part"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.txt"
    write_text(path, "old")

    def fail() -> None:
        with replacing(path) as part:
            part.write_text("new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_an_error_names_the_file_and_not_its_part(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    expected = r"file/inner: cannot be written \(.*(directory|exists)"
    with pytest.raises(InputError, match=expected):
        write_bytes(tmp_path / "file" / "inner", b"")
    with pytest.raises(InputError, match=expected):
        write_tensors(tmp_path / "file" / "inner", {}, {"a": "b"})


@pytest.mark.parametrize("path", [Path(), Path("/")])
def test_a_folder_that_has_no_name_is_refused(path: Path) -> None:
    with pytest.raises(InputError, match="is a folder; expected a name in it"):
        write_text(path, "")


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    def make(place: Path) -> Path:
        (place / "inside").mkdir()
        (place / "inside" / "file").touch()
        return place / "inside"

    def fail(place: Path) -> Path:
        (place / "file").touch()
        raise ZeroDivisionError

    folder = tmp_path / "made" / "folder"
    make_folder(folder, make)
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")] == [
        "made",
        "made/folder",
        "made/folder/file",
    ]
    with pytest.raises(InputError, match="exists already"):
        make_folder(folder, make)
    with pytest.raises(ZeroDivisionError):
        make_folder(tmp_path / "none", fail)
    assert list(tmp_path.iterdir()) == [tmp_path / "made"]


def test_only_old_parts_of_the_named_files_are_removed(tmp_path: Path) -> None:
    names = [f"old.csv.{PART}", f"new.csv.{PART}", f"other.csv.{PART}", "old.csv.part", "old.csv", "notes.0123.part"]
    for name in names:
        (tmp_path / name).touch()
        if not name.startswith("new"):
            os.utime(tmp_path / name, (0, 0))
    (tmp_path / f"folder.{PART}").mkdir()
    (tmp_path / f"folder.{PART}" / "file").touch()
    os.utime(tmp_path / f"folder.{PART}", (0, 0))
    remove_abandoned(tmp_path, {"old.csv", "new.csv", "folder"})
    assert {path.name for path in tmp_path.iterdir()} == {*names} - {f"old.csv.{PART}"}
    remove_abandoned(tmp_path, age=0)
    assert {path.name for path in tmp_path.iterdir()} == {"old.csv.part", "old.csv", "notes.0123.part"}


def test_a_link_in_the_place_of_a_part_is_removed_and_not_followed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    (tmp_path / f"folder.{PART}").symlink_to(kept)
    remove_abandoned(tmp_path, age=0)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (kept / "file").exists()


def test_tensors_are_readable_by_whoever_can_read_new_files(tmp_path: Path) -> None:
    write_tensors(tmp_path / "one.safetensors", {"a": torch.ones(2)}, {"a": "b"})
    (tmp_path / "other").touch()
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_a_killed_write_leaves_a_part_that_the_next_write_of_a_later_day_removes(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from deepergcn.data.storage.files import replacing\n"
        "with replacing(Path(sys.argv[1])) as part:\n    part.write_text('half'); os.kill(os.getpid(), 9)"
    )
    path = tmp_path / "file.txt"
    assert subprocess.run([sys.executable, "-c", program, str(path)], check=False).returncode == -9
    (part,) = tmp_path.iterdir()
    write_text(path, "new")
    assert part.exists()
    os.utime(part, (0, 0))
    write_text(path, "newer")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes")
def test_a_pipe_or_a_device_is_never_replaced_by_a_file(tmp_path: Path) -> None:
    """As root, /dev/null itself became a file."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "link"):
        with pytest.raises(InputError, match=f"{name}: is a pipe or a device; expected the name of a file"):
            write_text(tmp_path / name, "text")
        assert (tmp_path / name).is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe"]
