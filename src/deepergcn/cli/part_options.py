"""The options of ``predict`` and ``embed`` for inputs of any length, and what they do."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepergcn.cli.options import Reading
from deepergcn.cli.terminal import say
from deepergcn.errors import InputError

if TYPE_CHECKING:
    from deepergcn.data.molecules.skipped import Skipped
    from deepergcn.inference.parts.folder import Kind
    from deepergcn.inference.parts.write import Written
    from deepergcn.inference.predictions import Embeddings, Predictions
    from deepergcn.inference.predictor import Predictor

_NAMED = 10  # rows that could not be read and are named


def _option(flag: str, help_text: str, metavar: str | None = None) -> Any:
    return typer.Option(flag, help=help_text, metavar=metavar, rich_help_panel="Inputs of any length")


@dataclass(frozen=True)
class PartOptions:
    """How a file of molecules is predicted part by part."""

    format_name: Annotated[
        str | None, _option("--format", "Format of the parts where --output is a folder: csv, parquet or npz (embed).")
    ] = None
    part_rows: Annotated[
        int | None,
        _option("--part-rows", "Rows of INPUT in a part, the most that an interruption loses. Default: 20000.", "ROWS"),
    ] = None
    shard: Annotated[
        str | None,
        _option("--shard", "Compute the i-th of every n parts; all shards share the --output folder.", "i/n"),
    ] = None
    jobs: Annotated[int, _option("--jobs", "Processes on this machine, each with a part in memory.")] = 1
    ray: Annotated[str | None, _option("--ray", "Address of a Ray cluster to use, or auto.", "ADDRESS")] = None

    def ending(self, output: Path, endings: Sequence[str]) -> str:
        """How the names of the files end, checked before anything is read.

        Args:
            output: A file with one of the endings, or a folder of parts.
            endings: The endings of files, the first of which the parts of a folder have unless ``--format`` says it.
        """
        from deepergcn.inference.predictions import check_ending

        if self.part_rows is not None and self.part_rows < 1:
            raise InputError(f"--part-rows is {self.part_rows}; expected at least 1")
        if not _is_folder(output):
            found = check_ending(output, endings)
            if self.format_name is not None:
                raise InputError(f"--format: {output} says its own by its ending; expected a folder for --output")
            if self.shard is not None:
                raise InputError(f"--shard: {output} is one file; expected a folder as --output of all shards")
            return found
        found = endings[0] if self.format_name is None else f".{self.format_name}"
        if found not in endings:
            known = ", ".join(ending.removeprefix(".") for ending in endings)
            raise InputError(f"--format is {self.format_name!r}; expected one of {known}")
        if not output.absolute().parent.is_dir():
            raise InputError(f"{output}: the folder {output.parent} does not exist")
        return found

    def write(
        self,
        kind: "Kind",
        run: Path,
        model: "Predictor",
        output: Path,
        endings: Sequence[str],
        reading: Reading,
        **how: Any,
    ) -> bool:
        """Predict or embed a file of molecules part by part, and say what was done; False where it is no such file."""
        from deepergcn.cli.progress import molecule_bar
        from deepergcn.data.molecules.skipped import write_skipped
        from deepergcn.inference.parts.folder import PartJob
        from deepergcn.inference.parts.write import PART_ROWS, Shard, takes_parts, write_file, write_parts

        data = reading["data"]
        if not isinstance(data, str) or not takes_parts(model, data):
            self._refuse(output)
            return False
        tables = {
            "--edges": reading["edges"],
            "--nodes": reading["nodes"],
            "--node-features": reading["node_features"],
        }
        if given := [option for option, table in tables.items() if table is not None]:
            raise InputError(f"{given[0]}: the network was trained on molecules, which have none")
        job = PartJob(
            kind=kind,
            ending=self.ending(output, endings),
            rows=self.part_rows or PART_ROWS,
            smiles_column=reading["smiles_column"],
            id_column=reading["id_column"],
            delimiter=reading["delimiter"],
            **how,
        )
        shard = Shard() if self.shard is None else Shard.parse(self.shard)

        def list_skipped(written: "Written") -> None:
            if reading["skipped_file"] is not None:
                write_skipped(written.all_skipped(), reading["skipped_file"])

        with molecule_bar() as progress:
            spread: dict[str, Any] = {"jobs": self.jobs, "ray": self.ray, "progress": progress}
            if _is_folder(output):
                written = write_parts(run, model, Path(data), output, job, shard=shard, **spread)
                list_skipped(written)
            else:
                written = write_file(run, model, Path(data), output, job, finished=list_skipped, **spread)
        parts = self._parts(written) if _is_folder(output) else ""
        say(f"{output}: {written.rows} rows{parts}{left_empty(written.first_skipped, written.skipped)}")
        for line in written.decisions:
            say(line)
        return True

    def write_whole(
        self,
        kind: "Kind",
        run: Path,
        results: "Predictions | Embeddings",
        output: Path,
        endings: Sequence[str],
        reading: Reading,
        **how: Any,
    ) -> str:
        """Write what was computed at once, to a file or to a folder of parts; how many parts, for the summary line."""
        from deepergcn.inference.parts.folder import PartJob
        from deepergcn.inference.parts.write import PART_ROWS, write_whole

        if not _is_folder(output):
            results.write(output, **how)
            return ""
        job = PartJob(kind=kind, ending=self.ending(output, endings), rows=self.part_rows or PART_ROWS, **how)
        return f" in {write_whole(run, results, _files(reading), output, job, how)} parts"

    def _refuse(self, output: Path) -> None:
        """Raise an error where something was said that only files of molecules can have."""
        said = {"--shard": self.shard, "--ray": self.ray, "--jobs": self.jobs != 1}
        flags = [flag for flag, value in said.items() if value]
        if flags:
            raise InputError(
                f"{flags[0]} is for files of molecules; a node is predicted from the whole graph around it, and all "
                "nodes at once"
            )
        if self.part_rows is not None and not _is_folder(output):
            raise InputError(f"--part-rows: {output} is one file; expected a folder as --output")

    def _parts(self, written: "Written") -> str:
        there, mine = len(written.numbers) - written.made, len(written.numbers)
        text = f" in {mine} parts, of which {there} were there already" if there else f" in {mine} parts"
        return text if self.shard is None else f"{text} (shard {self.shard}, of {written.total} parts in all)"


def left_empty(first: "Sequence[Skipped]", count: int) -> str:
    """Which rows could not be read, for the summary line of a command: the first of this number of them."""
    if not count:
        return ""
    numbers = ", ".join(str(row.row) for row in first[:_NAMED])
    more = f" and {count - _NAMED} more" if count > _NAMED else ""
    return f", of which {count} could not be read and are empty: row {numbers}{more}"


def _files(reading: Reading) -> list[Path]:
    """The files that were read, those of a folder among them, or the name of a dataset."""
    given = [reading["data"], reading["edges"], reading["nodes"], reading["node_features"]]
    named = [name for one in given if one is not None for name in (one.values() if isinstance(one, dict) else (one,))]
    paths = [Path(name) for name in named]
    inside = (sorted(file for file in path.iterdir() if file.is_file()) for path in paths if path.is_dir())
    return [*(path for path in paths if not path.is_dir()), *(file for files in inside for file in files)]


def _is_folder(output: Path) -> bool:
    return output.is_dir() or not output.suffix
