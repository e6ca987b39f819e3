"""Labels as inputs, from training to predictions on the command line."""

from pathlib import Path

from tests.cli.program import Program

NODES = 120
SMALL = ["--set", "model.num_layers=2", "--set", "model.hidden_channels=16", "--epochs", 30, "--out", "run"]


def write(folder: Path, name: str, hidden: int | None = 0) -> None:
    """Nodes on a ring of two halves, one of each role, the roles of every ``hidden``-th missing; none if it is None."""
    rows = ["id,x,role" if hidden is not None else "id,x"]
    for i in range(NODES):
        role = "" if hidden and i % hidden == 0 else "ab"[i // (NODES // 2)]
        rows.append(f"{i},{i % 2}" + (f",{role}" if hidden is not None else ""))
    (folder / name).write_text("\n".join(rows) + "\n")


def test_labels_of_neighbours_tell_what_features_do_not(deepergcn: Program, tmp_path: Path) -> None:
    write(tmp_path, "nodes.csv")
    edges = [f"{i},{(i + step) % NODES}" for i in range(NODES) for step in (1, 2)]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target", *edges]) + "\n")
    given = ["--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "role", "--known-labels"]
    trained = deepergcn("train", *given, *SMALL)
    assert trained.code == 0, trained.err
    assert "labels    those of train nodes are inputs too; each step hides some of them" in trained.out
    scored = deepergcn("evaluate", "run", "--split", "test")
    assert float(scored.out.split()[-1]) > 0.9  # the features alone tell nothing: 0.5
    assert "its score on train is meaningless" in deepergcn("evaluate", "run", "--split", "train").err

    write(tmp_path, "half.csv", hidden=2)
    predict = ["--edges", "edges.csv", "-o", "p.csv"]
    answer = deepergcn("predict", "run", "half.csv", *predict)
    assert "half.csv: labels are inputs of the network; it uses those of 60 of 120 nodes" in answer.err
    rows = [line.split(",") for line in (tmp_path / "p.csv").read_text().splitlines()[1:]]
    right = sum(row[3] == "ab"[i // (NODES // 2)] for i, row in enumerate(rows) if row[2] == "")
    assert right >= 54  # of 60 whose role is missing

    write(tmp_path, "bare.csv", hidden=None)
    assert "it uses those of 0 of 120 nodes" in deepergcn("predict", "run", "bare.csv", *predict).err
    # A label that is to be scored is not given to the network.
    outside = deepergcn("evaluate", "run", "--data", "half.csv", "--edges", "edges.csv")
    assert "it uses those of 0 of 120 nodes" in outside.err
    assert float(outside.out.split()[-1]) < 0.9


def test_not_beside_a_learned_embedding(deepergcn: Program, tmp_path: Path) -> None:
    write(tmp_path, "nodes.csv")
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n")
    given = ["--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "role", "--drop", "x", "--known-labels"]
    answer = deepergcn("train", *given, "--encoding", "learned", *SMALL)
    assert "--known-labels: cannot be combined with --encoding learned" in answer.err
