"""The options of ``predict`` and ``embed`` for inputs of any length, and what they do."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deepergcn.cli.options import Reading, check_outputs
from deepergcn.cli.terminal import say
from deepergcn.cli.typed_tables import table_paths
from deepergcn.errors import InputError

if TYPE_CHECKING:
    from deepergcn.data.molecules.skipped import Skipped
    from deepergcn.inference.parts.folder import Kind, PartJob
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
        str | None, _option("--format", "Format of the parts if --output is a folder: csv, parquet or npz (embed).")
    ] = None
    part_rows: Annotated[
        int | None,
        _option(
            "--part-rows",
            "Rows of INPUT per part; an interruption loses the parts in progress. Default: 20000.",
            "ROWS",
        ),
    ] = None
    shard: Annotated[
        str | None,
        _option("--shard", "Compute the i-th of every n parts; all shards share the --output folder.", "i/n"),
    ] = None
    jobs: Annotated[int, _option("--jobs", "Number of processes on this machine; each holds one part in memory.")] = 1
    ray: Annotated[str | None, _option("--ray", "Address of a Ray cluster to use, or auto.", "ADDRESS")] = None

    def ending(self, output: Path, endings: Sequence[str]) -> str:
        """The ending of the output files, checked before anything is read.

        Args:
            output: A file with one of the endings, or a folder of parts.
            endings: The known endings; the first is the default for the parts of a folder, without ``--format``.
        """
        from deepergcn.inference.predictions import check_ending

        if self.part_rows is not None and self.part_rows < 1:
            raise InputError(f"--part-rows is {self.part_rows}; expected at least 1")
        if str(output) == "-":
            raise InputError("--output is -; expected a file or a folder, since nothing is written to standard output")
        if not _is_folder(output):
            found = check_ending(output, endings)
            if self.format_name is not None:
                raise InputError(
                    f"--format: --output is the file {output}, whose ending is its format; expected a folder"
                )
            if self.shard is not None:
                raise InputError(f"--shard: --output is the file {output}; expected a folder that all shards share")
            return found
        found = endings[0] if self.format_name is None else f".{self.format_name}"
        if found not in endings:
            known = ", ".join(ending.removeprefix(".") for ending in endings)
            raise InputError(f"--format is {self.format_name!r}; expected one of {known}")
        if not output.absolute().parent.is_dir():
            raise InputError(f"--output is {output}; the folder {output.parent} does not exist")
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
    ) -> None:
        """Predict or embed, and print what was written.

        Args:
            kind: Whether to predict or to embed.
            run: The run directory or file that the model was loaded from.
            model: The network.
            output: A file, or a folder of parts.
            endings: As for :meth:`ending`.
            reading: The arguments for reading the input.
            how: Options for writing predictions.
        """
        from deepergcn.inference.parts.folder import PartJob
        from deepergcn.inference.parts.write import PART_ROWS, takes_parts

        files = table_paths(reading["data"], reading["edges"], reading["nodes"], reading["node_features"])
        check_outputs([output, reading["skipped_file"]], files)
        job = PartJob(kind=kind, ending=self.ending(output, endings), rows=self.part_rows or PART_ROWS, **how)
        data = reading["data"]
        if isinstance(data, str) and takes_parts(model, data):
            self._write_molecules(run, model, Path(data), output, job, reading)
        else:
            self._write_at_once(run, model, output, job, reading, files, how)

    def _write_molecules(
        self, run: Path, model: "Predictor", data: Path, output: Path, job: "PartJob", reading: Reading
    ) -> None:
        """Predict or embed a file of molecules part by part."""
        from deepergcn.cli.progress import molecule_bar
        from deepergcn.data.molecules.skipped import write_skipped
        from deepergcn.inference.parts.write import Shard, write_file, write_parts

        tables = {
            "--edges": reading["edges"],
            "--nodes": reading["nodes"],
            "--node-features": reading["node_features"],
        }
        if given := [option for option, table in tables.items() if table is not None]:
            raise InputError(f"{given[0]}: the network was trained on molecules; expected a file of molecules alone")
        columns = {
            "smiles_column": reading["smiles_column"],
            "id_column": reading["id_column"],
            "delimiter": reading["delimiter"],
        }
        job = job.model_copy(update=columns)
        shard = Shard() if self.shard is None else Shard.parse(self.shard)

        def list_skipped(written: "Written") -> None:
            if reading["skipped_file"] is not None:
                write_skipped(written.all_skipped(), reading["skipped_file"])

        with molecule_bar() as progress:
            spread: dict[str, Any] = {"jobs": self.jobs, "ray": self.ray, "progress": progress}
            if _is_folder(output):
                written = write_parts(run, model, data, output, job, shard=shard, **spread)
                list_skipped(written)
            else:
                written = write_file(run, model, data, output, job, finished=list_skipped, **spread)
        parts = self._parts(written) if _is_folder(output) else ""
        say(f"{output}: {written.rows} rows{parts}{_left_empty(written.first_skipped, written.skipped)}")
        for line in written.decisions:
            say(line)

    def _write_at_once(
        self,
        run: Path,
        model: "Predictor",
        output: Path,
        job: "PartJob",
        reading: Reading,
        files: Sequence[Path],
        how: dict[str, Any],
    ) -> None:
        """Predict or embed the nodes of a graph, graphs or links."""
        from deepergcn.inference.parts.write import write_whole

        self._refuse(output)
        results: Predictions | Embeddings = getattr(model, job.kind)(**reading)
        parts = ""
        if _is_folder(output):
            parts = f" in {write_whole(run, results, files, output, job, how)} parts"
        else:
            results.write(output, **how)
        say(f"{output}: {results.extent()}{parts}{_left_empty(results.skipped, len(results.skipped))}")
        for line in results.notes():
            say(line)

    def _refuse(self, output: Path) -> None:
        """Raise an error if an option is given that applies to files of molecules only."""
        said = {"--shard": self.shard, "--ray": self.ray, "--jobs": self.jobs != 1}
        flags = [flag for flag, value in said.items() if value]
        if flags:
            raise InputError(f"{flags[0]}: works with files of molecules only; other inputs are predicted all at once")
        if self.part_rows is not None and not _is_folder(output):
            raise InputError(f"--part-rows: --output is the file {output}; expected a folder")

    def _parts(self, written: "Written") -> str:
        there, mine = len(written.numbers) - written.made, len(written.numbers)
        text = f" in {mine} parts, of which {there} existed already" if there else f" in {mine} parts"
        return text if self.shard is None else f"{text} (shard {self.shard}, of {written.total} parts in all)"


def _left_empty(first: "Sequence[Skipped]", count: int) -> str:
    """The rows that could not be read, for the summary line of a command: their number, and the first of them."""
    if not count:
        return ""
    numbers = ", ".join(str(row.row) for row in first[:_NAMED])
    more = f" and {count - _NAMED} more" if count > _NAMED else ""
    verb, rows = ("is", "row") if count == 1 else ("are", "rows")
    return f", of which {count} could not be read and {verb} empty: {rows} {numbers}{more}"


def _is_folder(output: Path) -> bool:
    return output.is_dir() or not output.suffix
