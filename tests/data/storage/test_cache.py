"""The cache gives back the same dataset, and never a stale or damaged one."""

import os
from pathlib import Path

import pytest
import torch

from deepergcn.data.dataset import Dataset
from deepergcn.data.storage.cache import cache_file, cached, load, save
from tests.data.examples import assert_same, one_network, two_molecules


def never() -> Dataset:
    raise AssertionError("the cache should have been used")


@pytest.mark.parametrize(
    "dataset",
    [
        two_molecules(label_names=("a", "b"), ids=("CC\nO", "é")),
        one_network(),
        one_network(edge_ptr=torch.tensor([0, 0]), edge_index=torch.zeros(2, 0, dtype=torch.int32)),
        one_network(x=torch.arange(8.0).reshape(4, 2)[:, 1:]),
    ],
    ids=["molecules", "network", "no edges", "strided"],
)
def test_same_dataset_back(dataset: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "arrays" / "one.safetensors"
    assert cached(path, "key", lambda: dataset) is dataset
    assert_same(cached(path, "key", never), dataset)
    assert list(path.parent.iterdir()) == [path]


def test_other_key_is_stale(tmp_path: Path) -> None:
    path = tmp_path / "one.safetensors"
    save(two_molecules(), path, "old")
    assert load(path, "new") is None
    assert cached(path, "new", one_network).name == "one-network"
    assert cached(path, "new", never).name == "one-network"


def test_every_flipped_or_missing_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "one.safetensors"
    save(one_network(), path, "key")
    good = path.read_bytes()
    for place in range(0, len(good), 7):
        path.write_bytes(good[:place] + bytes([good[place] ^ 0x10]) + good[place + 1 :])
        found = load(path, "key")
        if found is not None:  # the blanks that pad the header carry nothing
            assert_same(found, one_network())
        path.write_bytes(good[:place])
        assert load(path, "key") is None
    assert cached(path, "key", one_network) is not None
    assert_same(cached(path, "key", never), one_network())


def test_array_damage_is_rebuilt(tmp_path: Path) -> None:
    path = tmp_path / "one.safetensors"
    save(one_network(), path, "key")
    bytes_of_x = one_network().x
    assert bytes_of_x is not None
    good = path.read_bytes()
    place = good.index(bytes_of_x.numpy().tobytes())
    path.write_bytes(good[:place] + b"\x01" + good[place + 1 :])
    rebuilt = one_network()
    assert cached(path, "key", lambda: rebuilt) is rebuilt


def test_changing_an_array_does_not_change_the_file(tmp_path: Path) -> None:
    path = tmp_path / "one.safetensors"
    save(one_network(), path, "key")
    opened = cached(path, "key", never)
    assert opened.x is not None
    opened.x.fill_(7)
    assert_same(cached(path, "key", never), one_network())


def test_cache_can_be_read_by_whoever_can_read_new_files(tmp_path: Path) -> None:
    path, other = tmp_path / "one.safetensors", tmp_path / "other"
    save(one_network(), path, "key")
    other.touch()
    assert path.stat().st_mode == other.stat().st_mode


def test_half_written_files_are_not_the_cache_and_go_away(tmp_path: Path) -> None:
    path = tmp_path / "one.safetensors"
    abandoned = tmp_path / f"other.safetensors.{'0' * 32}.part"
    abandoned.write_bytes(b"half")
    os.utime(abandoned, (0, 0))
    assert load(path, "key") is None
    save(one_network(), path, "key")
    assert not abandoned.exists()


def test_folder_that_cannot_be_written_costs_only_the_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    dataset = one_network()
    assert cached(tmp_path / "file" / "one.safetensors", "key", lambda: dataset) is dataset


def test_cache_file_is_one_for_each_identity(tmp_path: Path) -> None:
    one = cache_file(tmp_path, "a/b", "path", {"split": "random"})
    assert one == cache_file(tmp_path, "a/b", "path", {"split": "random"})
    assert one != cache_file(tmp_path, "a/b", "path", {"split": "scaffold"})
    assert one.parent == tmp_path / "arrays"


def test_a_long_name_of_any_script_is_a_file_name(tmp_path: Path) -> None:
    path = cache_file(tmp_path, "分子" * 40 + ".csv", "identity")
    assert cached(path, "key", one_network).name == "one-network"
    assert cached(path, "key", never).name == "one-network"
