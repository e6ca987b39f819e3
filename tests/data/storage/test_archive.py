"""An archive is unpacked inside its folder, all of it or nothing."""

import io
import os
import stat
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from deepergcn.data.storage.archive import extract
from deepergcn.errors import InputError

GOOD: dict[str | zipfile.ZipInfo, bytes] = {"top/raw/edge.csv.gz": b"0,1\n", "top/split/a/train.csv.gz": b"0\n"}


def zipped(files: Mapping[str, bytes] | Mapping[str | zipfile.ZipInfo, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


def with_mode(name: str, mode: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.external_attr = mode << 16
    return entry


def accept(folder: Path) -> None:
    assert folder.is_dir()


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "archive.zip"
    path.write_bytes(zipped(GOOD))
    return path


def test_single_folder_is_taken_as_the_folder(archive: Path, tmp_path: Path) -> None:
    extract(archive, tmp_path / "data" / "made", accept)
    assert files(tmp_path / "data") == {"made/raw/edge.csv.gz": b"0,1\n", "made/split/a/train.csv.gz": b"0\n"}


def test_several_at_the_top(archive: Path, tmp_path: Path) -> None:
    archive.write_bytes(zipped({"raw/x": b"1", "split/": b"", "split/y": b"2"}))
    extract(archive, tmp_path / "data" / "made", accept)
    assert files(tmp_path / "data") == {"made/raw/x": b"1", "made/split/y": b"2"}


def bad_checksum() -> bytes:
    content = bytearray(zipped({"top/raw/x": b"0" * 1000}))
    entry = zipfile.ZipFile(io.BytesIO(bytes(content))).infolist()[0]
    place = content.rindex(entry.CRC.to_bytes(4, "little"))
    content[place] ^= 1
    return bytes(content)


def encrypted() -> bytes:
    content = bytearray(zipped({"top/raw/x": b"0"}))
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


BOMB = zipped({f"top/{i}": bytes(30 << 20) for i in range(4)})

BAD: list[tuple[bytes, str]] = [
    (zipped({**GOOD, "../evil": b"x"}), r"contains '\.\./evil', which is outside its folder"),
    (zipped({**GOOD, "top/raw/../../../evil": b"x"}), "is outside its folder"),
    (zipped({**GOOD, "..\\evil": b"x"}), "is outside its folder"),
    (zipped({**GOOD, "/evil": b"x"}), "contains '/evil', which is outside"),
    (zipped({**GOOD, "C:\\evil": b"x"}), "is outside its folder"),
    (zipped({**GOOD, with_mode("top/link", stat.S_IFLNK | 0o777): b"/etc"}), "contains 'top/link', which is a link"),
    (zipped({**GOOD, with_mode("top/pipe", stat.S_IFIFO | 0o777): b""}), "which is a link or a special file"),
    (zipped({**GOOD, "TOP/raw/EDGE.csv.gz": b"x"}), "contains 'TOP/raw/EDGE.csv.gz' twice"),
    (zipped({**GOOD, "top/raw": b"x"}), "cannot be unpacked"),
    (encrypted(), "which is encrypted"),
    (BOMB, f"would unpack to {4 * (30 << 20)} bytes"),
    (zipped(GOOD)[:-30], "is not a valid zip archive"),
    (bad_checksum(), "is not a valid zip archive"),
    (b"<html>Sign in</html>", "is not a valid zip archive"),
    (b"", "is not a valid zip archive"),
    (zipped({}), "the archive is empty"),
]


@pytest.mark.parametrize(("content", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_archive_leaves_nothing_and_a_good_one_works(content: bytes, message: str, tmp_path: Path) -> None:
    archive, data = tmp_path / "archive.zip", tmp_path / "deep" / "data"
    archive.write_bytes(content)
    with pytest.raises(InputError, match=message):
        extract(archive, data / "made", accept)
    assert list(data.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive.zip", "deep"]
    archive.write_bytes(zipped(GOOD))
    extract(archive, data / "made", accept)
    assert len(files(data / "made")) == 2


def test_what_is_not_accepted_is_not_kept(archive: Path, tmp_path: Path) -> None:
    def refuse(folder: Path) -> None:
        assert len(files(folder)) == 2
        raise InputError("no")

    with pytest.raises(InputError, match="no"):
        extract(archive, tmp_path / "data" / "made", refuse)
    assert list((tmp_path / "data").iterdir()) == []


def test_folder_that_is_there_is_not_touched(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "mine").write_text("x")
    with pytest.raises(InputError, match="made: exists already"):
        extract(archive, tmp_path / "made", accept)
    assert files(tmp_path / "made") == {"mine": b"x"}


def test_kill_leaves_nothing_that_looks_complete(archive: Path, tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from deepergcn.data.storage.archive import extract\n"
        "extract(Path(sys.argv[1]), Path(sys.argv[2]), lambda made: os.kill(os.getpid(), signal.SIGKILL))"
    )
    data = tmp_path / "data"
    killed = subprocess.run([sys.executable, "-c", code, archive, data / "made"], check=False)
    assert killed.returncode == -9
    assert not (data / "made").exists()
    [left] = data.iterdir()
    os.utime(left, (0, 0))
    extract(archive, data / "made", accept)
    assert [path.name for path in data.iterdir()] == ["made"]
