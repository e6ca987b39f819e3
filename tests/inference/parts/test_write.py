"""An input in parts: the same predictions as in one, no part made twice, and one-line errors."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from filelock import FileLock

from deepergcn.errors import InputError, TemporaryError
from deepergcn.inference.parts import make, write
from deepergcn.inference.parts.folder import PartJob
from deepergcn.inference.parts.write import Shard, Written, write_file, write_parts
from deepergcn.inference.predictor import load
from tests.cli.program import Program
from tests.training.small import in_forked_processes
from tests.training.trained import make_run, molecule_file, small_recipe, write_lines


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts")
    return make_run(folder, small_recipe(molecule_file(folder), targets=["target"]))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """11 molecules, two of which cannot be read."""
    return write_lines(
        tmp_path / "new.csv",
        "name,smiles",
        *(f"m{i},{'C' * (i + 1) + ('1' if i in (3, 9) else '')}" for i in range(11)),
    )


def job(**changes: Any) -> PartJob:
    return PartJob(**{"kind": "predict", "ending": ".csv", "rows": 4, **changes})


def rows_of(*files: Path) -> list[dict[str, str]]:
    return [row for file in files for row in csv.DictReader(io.StringIO(file.read_text(), newline=""))]


def alike(found: list[dict[str, str]], expected: list[dict[str, str]]) -> None:
    assert [row["name"] for row in found] == [row["name"] for row in expected]
    for ours, theirs in zip(found, expected, strict=True):
        assert list(ours) == list(theirs)
        for name, cell in ours.items():
            if name.startswith("p("):
                assert (cell == "") == (theirs[name] == "")
                assert float(cell or 0) == pytest.approx(float(theirs[name] or 0), rel=1e-4, abs=1e-6)
            else:
                assert cell == theirs[name]


def test_parts_are_the_whole(run: Path, data: Path, tmp_path: Path) -> None:
    model = load(run)
    model.predict(data).write(tmp_path / "whole.csv")
    written = write_parts(run, model, data, tmp_path / "out", job())
    assert (written.rows, written.numbers, written.made, written.total) == (11, (0, 1, 2), 3, 3)
    assert [row.row for row in written.first_skipped] == [4, 10]
    assert [row.row for row in written.all_skipped()] == [4, 10]
    files = sorted((tmp_path / "out").glob("part-*.csv"))
    assert [file.name for file in files] == ["part-00000.csv", "part-00001.csv", "part-00002.csv"]
    alike(rows_of(*files), rows_of(tmp_path / "whole.csv"))
    joined = write_file(run, model, data, tmp_path / "one.csv", job())
    assert joined.rows == 11
    alike(rows_of(tmp_path / "one.csv"), rows_of(tmp_path / "whole.csv"))
    assert not (tmp_path / "one.csv.parts").exists()


def test_a_finished_part_is_never_made_twice(
    run: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, folder, made = load(run), tmp_path / "out", list[int]()
    whole = make.PartMaker.__call__

    def counted(self: make.PartMaker, part: make.Part, threads: int | None = None) -> make.Made:
        if part.number == 2 and len(made) < 3:
            made.append(-1)
            raise KeyboardInterrupt
        made.append(part.number)
        return whole(self, part, threads)

    monkeypatch.setattr(make.PartMaker, "__call__", counted)
    with pytest.raises(KeyboardInterrupt):
        write_parts(run, model, data, folder, job())
    (folder / "_state" / "00001.json").unlink()  # killed after the part and before its record
    again = write_parts(run, model, data, folder, job())
    assert made == [0, 1, -1, 1, 2]
    assert (again.made, again.rows) == (2, 11)
    assert write_parts(run, model, data, folder, job()).made == 0
    made.clear()
    with pytest.raises(KeyboardInterrupt):
        write_file(run, model, data, tmp_path / "one.csv", job())
    assert not (tmp_path / "one.csv").exists()
    made.append(-2)
    write_file(run, model, data, tmp_path / "one.csv", job())
    assert made == [0, 1, -1, -2, 2]


def test_shards_share_the_parts(run: Path, data: Path, tmp_path: Path) -> None:
    model, folder = load(run), tmp_path / "out"
    first = write_parts(run, model, data, folder, job(), shard=Shard.parse("1/2"))
    second = write_parts(run, model, data, folder, job(), shard=Shard.parse("2/2"))
    assert (first.numbers, second.numbers, first.total) == ((0, 2), (1,), 3)
    assert (first.rows, second.rows) == (7, 4)
    assert write_parts(run, model, data, folder, job(), shard=Shard.parse("9/9")).numbers == ()
    assert write_parts(run, model, data, folder, job()).made == 0


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/0", "-1/2", "1/2/3", ""])
def test_bad_shards(text: str) -> None:
    with pytest.raises(InputError, match="expected i/n with i from 1 to n, such as 1/4"):
        Shard.parse(text)


def test_processes_make_the_same(run: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "in_processes", in_forked_processes)
    model = load(run)
    write_file(run, model, data, tmp_path / "one.csv", job())
    steps: list[int] = []
    written = write_file(
        run, model, data, tmp_path / "two.csv", job(), jobs=2, progress=lambda done, _: steps.append(done)
    )
    assert written.made == 3
    assert steps == [4, 8, 12]
    alike(rows_of(tmp_path / "two.csv"), rows_of(tmp_path / "one.csv"))


def test_another_input_model_or_job_is_refused(run: Path, data: Path, tmp_path: Path) -> None:
    model, folder = load(run), tmp_path / "out"
    write_parts(run, model, data, folder, job())
    for other, message in (
        (job(kind="embed"), "has parts of deepergcn predict, not of embed"),
        (job(rows=5), "its parts were made with --part-rows 4, not 5"),
        (job(ending=".parquet"), "its parts were made with --format .csv, not .parquet"),
        (job(inputs=False), "its parts were made with --inputs True, not False"),
    ):
        with pytest.raises(InputError) as caught:
            write_parts(run, model, data, folder, other)
        assert message in str(caught.value)
    data.write_text(data.read_text() + "m11,C\n")
    with pytest.raises(InputError, match="another input, or the input has changed since; expected another folder"):
        write_parts(run, model, data, folder, job())
    other_run = make_run(tmp_path, small_recipe(molecule_file(tmp_path), targets=["target"]), seed=1)
    with pytest.raises(InputError, match="made with another model"):
        write_parts(other_run, load(other_run), data, folder, job())
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="has other files; expected a new or empty folder"):
        write_parts(run, model, data, tmp_path / "full", job())
    for options, message in (
        ({"jobs": 0}, "--jobs is 0; expected from 1 to "),
        ({"jobs": 2, "ray": "auto"}, "--jobs: cannot be combined with --ray"),
    ):
        with pytest.raises(InputError, match=message):
            write_parts(run, model, data, tmp_path / "new", job(), **options)
    assert not (tmp_path / "new").exists()


def test_nothing_is_left_of_an_input_that_cannot_be_read(run: Path, data: Path, tmp_path: Path) -> None:
    model = load(run)
    data.write_text(data.read_text() + "m11,C,x\n")
    with pytest.raises(InputError, match="row 12 has 3 columns; expected 2"):
        write_file(run, model, data, tmp_path / "one.csv", job())
    write_lines(data, "name,smiles", "a,C1", "b,C2")
    with pytest.raises(InputError, match=r"no row can be read; row 1 is 'C1': unclosed ring"):
        write_file(run, model, data, tmp_path / "one.csv", job(rows=1))
    assert not list(tmp_path.glob("one.csv*"))


@pytest.mark.parametrize("ending", [".npz", ".parquet", ".csv"])
def test_embeddings(run: Path, data: Path, tmp_path: Path, ending: str) -> None:
    model, file = load(run), tmp_path / f"e{ending}"
    expected = model.embed(data)
    written = write_file(run, model, data, file, job(kind="embed", ending=ending, id_column="name"))
    assert isinstance(written, Written)
    if ending == ".npz":
        with np.load(file) as arrays:
            ids, values = arrays["id"].tolist(), arrays["embedding"]
    elif ending == ".parquet":
        table = pyarrow.parquet.read_table(file)
        ids = table["id"].to_pylist()
        values = np.array([row or [np.nan] * 8 for row in table["embedding"].to_pylist()])
    else:
        rows = rows_of(file)
        ids = [row["id"] for row in rows]
        values = np.array([[float(row[f"embedding_{c}"] or "nan") for c in range(8)] for row in rows])
    assert ids == [f"m{i}" for i in range(11)]
    np.testing.assert_allclose(values, expected.values, rtol=1e-4, atol=1e-5)


def test_parquet_parts_have_one_schema(run: Path, data: Path, tmp_path: Path) -> None:
    write_lines(data, "name,smiles,note", "a,C1,", "b,C,x", "c,CC,")
    model = load(run)
    write_file(run, model, data, tmp_path / "p.parquet", job(rows=1, ending=".parquet"))
    table = pyarrow.parquet.read_table(tmp_path / "p.parquet")
    assert table.column_names[:4] == ["id", "name", "smiles", "note"]
    assert table["class"].to_pylist()[0] is None
    assert [str(table.schema.field(name).type) for name in ("class", "p(high)")] == ["string", "double"]


def test_which_inputs_take_parts(run: Path, data: Path) -> None:
    model = load(run)
    assert write.takes_parts(model, data)
    assert not write.takes_parts(model, ["CCO"])
    assert not write.takes_parts(model, "solubility")


def test_tables_of_a_graph_are_refused_beside_molecules(
    run: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = Program(monkeypatch, capsys)
    for option in ("--edges", "--nodes", "--node-features"):
        answer = program("predict", run, data, option, data, "-o", tmp_path / "out.csv")
        assert (
            answer.err == f"error: {option}: the network was trained on molecules; expected a file of molecules alone\n"
        )
    with pytest.raises(InputError, match="edges: the network was trained on molecules"):
        load(run).predict(["CC"], data)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_damaged_part_is_made_again(run: Path, data: Path, tmp_path: Path, ending: str) -> None:
    model, folder, what = load(run), tmp_path / "out", job(ending=ending)
    write_parts(run, model, data, folder, what)
    parts = sorted(folder.glob(f"part-*{ending}"))
    contents = [part.read_bytes() for part in parts]
    parts[0].write_bytes(contents[0][:-7])
    parts[1].write_bytes(contents[1][:40] + b"?" + contents[1][41:])
    (folder / "_state" / "00002.json").write_text('{"rows": 3')
    again = write_parts(run, model, data, folder, what)
    assert (again.made, again.rows) == (3, 11)
    assert [part.read_bytes() for part in parts] == contents


def test_parts_stay_where_the_disk_is_full(
    run: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, output = load(run), tmp_path / "one.csv"

    def full(*_: object) -> None:
        raise TemporaryError(f"{output}: cannot be written (No space left on device)")

    with monkeypatch.context() as patched:
        patched.setattr(write, "join_parts", full)
        with pytest.raises(InputError, match="No space left"):
            write_file(run, model, data, output, job())
    assert write_file(run, model, data, output, job()).made == 0
    assert len(rows_of(output)) == 11


def test_two_processes_never_mix_their_parts(run: Path, data: Path, tmp_path: Path) -> None:
    model, output = load(run), tmp_path / "one.csv"
    state = tmp_path / "one.csv.parts" / "_state"
    state.mkdir(parents=True)
    with FileLock(state / "lock"):
        with pytest.raises(InputError, match=r"one\.csv\.parts: another process is writing these parts"):
            write_file(run, model, data, output, job())
        assert [entry.name for entry in state.iterdir()] == ["lock"]
    assert write_file(run, model, data, output, job()).made == 3
    assert not state.parent.exists()


def test_parts_of_another_job_are_made_again(run: Path, data: Path, tmp_path: Path) -> None:
    model, output = load(run), tmp_path / "one.csv"
    write_parts(run, model, data, tmp_path / "one.csv.parts", job(rows=3))
    assert write_file(run, model, data, output, job()).made == 3
    assert len(rows_of(output)) == 11
    assert not (tmp_path / "one.csv.parts").exists()


def test_a_folder_with_the_name_of_the_parts_is_never_removed(run: Path, data: Path, tmp_path: Path) -> None:
    mine = tmp_path / "one.csv.parts" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("mine")
    with pytest.raises(InputError, match=r"one\.csv\.parts: has other files"):
        write_file(run, load(run), data, tmp_path / "one.csv", job())
    assert mine.read_text() == "mine"
