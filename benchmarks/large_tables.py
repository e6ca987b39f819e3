"""Train on tables of a million nodes and ten million edges for an epoch, and predict them: what the programs use.

The tables are made here: eight numbers and one of ten classes a node, edges at random between nodes that are near in
the table. The programs run on one thread.

    python -m benchmarks.large_tables
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from benchmarks.measure import use_of, write_csv

_FEATURES = 8
_CLASSES = 10
_NEAR = 1000


def write_tables(folder: Path, nodes: int, edges: int) -> tuple[Path, Path]:
    """The files of nodes and edges, the same on every machine."""
    draw = np.random.default_rng(0)
    x = draw.normal(size=(nodes, _FEATURES)).round(4)
    labels = np.array([f"class {number}" for number in range(_CLASSES)])
    names = np.char.add("n", np.arange(nodes).astype(str))
    y = labels[(x[:, 0] * 2 + np.arange(nodes) * _CLASSES // nodes).astype(int) % _CLASSES]
    columns = {"id": names, "y": y} | {f"x{number}": x[:, number] for number in range(_FEATURES)}
    pyarrow.csv.write_csv(pa.table(columns), folder / "nodes.csv")
    source = draw.integers(nodes, size=edges)
    target = (source + draw.integers(1, _NEAR, size=edges)) % nodes
    pyarrow.csv.write_csv(pa.table({"source": names[source], "target": names[target]}), folder / "edges.csv")
    return folder / "nodes.csv", folder / "edges.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1_000_000, help="number of nodes")
    parser.add_argument("--edges", type=int, default=10_000_000, help="number of rows of edges")
    arguments = parser.parse_args()
    program = [sys.executable, "-m", "deepergcn"]
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        nodes, edges = write_tables(folder, arguments.nodes, arguments.edges)
        run = folder / "run"
        commands: dict[str, list[str | Path]] = {
            "train": ["train", "--nodes", nodes, "--edges", edges, "--label", "y", "--epochs", "1", "--out", run],
            "predict": ["predict", run, nodes, "--edges", edges, "--output", folder / "predictions.parquet"],
        }
        for name, command in commands.items():
            used = use_of([*program, *command])
            rows.append(
                {
                    "contestant": name,
                    "cpu_seconds": f"{used.cpu:.1f}",
                    "seconds": f"{used.seconds:.1f}",
                    "peak_mb": round(used.memory),
                }
            )
            print(rows[-1], flush=True)
    write_csv("large_tables", f"{arguments.nodes:,} nodes, {arguments.edges:,} rows of edges", rows, {})


if __name__ == "__main__":
    main()
