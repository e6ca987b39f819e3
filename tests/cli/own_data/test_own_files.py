"""From a user's own file to predictions, as typed: bad rows, gaps, strange columns, and answers to mistakes."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from deepergcn.data.provenance import MoleculeProvenance
from deepergcn.runs.run import Run
from tests.cli.program import Program
from tests.training.trained import make_run, molecule_file, small_recipe, table_files, write_lines

SMALL = ("--set", "model.num_layers=2", "--set", "model.hidden_channels=8", "--epochs", 2)


def strange_molecules(path: Path) -> Path:
    """60 molecules: a byte order mark, a quoted header, an empty column, gaps in the targets, rows of nonsense."""
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file)
        writer.writerow(["Compound, №", "My SMILES", "activity (µM)", "", "note"])
        for i in range(60):
            smiles = "C" * (i % 9 + 1) + ("O" if i % 2 else "N")
            activity = ("inactive", "active")[i % 2]
            writer.writerow([f"c {i}", smiles, activity, "", 'said "so"\non two lines'])
        writer.writerow(["bad 1", "not a molecule", "active", "", ""])
        writer.writerow(["bad 2", "", "active", "", ""])
        writer.writerow(["bad 3", "C(C)(C)(C)(C)C", "inactive", "", ""])
        writer.writerow(["gap 1", "CCCl", "", "", ""])
        writer.writerow(["gap 2", "CCBr", "NA", "", ""])
    return path


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_file_with_bad_rows_gaps_and_strange_columns(deepergcn: Program, tmp_path: Path) -> None:
    mine = strange_molecules(tmp_path / "my molecules.csv")
    columns = ("--smiles-column", "My SMILES", "--target", "activity (µM)")
    trained = deepergcn("train", "--molecules", mine, *columns, "--out", "run", *SMALL)
    assert trained.code == 0, trained.err
    assert "test rocauc" in trained.out
    run = Run.open(tmp_path / "run")
    provenance = run.info.provenance
    assert isinstance(provenance, MoleculeProvenance)
    assert provenance.labels is not None
    assert provenance.labels.classes == (("inactive", "active"),)
    assert [skipped.row for skipped in provenance.skipped] == [61, 62, 63]
    listed = read(tmp_path / "run" / "skipped.csv")
    assert [(row["row"], row["molecule"]) for row in listed] == [
        ("61", "not a molecule"),
        ("62", ""),
        ("63", "C(C)(C)(C)(C)C"),
    ]
    assert all(row["reason"] for row in listed)

    refused = deepergcn("train", "--molecules", mine, *columns, "--strict", "--out", "strict", *SMALL)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "my molecules.csv: row 61" in refused.err
    assert not (tmp_path / "strict").exists()

    predicted = deepergcn("predict", "run", mine, "--id-column", "Compound, №", "-o", "out.csv", "--skipped", "bad.csv")
    assert predicted.code == 0, predicted.err
    lines = predicted.out.splitlines()
    assert lines[0] == "out.csv: 65 rows, of which 3 could not be read and are empty: rows 61, 62, 63"
    assert "% random forest of " in lines[1]
    rows = read(tmp_path / "out.csv")
    assert [row["id"] for row in rows] == [*(f"c {i}" for i in range(60)), "bad 1", "bad 2", "bad 3", "gap 1", "gap 2"]
    for number, row in enumerate(rows, start=1):
        if number in (61, 62, 63):
            assert row["class"] == row["p(active)"] == ""
        else:
            assert row["class"] == ("active" if float(row["p(active)"]) > 0.5 else "inactive")
    assert [row["row"] for row in read(tmp_path / "bad.csv")] == ["61", "62", "63"]

    shown = deepergcn("evaluate", "run", "--split", "test", "--json")
    assert json.loads(shown.out)["test"] == run.summary().test_score  # type: ignore[union-attr]
    sample = deepergcn("predict", "run", "run/sample.csv", "--id-column", "name", "-o", "sample.csv")
    assert sample.out.startswith("sample.csv: 10 rows\n")


def test_tables_of_nodes_and_edges(deepergcn: Program, tmp_path: Path) -> None:
    nodes, edges = table_files(tmp_path)
    trained = deepergcn("train", "--nodes", nodes, "--edges", edges, "--label", "y", "--out", "run", *SMALL)
    assert trained.code == 0, trained.err
    predicted = deepergcn("predict", "run", nodes, "--edges", edges, "-o", "out.csv")
    assert predicted.code == 0, predicted.err
    rows = read(tmp_path / "out.csv")
    assert [row["id"] for row in rows] == [f"n{i}" for i in range(15)]
    assert {row["class"] for row in rows} <= {"a", "b", "c"}
    embedded = deepergcn("embed", "run", nodes, "--edges", edges, "-o", "out.npz")
    assert embedded.out == "out.npz: 15 rows of 8 channels\n"
    with np.load(tmp_path / "out.npz", allow_pickle=False) as arrays:
        assert arrays["embedding"].shape == (15, 8)


MISTAKES = {
    "no such run": (["predict", "nowhere", "classes.csv", "-o", "o.csv"], ("nowhere", "no such run directory")),
    "a folder that is no run": (["evaluate", "."], ("run.json", "expected")),
    "a file that is no model": (["evaluate", "classes.csv"], ("classes.csv", "is not a safetensors file")),
    "no such input": (["predict", "run", "none.csv", "-o", "o.csv"], ("none.csv", "no such file")),
    "no such column": (["predict", "run", "classes.csv", "--smiles-column", "x", "-o", "o.csv"], ("'x'", "'smiles'")),
    "no such id": (["embed", "run", "classes.csv", "--id-column", "key", "-o", "o.npz"], ("'key'", "'name'")),
    "an unknown output": (["predict", "run", "classes.csv", "-o", "o.xls"], ("o.xls", ".csv or .parquet")),
    "an unknown embedding": (["embed", "run", "classes.csv", "-o", "o.txt"], ("o.txt", ".npz or .parquet or .csv")),
    "a shard of one file": (
        ["predict", "run", "classes.csv", "-o", "o.csv", "--shard", "1/2"],
        ("--shard: --output is the file o.csv; expected a folder that all shards share",),
    ),
    "a shard that is none": (["predict", "run", "classes.csv", "-o", "o", "--shard", "3/2"], ("'3/2'", "such as 1/4")),
    "parts of no rows": (["predict", "run", "classes.csv", "-o", "o", "--part-rows", "0"], ("--part-rows is 0",)),
    "parts of no format": (["predict", "run", "classes.csv", "-o", "o", "--format", "npz"], ("csv, parquet",)),
    "a format beside an ending": (
        ["predict", "run", "classes.csv", "-o", "o.csv", "--format", "csv"],
        ("--format: --output is the file o.csv, whose ending is its format; expected a folder",),
    ),
    "no processes": (["embed", "run", "classes.csv", "-o", "o.npz", "--jobs", "0"], ("--jobs is 0",)),
    "two ways to spread": (
        ["predict", "run", "classes.csv", "-o", "o", "--jobs", "2", "--ray", "auto"],
        ("--jobs: cannot be combined with --ray",),
    ),
    "shards of a dataset": (
        ["predict", "run", "solubility", "-o", "o", "--shard", "1/2"],
        ("--shard: works with files of molecules only; other inputs are predicted all at once",),
    ),
    "parts in one file": (
        ["predict", "run", "solubility", "-o", "o.csv", "--part-rows", "5"],
        ("--part-rows: --output is the file o.csv; expected a folder",),
    ),
    "no folder for the output": (["predict", "run", "classes.csv", "-o", "no/o.csv"], ("no/o.csv", "does not exist")),
    "a file of another kind": (["predict", "run", "notes.txt", "-o", "o.csv"], ("notes.txt", "ends in .csv,", ".sdf")),
    "columns of the data of training": (
        ["evaluate", "run", "--smiles-column", "s"],
        ("--smiles-column: the training data is read as in training; expected --data with another file",),
    ),
    "an unknown metric in a list": (["evaluate", "run", "--metric", "accuracy, gini"], ("metric is 'gini'",)),
    "an unknown split": (["evaluate", "run", "--split", "holdout"], ("'holdout'", "train, valid, test")),
    "no molecules to train on": (["train", "--molecules", "none.csv", "--target", "y"], ("none.csv", "no such file")),
    "no such target": (["train", "--molecules", "classes.csv", "--target", "y"], ("'y'", "'target'")),
    "no target": (["train", "--molecules", "classes.csv"], ("--target",)),
    "a target of nothing": (["train", "--target", "y"], ("--target: expected --molecules",)),
    "an option of other data": (
        ["train", "--molecules", "classes.csv", "--target", "target", "--label", "y"],
        ("--label: cannot be combined with --molecules",),
    ),
    "strict tables": (
        ["train", "--nodes", "a.csv", "--edges", "b.csv", "--label", "y", "--strict"],
        ("--strict: cannot be combined with --nodes",),
    ),
    "no such split": (
        ["train", "--molecules", "classes.csv", "--target", "target", "--split", "part"],
        ("no column 'part' for the split",),
    ),
    "no such recipe": (["train", "solubilty"], ("solubilty", "solubility")),
    "no such key": (["train", "--set", "model.layers=3"], ("model.layers", "num_layers")),
    "a wrong value": (["train", "--set", "model.num_layers=many"], ("model.num_layers", "'many'")),
    "no run to resume": (["train", "--out", "never", "--resume"], ("never", "expected one to resume")),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_has_one_line_for_an_answer(deepergcn: Program, tmp_path: Path, mistake: str) -> None:
    make_run(tmp_path, small_recipe(molecule_file(tmp_path), targets=["target"]))
    write_lines(tmp_path / "notes.txt", "smiles", "CCO")
    arguments, words = MISTAKES[mistake]
    answer = deepergcn(*arguments)
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    for word in words:
        assert word in answer.err
    assert not list(tmp_path.glob("o.*"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["--data", "loop.csv"],
        ["--molecules", "loop.csv", "--target", "y"],
        ["--nodes", "loop.csv", "--edges", "loop.csv", "--label", "y"],
        ["--links", "loop.csv"],
    ],
)
def test_a_loop_of_links_is_one_line(deepergcn: Program, tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    answer = deepergcn("train", *arguments, "--out", "run")
    assert answer.code == 2
    assert answer.err.startswith("error: ")
    assert "loop.csv: " in answer.err
    assert answer.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_split_that_names_no_column_is_one_line(deepergcn: Program, tmp_path: Path) -> None:
    nodes, edges = table_files(tmp_path)
    answer = deepergcn("train", "--nodes", nodes, "--edges", edges, "--label", "y", "--split", ",", "--out", "run")
    assert answer.code == 2
    assert answer.err.count("\n") == 1
    assert (
        "nodes.csv: the split names no column; expected the name of a split column, or of several masks" in answer.err
    )


def test_parts_and_shards(deepergcn: Program, tmp_path: Path) -> None:
    make_run(tmp_path, small_recipe(molecule_file(tmp_path), targets=["target"]))
    write_lines(tmp_path / "new.csv", "smiles", *("C" * i + "O" for i in range(1, 10)), "C1")
    common = ["predict", "run", "new.csv", "-o", "out", "--part-rows", 4]
    first = deepergcn(*common, "--shard", "2/2")
    assert first.out == "out: 4 rows in 1 parts (shard 2/2, of 3 parts in all)\n"
    both = deepergcn(*common, "--skipped", "bad.csv")
    said = "out: 10 rows in 3 parts, of which 1 existed already, of which 1 could not be read and is empty: row 10\n"
    assert both.out == said
    assert (tmp_path / "bad.csv").read_text().splitlines()[1].startswith("10,C1,")
    changed = deepergcn(*common, "--no-inputs")
    assert changed.code == 2
    assert "its parts were made with --inputs True, not False; expected another folder for --output\n" in changed.err
    embedded = deepergcn("embed", "run", "new.csv", "-o", "e", "--format", "parquet", "--part-rows", 5)
    assert embedded.out.startswith("e: 10 rows in 2 parts")
    assert sorted(path.name for path in (tmp_path / "e").iterdir()) == [
        "_state",
        "part-00000.parquet",
        "part-00001.parquet",
    ]
