"""Getting a published dataset: verified, complete or not there, and with a way out when there is no network."""

import json
import subprocess
import sys
import time
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from deepergcn.data.ogb.fetch import fetch
from deepergcn.data.ogb.known import Known, Settings
from deepergcn.errors import InputError
from tests.data.storage.server import Behaviour, serve
from tests.data.storage.test_archive import files, zipped

FILES = {"raw/edge.csv.gz": b"0,1\n", "split/a/train.csv.gz": b"0\n"}
DIGESTS = {name: sha256(content).hexdigest() for name, content in FILES.items()}
ARCHIVE = zipped({f"small/{name}": content for name, content in FILES.items()})
OTHER = zipped({f"small/{name}": content + b"1\n" for name, content in FILES.items()})


def small(url: str, published: bool = True) -> Known:
    return Known(name="ogbn-small", summary="", url=url, settings=Settings(), digests=DIGESTS if published else {})


def test_published_digests(tmp_path: Path) -> None:
    with serve(Behaviour(ARCHIVE)) as server:
        assert fetch(small(server.url), tmp_path) == tmp_path / "ogbn_small"
        fetch(small(server.url), tmp_path)
        assert len(server.requests) == 1
    assert files(tmp_path) == {f"ogbn_small/{name}": content for name, content in FILES.items()}


def test_wrong_digest_and_then_the_right_file(tmp_path: Path) -> None:
    with serve(Behaviour(OTHER)) as server:
        with pytest.raises(InputError, match=r"raw/edge.csv.gz: has the SHA-256 \w{64}; expected \w{64}, as published"):
            fetch(small(server.url), tmp_path)
        assert not (tmp_path / "ogbn_small").exists()
        server.content = ARCHIVE
        fetch(small(server.url), tmp_path)
    assert files(tmp_path / "ogbn_small") == FILES


def test_digests_are_recorded_the_first_time(tmp_path: Path) -> None:
    with serve(Behaviour(ARCHIVE)) as server:
        known = small(server.url, published=False)
        folder = fetch(known, tmp_path)
        record = tmp_path / "digests" / "ogbn-small.json"
        assert json.loads(record.read_text()) == DIGESTS
        folder.rename(tmp_path / "aside")
        server.content = OTHER
        with pytest.raises(
            InputError, match=r"has the SHA-256 .*, as recorded in .*ogbn-small\.json; the archive was renamed"
        ):
            fetch(known, tmp_path)
        assert not folder.exists()
        server.content = ARCHIVE
        fetch(known, tmp_path)
    (folder / "raw" / "edge.csv.gz").write_bytes(b"changed")
    with pytest.raises(InputError, match=r"edge\.csv\.gz: has the SHA-256"):
        fetch(known, tmp_path)


@pytest.mark.parametrize("content", ["{", "[]", '{"raw/edge.csv.gz": 1}'])
def test_a_damaged_record_is_named(content: str, tmp_path: Path) -> None:
    with serve(Behaviour(ARCHIVE)) as server:
        known = small(server.url, published=False)
        fetch(known, tmp_path)
        record = tmp_path / "digests" / "ogbn-small.json"
        record.write_text(content)
        with pytest.raises(InputError, match=r"ogbn-small\.json: is not a record of digests; remove it"):
            fetch(known, tmp_path)
        record.unlink()
        fetch(known, tmp_path)
    assert json.loads(record.read_text()) == DIGESTS


def test_archive_with_a_file_missing(tmp_path: Path) -> None:
    content = zipped({"small/raw/edge.csv.gz": FILES["raw/edge.csv.gz"], "small/split/x": b""})
    with serve(Behaviour(content)) as server, pytest.raises(InputError, match=r"has no split/a/train\.csv\.gz"):
        fetch(small(server.url), tmp_path)


def test_archive_of_something_else(tmp_path: Path) -> None:
    with serve(Behaviour(zipped({"readme": b"hello"}))) as server, pytest.raises(InputError, match="has no folder raw"):
        fetch(small(server.url, published=False), tmp_path)
    assert not (tmp_path / "ogbn_small").exists()


def test_archive_cut_short_by_a_server_that_does_not_say_its_length(tmp_path: Path) -> None:
    with serve(Behaviour(ARCHIVE, length=False, stops=[len(ARCHIVE) // 2])) as server:
        with pytest.raises(InputError, match=r"not a valid zip archive .*renamed to .*file\.zip\.refused"):
            fetch(small(server.url), tmp_path)
        fetch(small(server.url), tmp_path)
    assert files(tmp_path / "ogbn_small") == FILES


def test_no_network_says_where_to_put_the_files(tmp_path: Path) -> None:
    with serve(Behaviour(ARCHIVE)) as server:
        pass
    known = small(server.url)
    with pytest.raises(InputError, match="cannot be reached") as caught:
        fetch(known, tmp_path)
    assert str(tmp_path / "downloads" / "file.zip") in str(caught.value)
    assert str(tmp_path / "ogbn_small") in str(caught.value)
    (tmp_path / "downloads" / "file.zip").write_bytes(ARCHIVE)
    fetch(known, tmp_path)
    assert files(tmp_path / "ogbn_small") == FILES


def test_folder_put_there_by_hand_is_verified(tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / "ogbn_small" / name).parent.mkdir(parents=True)
        (tmp_path / "ogbn_small" / name).write_bytes(content)
    known = small("https://nowhere.invalid/file.zip")
    fetch(known, tmp_path)
    with pytest.raises(InputError, match="as published"):
        fetch(replace(known, digests={"raw/edge.csv.gz": "0" * 64}), tmp_path)


def test_kill_in_the_middle_of_the_download(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from deepergcn.data.ogb.known import Known, Settings\n"
        "from deepergcn.data.ogb.fetch import fetch\n"
        "fetch(Known(name='ogbn-small', summary='', url=sys.argv[1], settings=Settings()), Path(sys.argv[2]))"
    )
    # It breaks off at once, and the pause before the next attempt is long enough to be killed in.
    with serve(Behaviour(ARCHIVE, stops=[100])) as server:
        process = subprocess.Popen([sys.executable, "-c", code, server.url, tmp_path])
        part = tmp_path / "downloads" / "file.zip.part"
        until = time.monotonic() + 30
        while not (part.is_file() and part.stat().st_size == 100) and time.monotonic() < until:
            time.sleep(0.01)
        process.kill()
        process.wait()
        assert part.stat().st_size == 100
        assert not (tmp_path / "ogbn_small").exists()
        assert not (tmp_path / "downloads" / "file.zip").exists()
        fetch(small(server.url), tmp_path)
        assert server.requests[-1]["Range"] == "bytes=100-"
    assert files(tmp_path) == {f"ogbn_small/{name}": content for name, content in FILES.items()}
