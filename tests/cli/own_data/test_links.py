"""``deepergcn train --links``: from tables to a run, several seeds of it, and options that do not go with it."""

from pathlib import Path

import pytest

from tests.cli.program import Program
from tests.data.links.tables import links_file, nodes_file

SMALL = ("--epochs", 1, "--set", "model.hidden_channels=4", "--set", "model.num_layers=1")


def test_the_ends_of_links_may_have_other_names(deepergcn: Program, tmp_path: Path) -> None:
    links = links_file(tmp_path)
    links.write_text(links.read_text().replace("source,target", "Source,to", 1))
    done = deepergcn("train", "--links", links, "--target-column", "to", "--out", "r", *SMALL)
    assert done.code == 0, done.err


def test_links_are_trained_from_tables_with_two_seeds_and_their_metric(deepergcn: Program, tmp_path: Path) -> None:
    links, nodes = links_file(tmp_path), nodes_file(tmp_path)
    done = deepergcn(
        "train", "--links", links, "--nodes", nodes, "--metric", "mrr,ap", "--runs", 2, "--out", "r", *SMALL
    )
    assert done.code == 0, done.err
    assert "messages pass over the 96 train links alone; each training step hides its own links from them" in done.out
    assert (tmp_path / "r" / "seed-0" / "data.json").is_file()
    assert "test mrr" in done.out
    assert "over 2 seeds" in done.out
    done = deepergcn("report", "r/seed-0")
    assert done.code == 0, done.err
    assert (tmp_path / "r" / "seed-0" / "report.html").read_text().count("mrr") > 0


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--label", "y"), "--label: cannot be combined with --links"),
        (("--smiles-column", "s"), "--smiles-column: cannot be combined with --links"),
        (("--molecules", "m.csv"), "--links: cannot be combined with --molecules"),
        (
            ("--metric", "rmse"),
            "metric is 'rmse'; expected one of rocauc, ap, hits@20, hits@50, hits@100, mrr for a task on links",
        ),
        (("--metric", "hits@20"), "links.csv: metric hits@20 needs at least 20 pairs without a link"),
        (("--source-column", "a"), "there is no column 'a' for the links; the columns are"),
        (("--split", "when"), "links.csv: there is no column 'when' for the split"),
        (("--nodes", "missing.csv"), "missing.csv: there is no such file"),
    ],
)
def test_what_does_not_go_with_links_is_one_line(
    arguments: tuple[str, ...], expected: str, deepergcn: Program, tmp_path: Path
) -> None:
    done = deepergcn("train", "--links", links_file(tmp_path), *arguments, *SMALL)
    assert done.code == 2
    assert expected in done.err
    assert len(done.err.strip().splitlines()) == 1
