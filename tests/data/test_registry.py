"""Datasets by name and by path."""

from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path

import pytest

from deepergcn.data import load_dataset, write_layout
from deepergcn.data.registry import FORMATS, SOURCES
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
        InputError, match=r"nothing: is neither a dataset's name \(.*ogbg-molhiv.*\) nor a file or folder"
    ):
        load_dataset("nothing", tmp_path)


def test_folder_that_is_no_dataset(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a dataset; expected a folder in OGB's layout"):
        load_dataset(tmp_path, tmp_path)


def test_known_dataset_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`deepergcn datasets get ogbg-molhiv` brings it there"):
        load_dataset("ogbg-molhiv", tmp_path)
    with pytest.raises(InputError, match="ogbg-molhiv: has no option 'symmetric'; its options: none"):
        load_dataset("ogbg-molhiv", tmp_path, symmetric=True)
