"""``deepergcn train --links``: from tables to a run, several seeds of it, and options that do not go with it."""

from pathlib import Path

import pytest

from tests.cli.program import Program
from tests.data.links.tables import links_file, nodes_file, random_links, write

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


def test_columns_of_links_are_said_to_be_left_out(deepergcn: Program, tmp_path: Path) -> None:
    rows = [(*pair, f"{i}", "0") for i, pair in enumerate(random_links(30, 120))]
    links = write(tmp_path / "links.csv", ("source", "target", "year", "label"), rows)
    done = deepergcn("train", "--links", links, "--out", "r", *SMALL)
    assert "left out  link year (links have no features), link label (links have no features)" in done.out


@pytest.mark.parametrize(("no", "yes"), [("0", "1"), ("0.0", "1.0"), ("false", "true"), ("-1", "1")])
def test_rows_that_say_they_are_no_links_are_refused(no: str, yes: str, deepergcn: Program, tmp_path: Path) -> None:
    rows = [(*pair, no if i == 2 else yes) for i, pair in enumerate(random_links(30, 120))]
    links = write(tmp_path / "links.csv", ("source", "target", "Label"), rows)
    done = deepergcn("train", "--links", links, "--out", "r", *SMALL)
    assert done.code == 2
    assert done.err == (
        f"error: {links}: column 'Label' has '{no}' in row 3, which may mean that the row is no link; expected links "
        "only (pairs without one are drawn at random), and no such column\n"
    )


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
