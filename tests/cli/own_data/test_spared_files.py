"""No command writes over a file of its user: the input, a run, or what lies in the folder that it is given."""

from pathlib import Path

import pytest

from tests.cli.program import Program
from tests.training.trained import make_run, molecule_file, small_recipe, table_files

OWN = ("--molecules", "classes.csv", "--target", "target")


@pytest.mark.parametrize(
    ("arguments", "file", "expected"),
    [
        (("predict", "run", "classes.csv", "-o", "classes.csv"), "classes.csv", "is an input of this command"),
        (("predict", "run", "classes.csv", "-o", "link.csv"), "classes.csv", "link.csv: is an input of this command"),
        (("embed", "run", "classes.csv", "-o", "./classes.csv"), "classes.csv", "is an input of this command"),
        (("explain", "run", "classes.csv", "-o", "classes.csv"), "classes.csv", "is an input of this command"),
        (("predict", "run", "classes.csv", "-o", "o.csv", "--skipped", "classes.csv"), "classes.csv", "is an input of"),
        (("predict", "run", "classes.csv", "-o", "o.csv", "--skipped", "o.csv"), "o.csv", "is named for two outputs"),
        (("predict", "run", "classes.csv", "-o", "-"), "classes.csv", "nothing is written to standard output"),
        (("predict", "run", "classes.csv", "-o", "run/split.csv"), "run/split.csv", "belongs to the run in run"),
        (("train", *OWN, "--out", "mine"), "mine/sample.csv", "belongs to no run; expected a new folder for --out"),
        (("train", "mine/recipe.yaml", *OWN, "--out", "."), "recipe.yaml", "belongs to no run; expected a new folder"),
    ],
)
def test_it_stays_as_it_was(
    arguments: tuple[str, ...], file: str, expected: str, deepergcn: Program, tmp_path: Path
) -> None:
    make_run(tmp_path, small_recipe(molecule_file(tmp_path), targets=["target"]))
    (tmp_path / "link.csv").symlink_to("classes.csv")
    (tmp_path / "mine").mkdir()
    for name in ("mine/sample.csv", "recipe.yaml", "run/split.csv", "o.csv"):
        (tmp_path / name).write_text("mine")
    (tmp_path / "mine/recipe.yaml").write_text("base: own-molecules\ntraining: {epochs: 1}\n")
    content = (tmp_path / file).read_bytes()
    answer = deepergcn(*arguments)
    assert answer.code == 2
    assert expected in answer.err.splitlines()[-1]
    assert (tmp_path / file).read_bytes() == content
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == ["recipe.yaml", "sample.csv"]


def test_tables_of_nodes_stay_too(deepergcn: Program, tmp_path: Path) -> None:
    nodes, edges = table_files(tmp_path)
    make_run(tmp_path, small_recipe(nodes, edges, label="y"))
    content = edges.read_bytes()
    answer = deepergcn("predict", "run", nodes, "--edges", edges, "-o", edges)
    assert answer.err == f"error: {edges}: is an input of this command; expected another file to write to\n"
    assert edges.read_bytes() == content


def test_a_file_is_no_run_directory(deepergcn: Program, tmp_path: Path) -> None:
    molecule_file(tmp_path)
    (tmp_path / "file").write_text("mine")
    answer = deepergcn("train", *OWN, "--out", "file")
    assert answer.err.splitlines()[-1] == "error: file: is a file; expected a folder for the run"


def test_an_empty_folder_stays_where_training_is_refused(deepergcn: Program, tmp_path: Path) -> None:
    molecule_file(tmp_path)
    (tmp_path / "empty").mkdir()
    answer = deepergcn("train", *OWN, "--out", "empty", "--set", "training.batch_size=100000000")
    assert answer.code == 2
    assert list((tmp_path / "empty").iterdir()) == []
