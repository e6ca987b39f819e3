"""Download a file over https: resumable, checked, and renamed only when complete."""

import http.client
import re
import shutil
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from deepergcn.data.storage.progress import ProgressHook
from deepergcn.errors import InputError
from deepergcn.version import __version__

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_CHUNK = 1 << 20


class NoAnswerError(InputError):
    """The server cannot be reached."""


class _BrokenTransferError(Exception):
    """The transfer stopped early; the next attempt resumes it."""


def download(
    url: str,
    path: Path,
    progress: ProgressHook | None = None,
    *,
    attempts: int = 5,
    pause: float = 1.0,
    timeout: float = 30.0,
    most_bytes: int = 1 << 34,
) -> None:
    """Download the file at ``url`` to ``path``.

    Until it is complete, the data is kept in ``path`` + ``.part``, and a later call resumes it if the file on the
    server has not changed.

    Args:
        url: an https address (http only for the local machine).
        path: the target; nothing happens if it exists.
        progress: called after every block.
        attempts: the number of attempts.
        pause: seconds between two attempts.
        timeout: seconds without data after which a transfer counts as broken.
        most_bytes: the largest allowed file.
    """
    _check_url(url)
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    reason = ""
    for attempt in range(attempts):
        if attempt:
            time.sleep(pause)
        try:
            _transfer(url, part, progress, timeout, most_bytes)
        except _BrokenTransferError as error:
            reason = str(error)
            continue
        except NoAnswerError as error:
            if attempt == 0:
                raise
            reason = str(error)
            continue
        part.replace(path)
        _tag_file(part).unlink(missing_ok=True)
        return
    raise InputError(f"{url}: {reason}; the part received is kept: try again to resume the download")


def _transfer(url: str, part: Path, progress: ProgressHook | None, timeout: float, most_bytes: int) -> None:
    """One attempt, resuming the previous one."""
    tag = _tag_file(part).read_text() if _tag_file(part).is_file() else ""
    have = part.stat().st_size if part.is_file() and tag else 0
    request = urllib.request.Request(url, headers={"User-Agent": f"deepergcn/{__version__}"})
    if have:
        request.add_header("Range", f"bytes={have}-")
        request.add_header("If-Range", tag)
    with _open(request, part, timeout) as answer:
        kind = answer.headers.get_content_type()
        if kind in ("text/html", "application/xhtml+xml"):
            raise InputError(f"{url}: the server answered with a web page ({kind}) instead of the file")
        start, total = _extent(answer, have)
        if total is not None and total > most_bytes:
            raise InputError(f"{url}: the file has {total} bytes; expected at most {most_bytes}")
        free = shutil.disk_usage(part.parent).free
        if total is not None and total - start > free:
            raise InputError(f"{part.parent}: has {free} bytes free; the file needs {total - start}")
        if start == 0:
            part.unlink(missing_ok=True)
            _tag_file(part).write_text(_tag(answer))
        done = _copy(answer, part, start, total, progress, most_bytes)
    if total is not None and done != total:
        raise _BrokenTransferError(f"the transfer stopped after {done} of {total} bytes")


def _open(request: urllib.request.Request, part: Path, timeout: float) -> Any:
    url = request.full_url
    try:
        return urllib.request.build_opener(_SafeRedirects).open(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            _tag_file(part).unlink(missing_ok=True)
            raise _BrokenTransferError("the server refused to resume the transfer") from error
        if error.code >= 500 or error.code == http.HTTPStatus.TOO_MANY_REQUESTS:
            raise _BrokenTransferError(f"the server answered {error.code} {error.reason}") from error
        raise InputError(f"{url}: the server answered {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise NoAnswerError(f"{url} cannot be reached ({error.reason})") from error
    except (http.client.HTTPException, OSError) as error:
        raise _BrokenTransferError(f"the connection broke ({error or type(error).__name__})") from error


def _extent(answer: Any, have: int) -> tuple[int, int | None]:
    """The offset of the response in the file, and the size of the whole file."""
    if answer.status == http.HTTPStatus.PARTIAL_CONTENT:
        found = re.fullmatch(r"bytes ([0-9]{1,18})-[0-9]+/([0-9]{1,18})", answer.headers.get("Content-Range", ""))
        if found is None or int(found[1]) != have:
            raise InputError(f"{answer.url}: the server sent a different part of the file than requested")
        return have, int(found[2])
    length = answer.headers.get("Content-Length", "")
    return 0, int(length) if re.fullmatch(r"[0-9]{1,18}", length) else None


def _copy(
    answer: Any, part: Path, start: int, total: int | None, progress: ProgressHook | None, most_bytes: int
) -> int:
    done = start
    try:
        with part.open("r+b" if start else "wb") as file:
            file.seek(start)
            while piece := _read(answer, done):
                done += len(piece)
                if done > (most_bytes if total is None else total):
                    raise InputError(
                        f"{answer.url}: the server sent more than the {total or most_bytes} bytes expected"
                    )
                file.write(piece)
                if progress is not None:
                    progress(done, total)
    except OSError as error:
        raise InputError(f"{part}: cannot be written ({error.strerror})") from error
    return done


def _read(answer: Any, done: int) -> bytes:
    try:
        return bytes(answer.read(_CHUNK))
    except (http.client.HTTPException, OSError) as error:
        raise _BrokenTransferError(f"the transfer broke after {done} bytes ({error})") from error


def _tag_file(part: Path) -> Path:
    return part.with_name(f"{part.name}.tag")


def _tag(answer: Any) -> str:
    """The identifier of this version of the file; without one a transfer is not resumed."""
    etag = answer.headers.get("ETag", "")
    return str(answer.headers.get("Last-Modified", "") if not etag or etag.startswith("W/") else etag)


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        return
    raise InputError(f"{url}: is not an https address")


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but never away from https."""

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: str) -> Any:
        _check_url(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)
