"""A folder of parts: a file for each, and a record of their input and model, so that no part is computed twice."""

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, NonNegativeInt, PositiveInt, ValidationError

from deepergcn.data.molecules.skipped import Skipped
from deepergcn.data.storage.digest import file_digest
from deepergcn.data.storage.files import write_bytes, write_text
from deepergcn.errors import InputError, TemporaryError

Kind = Literal["predict", "embed"]

_STATE, _MANIFEST, _LOCK = "_state", "parts.json", "lock"  # readers of folders pass over names that begin so


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class PartJob(_Record):
    """What is made of every part.

    Attributes:
        kind: Whether it is predicted or embedded.
        ending: How the names of the files end: ``.csv``, ``.parquet`` or ``.npz``.
        rows: The rows of the input in a part.
        smiles_column, id_column, delimiter: How the input is read.
        inputs, spreadsheet: How predictions are written.
    """

    kind: Kind
    ending: str
    rows: PositiveInt
    smiles_column: str | None = None
    id_column: str | None = None
    delimiter: str | None = None
    inputs: bool = True
    spreadsheet: bool = False


class Manifest(_Record):
    """What the parts of a folder are made of: the digests of the model and of the input, and the job."""

    model: str
    data: str
    job: PartJob


class PartRecord(_Record):
    """A part that is finished.

    Attributes:
        rows: Its rows.
        digest: The SHA-256 of its file.
        header: The bytes of the header of its CSV file.
        skipped: The rows that could not be read, by their numbers in the whole input.
        decisions: What decides between classes, as readable lines.
    """

    rows: NonNegativeInt
    digest: str = ""
    header: NonNegativeInt = 0
    decisions: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()


class PartFolder:
    """A folder of parts.

    Args:
        path: The folder, which may be there or not.
        ending: How the names of the parts end.
    """

    def __init__(self, path: Path, ending: str) -> None:
        self.path, self.ending = path, ending

    def open(self, manifest: Manifest) -> None:
        """Start to write the parts of this manifest, or continue; an error if the folder holds anything else."""
        if not self._check(manifest):
            write_text(self._manifest, manifest.model_dump_json(indent=1))

    def _check(self, manifest: Manifest) -> bool:
        """Whether the folder already holds parts; an error if they cannot be continued."""
        file = self._manifest
        if not file.is_file():
            if self.path.exists() and not self.path.is_dir():
                raise InputError(f"{self.path}: is a file; expected a folder for the parts, or a name with an ending")
            if self.path.is_dir() and any(entry.name != _STATE for entry in self.path.iterdir()):
                raise InputError(f"{self.path}: has other files; expected a new or empty folder for the parts")
            return False
        try:
            found = Manifest.model_validate_json(file.read_bytes())
        except (ValidationError, OSError) as error:
            raise InputError(
                f"{file}: cannot be read; expected the record that this version writes with the parts"
            ) from error
        if found != manifest:
            raise InputError(f"{self.path}: {_difference(found, manifest)}; expected another folder for --output")
        return True

    @contextmanager
    def alone(self, manifest: Manifest) -> Iterator[None]:
        """Have the folder for this process alone, without parts of another manifest; it is removed at the end.

        After an error that may be gone the next time (a full disk, an interruption) the parts stay for the next call;
        an error of the input would come again.
        """
        try:
            self._check(manifest)
        except InputError:
            if not self._manifest.is_file():
                raise
        with self._locked():
            try:
                self._check(manifest)
            except InputError:
                self._empty()
            try:
                yield
            except TemporaryError:
                raise
            except InputError:
                shutil.rmtree(self.path, ignore_errors=True)
                raise
            shutil.rmtree(self.path)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = FileLock(self.path / _STATE / _LOCK, timeout=0, fallback_to_soft=False)
        with suppress(OSError):  # a file system without locks, or one that the first part cannot be written to either
            Path(lock.lock_file).parent.mkdir(parents=True, exist_ok=True)
            try:
                lock.acquire()
            except Timeout as error:
                raise InputError(f"{self.path}: another process is writing these parts") from error
        try:
            yield
        finally:
            lock.release()

    def _empty(self) -> None:
        """Remove all but the lock."""
        for entry in [*self.path.iterdir(), *(self.path / _STATE).iterdir()]:
            if entry.name not in (_STATE, _LOCK):
                entry.unlink()

    def file(self, number: int) -> Path:
        """The file of a part."""
        return self.path / f"part-{number:05d}{self.ending}"

    def is_finished(self, number: int) -> bool:
        """Whether a part is there, with its record, which is written last, and as it was written."""
        file = self.file(number)
        if not (self._record(number).is_file() and file.is_file()):
            return False
        try:
            return self.record(number).digest == file_digest(file)
        except InputError:
            return False

    def finish(self, number: int, content: bytes, record: PartRecord) -> None:
        """Write a part, whole or not at all."""
        write_bytes(self.file(number), content)
        digest = hashlib.sha256(content).hexdigest()
        write_text(self._record(number), record.model_copy(update={"digest": digest}).model_dump_json())

    def record(self, number: int) -> PartRecord:
        """The record of a finished part."""
        file = self._record(number)
        try:
            return PartRecord.model_validate_json(file.read_bytes())
        except (ValidationError, OSError) as error:
            raise InputError(f"{file}: cannot be read; remove it to compute its part again") from error

    @property
    def _manifest(self) -> Path:
        return self.path / _STATE / _MANIFEST

    def _record(self, number: int) -> Path:
        return self.path / _STATE / f"{number:05d}.json"


def _difference(found: Manifest, wanted: Manifest) -> str:
    if found.job.kind != wanted.job.kind:
        return f"has parts of deepergcn {found.job.kind}, not of {wanted.job.kind}"
    if found.model != wanted.model:
        return "its parts were made with another model, or the run has been trained further since"
    if found.data != wanted.data:
        return "its parts were made from another input, or the input has changed since"
    for name in PartJob.model_fields:
        before, now = getattr(found.job, name), getattr(wanted.job, name)
        if before != now:
            flag = {"ending": "format", "rows": "part-rows"}.get(name, name.replace("_", "-"))
            return f"its parts were made with --{flag} {before}, not {now}"
    return "its parts were made by another version"
