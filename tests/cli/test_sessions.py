"""The sessions of the README, run as they stand on small files, with little training."""

import csv
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.own_data.own_files import smiles
from tests.cli.program import Program
from tests.repository import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
SMALL = ("--epochs", "2", "--set", "model.num_layers=2", "--set", "model.hidden_channels=8")


def session(heading: str) -> list[list[str]]:
    """The arguments of every command in the first block under a heading."""
    block = re.search(rf"^## {re.escape(heading)}\n(?:(?!## )(?!    ).*\n)*((?:    .*\n)+)", README, re.MULTILINE)
    assert block is not None
    lines = [shlex.split(line, comments=True) for line in block[1].splitlines()]
    assert {line[0] for line in lines} == {"deepergcn"}
    assert len(lines) == 5
    return [line[1:] for line in lines]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_chemist(deepergcn: Program, folder: Path) -> None:
    assay = [f"m{i};C1{'C' * (i // 3 + 2)}1{'C' * (i % 3)};{'in' * (i % 2)}active" for i in range(90)]
    (folder / "assay.csv").write_text("\n".join(["name;smiles;activity", *assay]) + "\n")
    (folder / "other_lab.csv").write_text("\n".join(["name;smiles;activity", *assay[:20]]) + "\n")
    (folder / "library.smi").write_text("".join(f"{smiles(i)} library {i}\n" for i in range(12)))
    train, other, predict, explain, report = session("For chemists")
    trained = deepergcn(*train, *SMALL)
    assert trained.code == 0, trained.err
    assert "positive is active (by its meaning" in trained.out
    assert "split     scaffold (as given)" in trained.out
    score = r"[01]\.\d{4}"
    told = rf"test rocauc {score} \(valid {score}\) with the forest and the network of epoch \d, the best by validation"
    assert re.search(told, trained.out)
    assert deepergcn(*other).out.startswith("other_lab.csv (20 rows with a label) rocauc ")
    assert deepergcn(*predict).code == 0
    hits = rows(folder / "hits.csv")
    assert [row["name"] for row in hits] == [f"library {i}" for i in range(12)]
    assert all(0 <= float(row["p(active)"]) <= 1 for row in hits)
    assert deepergcn(*explain, "--most", 2).out.startswith("why.csv: 2 rows explained (--most explains more)")
    assert {row["id"] for row in rows(folder / "why.csv")} <= {row["smiles"] for row in hits}
    assert deepergcn(*report).code == 0
    page = (folder / "runs" / "assay" / "report.html").read_text(encoding="utf-8")
    assert "positive is active (by its meaning" in page


def test_a_network_scientist(deepergcn: Program, folder: Path) -> None:
    def write(stem: str, calls: str, people: int) -> None:
        lines = [f"p{i},{['boss', 'clerk', 'guest'][i % 3]},{i % 7},{'NS'[i % 2]}" for i in range(people)]
        (folder / f"{stem}.csv").write_text("\n".join(["id,role,age,office", *lines]) + "\n")
        links = [f"p{i},p{(i * 7 + 1) % people}" for i in range(people)]
        (folder / f"{calls}.csv").write_text("\n".join(["source,target", *links]) + "\n")

    write("people", "calls", 60)
    write("later", "later_calls", 30)
    (folder / "friends.csv").write_text((folder / "calls.csv").read_text())
    train, test, predict, embed, links = session("For networks of people, papers or proteins")
    trained = deepergcn(*train, *SMALL)
    assert trained.code == 0, trained.err
    assert "role: multi-class, since it holds text with 3 different values" in trained.out
    assert "features  age (number), office (category of 2)" in trained.out
    assert deepergcn(*test).out.startswith("test balanced-accuracy ")
    assert deepergcn(*predict).code == 0
    roles = rows(folder / "roles.csv")
    assert list(roles[0]) == ["id", "role", "age", "office", "class", "p(boss)", "p(clerk)", "p(guest)"]
    assert deepergcn(*embed).out == "embeddings.npz: 30 rows of 8 channels\n"
    assert "test rocauc " in deepergcn(*links, *SMALL).out
