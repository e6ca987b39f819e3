"""Predict or embed a file of molecules of any length: a part at a time is in memory, and a finished part stays."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib

from deepergcn.categories import ATOM_SIZES
from deepergcn.cores import check_jobs
from deepergcn.data.molecules.rows import stream_rows
from deepergcn.data.molecules.skipped import Skipped
from deepergcn.data.provenance import MoleculeProvenance
from deepergcn.data.storage.csv_text import header_length
from deepergcn.data.storage.digest import file_digest, text_digest
from deepergcn.data.storage.endings import MOLECULE_NAMES, SDF_NAMES, SMI_NAMES
from deepergcn.data.storage.progress import ProgressHook
from deepergcn.data.storage.workers import in_processes
from deepergcn.errors import InputError, quote
from deepergcn.inference.parts.folder import Manifest, PartFolder, PartJob, PartRecord
from deepergcn.inference.parts.join import join_parts
from deepergcn.inference.parts.make import Made, Part, PartMaker
from deepergcn.inference.parts.slices import slices
from deepergcn.inference.predictions import Embeddings, Predictions
from deepergcn.inference.predictor import Predictor
from deepergcn.runs.folders import seed_folders

_NAMED = 10  # rows that could not be read and are named

PART_ROWS = 20_000
"""Rows of a part where nothing else is said: what a kill loses at most, half a minute on one core."""


@dataclass(frozen=True)
class Shard:
    """Every ``of``-th part, beginning with part ``number``, counted from 1."""

    number: int = 1
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """From ``i/n``, such as ``2/8``."""
        found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
        if found is not None and 1 <= int(found[1]) <= int(found[2]):
            return cls(int(found[1]), int(found[2]))
        raise InputError(f"--shard is {quote(text)}; expected i/n with i from 1 to n, such as 1/4")

    def has(self, part: int) -> bool:
        """Whether a part, counted from 0, belongs to it."""
        return part % self.of == self.number - 1


@dataclass(frozen=True)
class Written:
    """The state of the parts after a call.

    Attributes:
        folder: The parts.
        numbers: The numbers of those of the shard.
        total: The number of parts of the whole input.
        made: The number of parts that this call has made.
        rows: The rows of the parts of the shard.
        skipped: The number of rows that could not be read.
        first_skipped: The first of them.
        decisions: What decides between classes, as readable lines.
    """

    folder: PartFolder
    numbers: tuple[int, ...]
    total: int
    made: int
    rows: int
    skipped: int
    first_skipped: tuple[Skipped, ...]
    decisions: tuple[str, ...]

    def all_skipped(self) -> list[Skipped]:
        """All rows that could not be read."""
        return [row for number in self.numbers for row in self.folder.record(number).skipped]


def takes_parts(model: Predictor, data: object) -> bool:
    """Whether an input is a file of molecules for a network that was trained on molecules: its rows are independent."""
    molecules = model.task.level == "graph" and model.info.inputs.nodes == ATOM_SIZES
    return molecules and isinstance(data, str | Path) and str(data).lower().endswith(MOLECULE_NAMES)


def as_trained(job: PartJob, model: Predictor, data: Path) -> PartJob:
    """The job with the columns of training where it names none."""
    trained = model.info.provenance
    if not isinstance(trained, MoleculeProvenance):
        return job
    changes = {} if job.delimiter is not None else {"delimiter": trained.delimiter}
    if job.smiles_column is None and not data.name.lower().endswith(SDF_NAMES + SMI_NAMES):
        changes["smiles_column"] = trained.smiles_column
    return job.model_copy(update=changes)


def write_parts(
    run: Path,
    model: Predictor,
    data: Path,
    folder: Path,
    job: PartJob,
    *,
    shard: Shard = Shard(),  # noqa: B008 (it is frozen)
    jobs: int = 1,
    ray: str | None = None,
    progress: ProgressHook | None = None,
) -> Written:
    """Make the parts of a shard that are not there yet.

    Args:
        run: Where the model was loaded from.
        model: The network.
        data: The file of molecules.
        folder: The folder of the parts; a second call with the same model, input and job continues there.
        job: What is to be made.
        shard: Which parts.
        jobs: The number of processes.
        ray: The address of a Ray cluster to make them on, or ``"auto"``.
        progress: Called with the number of rows that are done.
    """
    check_jobs(jobs)
    if ray is not None and jobs > 1:
        raise InputError("--jobs: cannot be combined with --ray, which uses the processors of the cluster")
    data = data.absolute()
    job = as_trained(job, model, data)
    parts = PartFolder(folder.absolute(), job.ending)
    reader = _Reader(data, job, shard, parts)
    reader.check()
    parts.open(Manifest(model=_model_digest(run), data=file_digest(data), job=job))
    maker = PartMaker(model, job)
    made = 0
    results: Iterator[Made] = iter(())
    if ray is None:
        results = _make(maker, reader.missing(), jobs)
    elif next(reader.missing(), None) is not None:
        from deepergcn.inference.parts.on_ray import make_on_ray

        results = make_on_ray(maker, data, reader.missing, ray)
    for result in results:
        parts.finish(result.number, result.content, result.record)
        made += 1
        if progress is not None:
            progress(made * job.rows, None)
    if ray is not None:
        reader.count()  # the cluster has read the file, not this process
    return reader.written(made)


def write_file(
    run: Path,
    model: Predictor,
    data: Path,
    output: Path,
    job: PartJob,
    *,
    jobs: int = 1,
    ray: str | None = None,
    progress: ProgressHook | None = None,
    finished: Callable[[Written], None] = lambda _: None,
) -> Written:
    """As :func:`write_parts`, and then one file of all parts.

    Until the file is complete, the parts are kept in a folder beside it, ``NAME.parts``: after a kill the same call
    continues with them, and a call with another model, input or job starts again.

    Args:
        output: The file.
        finished: Called before the parts are removed.

    The other arguments are those of :func:`write_parts`.
    """
    folder = output.with_name(f"{output.name}.parts")
    manifest = Manifest(model=_model_digest(run), data=file_digest(data), job=as_trained(job, model, data))
    with PartFolder(folder, job.ending).alone(manifest):
        written = write_parts(run, model, data, folder, job, jobs=jobs, ray=ray, progress=progress)
        if written.skipped == written.rows:
            first = written.first_skipped[0]
            raise InputError(f"{data}: no row can be read; row {first.row} is {quote(first.molecule)}: {first.reason}")
        join_parts(written.folder, written.numbers, output)
        finished(written)
    return written


def write_whole(
    run: Path,
    results: Predictions | Embeddings,
    files: Iterable[Path],
    folder: Path,
    job: PartJob,
    how: Mapping[str, Any],
) -> int:
    """Write results that were computed all at once, for the nodes of a graph or for graphs, as parts in a folder.

    A part that is there from the same model, files and job stays as it is.

    Args:
        run: Where the model was loaded from.
        results: The predictions or embeddings.
        files: What they were computed from; a dataset by its name.
        folder: Where the parts go.
        job: What is made.
        how: Further arguments of the ``content`` of the results.

    Returns:
        The number of parts.
    """
    parts = PartFolder(folder.absolute(), job.ending)
    digests = (file_digest(file) if file.is_file() else str(file) for file in files)
    parts.open(Manifest(model=_model_digest(run), data=text_digest(*digests), job=job))
    number = -1
    for number, some in enumerate(slices(results, job.rows)):
        if not parts.is_finished(number):
            content = some.content(job.ending, **how)
            header = header_length(content) if job.ending == ".csv" else 0
            parts.finish(number, content, PartRecord(rows=len(some), header=header))
    return number + 1


class _Reader:
    """The parts of a file that are to be made, counted while they are read."""

    def __init__(self, data: Path, job: PartJob, shard: Shard, folder: PartFolder) -> None:
        self.data, self.job, self.shard, self.folder = data, job, shard, folder
        self.total = 0

    def check(self) -> None:
        """Check that the file can be read and has the columns, before anything is written."""
        next(self._parts())

    def missing(self) -> Iterator[Part]:
        """The parts of the shard that are not finished."""
        self.total = 0
        for part in self._parts():
            self.total += 1
            if self.shard.has(part.number) and not self.folder.is_finished(part.number):
                yield part

    def count(self) -> None:
        """Count the parts alone."""
        self.total = sum(1 for _ in self._parts())

    def written(self, made: int) -> Written:
        """What is there once all parts of the shard are."""
        numbers = tuple(number for number in range(self.total) if self.shard.has(number))
        rows, skipped, first, decisions = 0, 0, list[Skipped](), dict[str, None]()
        for number in numbers:
            record = self.folder.record(number)
            rows, skipped = rows + record.rows, skipped + len(record.skipped)
            decisions |= dict.fromkeys(record.decisions)
            first += record.skipped[: _NAMED - len(first)]
        return Written(self.folder, numbers, self.total, made, rows, skipped, tuple(first), tuple(decisions))

    def _parts(self) -> Iterator[Part]:
        job, first = self.job, 0
        rows = stream_rows(self.data, job.rows, job.smiles_column, job.id_column, job.delimiter)
        for number, part in enumerate(rows):
            yield Part(number, first, part)
            first += len(part.texts)


def _make(maker: PartMaker, parts: Iterator[Part], jobs: int) -> Iterator[Made]:
    """Make parts in this process or in several, with at most two parts per process in memory."""
    if jobs == 1:
        yield from map(maker, parts)
        return
    threads = max(joblib.cpu_count() // jobs, 1)
    yield from in_processes(maker, ((part, threads) for part in parts), jobs, large=True)


def _model_digest(run: Path) -> str:
    folders = [run] if run.is_file() else list(seed_folders(run).values()) or [run]
    files = [folder if folder.is_file() else folder / "model.safetensors" for folder in folders]
    return text_digest(*(file_digest(file) for file in files if file.is_file()))
