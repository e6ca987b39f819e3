"""Datasets by name and by path."""

from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import pytest

from deepergcn.data import load_dataset, write_layout
from deepergcn.data.registry import FORMATS, SOURCES, load_described
from deepergcn.errors import InputError
from tests.data.examples import assert_same, one_network


def test_every_loader_exists_and_takes_the_root() -> None:
    for loader in [*(s.loader for s in SOURCES.values()), *(f.loader for f in FORMATS)]:
        module, _, function = loader.partition(":")
        root = signature(getattr(import_module(module), function)).parameters["root"]
        assert root.kind is Parameter.KEYWORD_ONLY


def test_path_and_its_options(tmp_path: Path) -> None:
    write_layout(one_network(), tmp_path / "folder")
    assert_same(load_dataset(str(tmp_path / "folder"), tmp_path), one_network())
    assert load_dataset(tmp_path / "folder", tmp_path, symmetric=True).symmetric
    with pytest.raises(InputError, match="folder: has no option 'speed'; its options: task, symmetric, split"):
        load_dataset(tmp_path / "folder", tmp_path, speed=3)


def test_neither_name_nor_path(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"nothing: is neither the name of a dataset \(.*ogbg-molhiv.*\) nor a file or folder"
    ):
        load_dataset("nothing", tmp_path)


def test_folder_that_is_no_dataset(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a dataset; expected a folder in OGB's layout"):
        load_dataset(tmp_path, tmp_path)


def test_known_dataset_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`deepergcn datasets get ogbg-molhiv` downloads it"):
        load_dataset("ogbg-molhiv", tmp_path)
    with pytest.raises(InputError, match="ogbg-molhiv: has no option 'symmetric'; its options: descriptors"):
        load_dataset("ogbg-molhiv", tmp_path, symmetric=True)


@pytest.mark.parametrize(
    ("option", "value", "problem"),
    [
        ("targets", 5, "Input should be"),
        ("kind", [], "Input should be 'binary'"),
        ("kind", "guess", "Input should be 'binary'"),
        ("seed", "1", "Input should be a valid integer"),
        ("fractions", "abc", "'str' instances are not allowed"),
        ("strict", "maybe", "Input should be a valid boolean"),
        ("workers", {}, "Input should be a valid integer"),
        ("id_column", 3, "Input should be a valid string"),
    ],
)
def test_an_option_of_another_type_is_named(tmp_path: Path, option: str, value: Any, problem: str) -> None:
    (tmp_path / "m.csv").write_text("smiles,y\nCC,1\n")
    with pytest.raises(InputError, match=rf"m\.csv: option '{option}' is .*; {problem}"):
        load_dataset(tmp_path / "m.csv", tmp_path, **{option: value})


def test_options_of_tables_are_checked(tmp_path: Path) -> None:
    for name in ("nodes.csv", "edges.csv"):
        (tmp_path / name).write_text("id\n1\n")
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    with pytest.raises(InputError, match=r"nodes\.csv: has no option 'speed'; its options: label, id_column"):
        load_described(str(nodes), str(edges), {"speed": 3})
    with pytest.raises(InputError, match=r"nodes\.csv: option 'directed' is 'no'; Input should be a valid boolean"):
        load_described(str(nodes), str(edges), {"directed": "no"})
    for name in ("root", "skipped_file", "workers", "progress"):
        with pytest.raises(InputError, match=f"has no option '{name}'"):
            load_described(str(nodes), str(edges), {name: str(tmp_path / "trap")})
