"""Download, verify and unpack a published dataset, completely or not at all."""

import json
from pathlib import Path

from deepergcn.data.ogb.known import Known
from deepergcn.data.storage.archive import extract
from deepergcn.data.storage.digest import file_digests
from deepergcn.data.storage.download import NoAnswerError, download
from deepergcn.data.storage.files import write_text
from deepergcn.data.storage.progress import ProgressHook
from deepergcn.errors import InputError

_FOLDERS = ("raw", "split", "mapping")


def fetch(known: Known, root: Path, progress: ProgressHook | None = None) -> Path:
    """The folder of the dataset under ``root``, downloaded if missing, and verified in any case.

    The files must have the published digests. If none are published, the digests of the first download are recorded
    under ``root`` and must match from then on. An archive placed in ``downloads/`` by hand is used as if downloaded.
    """
    folder = root / known.folder
    if folder.exists():
        _verify(known, folder, root)
        _record(known, folder, root)
        return folder
    archive = archive_place(known, root)
    try:
        download(known.url, archive, progress)
    except NoAnswerError as error:
        raise InputError(
            f"{error}; without a network, copy that file to {archive}, or its unpacked folder to {folder}, "
            "and try again"
        ) from error
    try:
        extract(archive, folder, lambda made: _verify(known, made, root))
    except InputError as error:
        refused = archive.with_name(f"{archive.name}.refused")
        archive.replace(refused)
        raise InputError(f"{error}; the archive was renamed to {refused}") from error
    _record(known, folder, root)
    archive.unlink()
    return folder


def archive_place(known: Known, root: Path) -> Path:
    """The path of the downloaded archive of a dataset."""
    return root / "downloads" / known.url.rpartition("/")[2]


def _verify(known: Known, folder: Path, root: Path) -> None:
    """Compare the files with the published digests, or else with the recorded ones."""
    for needed in ("raw", "split"):
        if not (folder / needed).is_dir():
            raise InputError(f"{folder}: has no folder {needed}, which OGB's layout needs")
    record = _record_place(known, root)
    expected = dict(known.digests)
    source = "published"
    if not expected and record.is_file():
        expected = _recorded(record)
        source = f"recorded in {record}"
    absent = [name for name in expected if not (folder / name).is_file()]
    if absent:
        raise InputError(f"{folder}: has no {absent[0]}")
    found = file_digests([folder / name for name in expected], folder)
    for name, digest in expected.items():
        if found[name] != digest:
            raise InputError(f"{folder / name}: has the SHA-256 {found[name]}; expected {digest}, as {source}")


def _recorded(record: Path) -> dict[str, str]:
    try:
        found = json.loads(record.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(digest, str) for digest in found.values()):
        raise InputError(f"{record}: is not a record of digests; remove it to trust the present files")
    return found


def _record(known: Known, folder: Path, root: Path) -> None:
    """AnyProvenance the digests of the first download if none are published."""
    place = _record_place(known, root)
    if known.digests or place.is_file():
        return
    files = [path for part in _FOLDERS for path in (folder / part).rglob("*") if path.is_file()]
    write_text(place, json.dumps(file_digests(files, folder), indent=1) + "\n")


def _record_place(known: Known, root: Path) -> Path:
    return root / "digests" / f"{known.name}.json"
