"""A download arrives whole or not at all, whatever the server does, and the next try works."""

from pathlib import Path
from typing import Any

import pytest

from deepergcn.data.storage.download import NoAnswerError, download
from deepergcn.errors import InputError
from tests.data.storage.server import Behaviour, serve

CONTENT = bytes(range(256)) * 5_000
HALF = len(CONTENT) // 2


def get(url: str, path: Path, **options: Any) -> None:
    download(url, path, pause=0, timeout=5, **options)


def test_whole_file_with_progress(tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    with serve(Behaviour(CONTENT)) as server:
        get(server.url, tmp_path / "new" / "file.zip", progress=lambda done, total: seen.append((done, total)))
    assert (tmp_path / "new" / "file.zip").read_bytes() == CONTENT
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["file.zip"]
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert seen == sorted(seen)


def test_file_that_is_there_is_not_fetched(tmp_path: Path) -> None:
    (tmp_path / "file.zip").write_bytes(b"mine")
    with serve(Behaviour(CONTENT)) as server:
        get(server.url, tmp_path / "file.zip")
        assert server.requests == []


def test_server_that_stops_half_way_is_resumed(tmp_path: Path) -> None:
    with serve(Behaviour(CONTENT, stops=[HALF, 1000])) as server:
        get(server.url, tmp_path / "file.zip")
        ranges = [request.get("Range") for request in server.requests]
    assert ranges == [None, f"bytes={HALF}-", f"bytes={HALF + 1000}-"]
    assert (tmp_path / "file.zip").read_bytes() == CONTENT


def test_broken_for_good_then_resumed_by_the_next_call(tmp_path: Path) -> None:
    with serve(Behaviour(CONTENT, stops=[HALF, 0])) as server:
        with pytest.raises(
            InputError, match=f"stopped after {HALF} of {len(CONTENT)} bytes; the part received is kept"
        ):
            get(server.url, tmp_path / "file.zip", attempts=2)
        assert not (tmp_path / "file.zip").exists()
        get(server.url, tmp_path / "file.zip")
        assert server.requests[-1]["Range"] == f"bytes={HALF}-"
    assert (tmp_path / "file.zip").read_bytes() == CONTENT


@pytest.mark.parametrize(
    "second",
    [
        Behaviour(CONTENT, ranges=False),
        Behaviour(CONTENT[::-1], etag='"two"'),
        Behaviour(CONTENT[:1000]),
        Behaviour(CONTENT, statuses=[503, 429]),
    ],
    ids=["no ranges", "another file", "a shorter file", "busy"],
)
def test_resumed_from_a_server_that_has_changed(second: Behaviour, tmp_path: Path) -> None:
    with serve(Behaviour(CONTENT, stops=[HALF])) as server, pytest.raises(InputError):
        get(server.url, tmp_path / "file.zip", attempts=1)
    with serve(second):
        get(second.url, tmp_path / "file.zip")
    assert (tmp_path / "file.zip").read_bytes() == second.content
    assert len(list(tmp_path.iterdir())) == 1


def test_without_an_etag_it_begins_again(tmp_path: Path) -> None:
    with serve(Behaviour(CONTENT, etag="", stops=[HALF])) as server:
        get(server.url, tmp_path / "file.zip")
        assert "Range" not in server.requests[1]
    assert (tmp_path / "file.zip").read_bytes() == CONTENT


def test_wrong_range_is_refused(tmp_path: Path) -> None:
    with (
        serve(Behaviour(CONTENT, stops=[HALF], wrong_range=True)) as server,
        pytest.raises(InputError, match="a different part of the file than requested"),
    ):
        get(server.url, tmp_path / "file.zip")


def test_web_page_instead_of_the_file(tmp_path: Path) -> None:
    with serve(Behaviour(b"<html>Sign in</html>", kind="text/html; charset=utf-8")) as server:
        with pytest.raises(InputError, match=r"answered with a web page \(text/html\) instead of the file"):
            get(server.url, tmp_path / "file.zip")
        assert list(tmp_path.iterdir()) == []
        server.content, server.kind = CONTENT, "application/zip"
        get(server.url, tmp_path / "file.zip")
    assert (tmp_path / "file.zip").read_bytes() == CONTENT


def test_file_that_does_not_exist(tmp_path: Path) -> None:
    with serve(Behaviour(CONTENT, statuses=[404])) as server:
        with pytest.raises(InputError, match="the server answered 404 Not Found"):
            get(server.url, tmp_path / "file.zip")
        get(server.url, tmp_path / "file.zip")
    assert (tmp_path / "file.zip").read_bytes() == CONTENT


def test_no_server_at_all(tmp_path: Path) -> None:
    with serve(Behaviour(CONTENT)) as server:
        pass
    with pytest.raises(NoAnswerError, match=r"cannot be reached \(.*refused"):
        get(server.url, tmp_path / "file.zip")
    assert list(tmp_path.iterdir()) == []


def test_server_that_goes_away_half_way(tmp_path: Path) -> None:
    with serve(Behaviour(CONTENT, stops=[HALF])) as server, pytest.raises(InputError):
        get(server.url, tmp_path / "file.zip", attempts=1)
    with pytest.raises(NoAnswerError):
        get(server.url, tmp_path / "file.zip")
    assert (tmp_path / "file.zip.part").stat().st_size == HALF


@pytest.mark.parametrize("length", [True, False])
def test_file_beyond_the_limit(length: bool, tmp_path: Path) -> None:
    with (
        serve(Behaviour(CONTENT, length=length)) as server,
        pytest.raises(InputError, match=r"expected at most 1000|more than the 1000 bytes"),
    ):
        get(server.url, tmp_path / "file.zip", most_bytes=1000)
    assert not (tmp_path / "file.zip").exists()


def test_unknown_length(tmp_path: Path) -> None:
    with serve(Behaviour(CONTENT, length=False)) as server:
        get(server.url, tmp_path / "file.zip")
    assert (tmp_path / "file.zip").read_bytes() == CONTENT


@pytest.mark.parametrize("url", ["http://example.org/file.zip", "file:///etc/hostname", "ftp://127.0.0.1/x", "hello"])
def test_only_https(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not an https address"):
        get(url, tmp_path / "file.zip")
    with serve(Behaviour(CONTENT, moved=url)) as server, pytest.raises(InputError):
        get(server.url, tmp_path / "file.zip")
    assert not (tmp_path / "file.zip").exists()


def test_redirect_on_this_machine(tmp_path: Path) -> None:
    with serve(Behaviour(CONTENT)) as server, serve(Behaviour(b"", moved=server.url)) as door:
        get(door.url, tmp_path / "file.zip")
    assert (tmp_path / "file.zip").read_bytes() == CONTENT
