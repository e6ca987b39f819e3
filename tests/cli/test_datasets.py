"""``deepergcn datasets``: what is there, and what is downloaded."""

import json
from pathlib import Path

import pytest

from deepergcn.data.registry import SOURCES
from tests.cli.program import Program
from tests.data.storage.test_archive import zipped

PPA = {"x/raw/edge.csv.gz": b"0,1\n", "x/split/species/train.csv.gz": b"0\n"}


def test_list_names_every_dataset(tmp_path: Path, deepergcn: Program) -> None:
    answer = deepergcn("datasets", "--root", str(tmp_path))
    assert answer.code == 0, answer.err
    for name in SOURCES:
        assert name in answer.out
    assert "not on disk" in answer.out


def test_list_as_json_tells_what_is_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deepergcn: Program
) -> None:
    (tmp_path / "ogbn_arxiv" / "raw").mkdir(parents=True)
    (tmp_path / "ogbn_arxiv" / "raw" / "edge.csv.gz").write_bytes(b"x" * 300)
    (tmp_path / "arrays").mkdir()
    (tmp_path / "arrays" / "ogbn-arxiv-0123456789ab.safetensors").write_bytes(b"x" * 70)
    (tmp_path / "arrays" / "ogbg-molhiv-0123456789ab.safetensors").write_bytes(b"x" * 80)
    monkeypatch.setenv("DEEPERGCN_DATA", str(tmp_path))
    answer = deepergcn("datasets", "--json")
    entries = {entry["name"]: entry for entry in json.loads(answer.out)}
    arxiv, ppa, molhiv = entries["ogbn-arxiv"], entries["ogbg-ppa"], entries["ogbg-molhiv"]
    assert (arxiv["state"], arxiv["raw_bytes"], arxiv["cache_bytes"]) == ("on disk", 300, 70)
    assert arxiv["folder"] == str(tmp_path / "ogbn_arxiv")
    assert (ppa["state"], ppa["raw_bytes"], ppa["cache_bytes"]) == ("not on disk", 0, 0)
    assert (molhiv["state"], molhiv["raw_bytes"], molhiv["cache_bytes"]) == ("cache only", 0, 80)


@pytest.mark.parametrize("before", [True, False], ids=["root before get", "root after get"])
def test_get_uses_the_archive_put_there_by_hand(before: bool, tmp_path: Path, deepergcn: Program) -> None:
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / "ogbg_ppi_medium.zip").write_bytes(zipped(PPA))
    root = ["--root", str(tmp_path)]
    get = ["get", "ogbg-ppa"]
    answer = deepergcn("datasets", *(root + get if before else get + root))
    assert answer.code == 0, answer.err
    assert f"ogbg-ppa is complete and verified in {tmp_path / 'ogbg_ppa'}" in answer.out
    assert (tmp_path / "ogbg_ppa" / "raw" / "edge.csv.gz").read_bytes() == b"0,1\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("get", "nothing"), "error: there is no dataset 'nothing' to download; expected one of ogbn-proteins"),
        (("get", "ogbg-molhiv"), "error: {root}/ogbg_molhiv: has no folder raw, which OGB's layout needs"),
        (("get", "ogbg-ppa"), "error: {root}/downloads/ogbg_ppi_medium.zip: is not a valid zip archive"),
    ],
)
def test_errors_are_one_line(arguments: tuple[str, ...], message: str, tmp_path: Path, deepergcn: Program) -> None:
    (tmp_path / "ogbg_molhiv").mkdir()
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / "ogbg_ppi_medium.zip").write_bytes(b"damaged")
    answer = deepergcn("datasets", *arguments, "--root", str(tmp_path))
    assert answer.code == 2
    assert answer.err.strip().startswith(message.format(root=tmp_path))
    assert len(answer.err.strip().splitlines()) == 1


def test_folder_that_cannot_be_made_is_one_line(tmp_path: Path, deepergcn: Program) -> None:
    (tmp_path / "file").write_text("in the way")
    answer = deepergcn("datasets", "get", "ogbg-ppa", "--root", str(tmp_path / "file"))
    assert answer.code == 2
    assert len(answer.err.strip().splitlines()) == 1
    assert f"{tmp_path / 'file'}" in answer.err
