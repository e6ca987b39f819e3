"""The table of own molecules, from the rows that ``benchmarks.own_molecules`` has written."""

import csv
from pathlib import Path
from statistics import mean, stdev

from deepergcn.report.tables import NONE

FILE = Path(__file__).parents[1] / "benchmarks" / "results" / "own_molecules.csv"
MODELS = ("deepergcn", "forest", "chemprop")

Row = dict[str, str]


def molecule_rows() -> str:
    """Test scores and processor seconds of the defaults, of the forest and of chemprop, as Markdown."""
    with FILE.open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if not row["settings"]]
    sets = dict.fromkeys((row["set"], row["molecules"], row["metric"]) for row in rows if row["model"] == MODELS[0])
    table = [f"| set | molecules | metric | seeds | {' | '.join(MODELS)} |", "|" + "---|" * (4 + len(MODELS))]
    for name, molecules, metric in sets:
        of_set = [row for row in rows if row["set"] == name]
        seeds = len({row["seed"] for row in of_set if row["model"] == MODELS[0]})
        cells = [_cell([row for row in of_set if row["model"] == model]) for model in MODELS]
        table.append(f"| {name} | {int(molecules):,} | {metric} | {seeds} | {' | '.join(cells)} |")
    return "\n".join(table) + "\n"


def _cell(rows: list[Row]) -> str:
    if not rows:
        return NONE
    scores = [float(row["test"]) for row in rows]
    spread = f" ± {stdev(scores):.3f}" if len(scores) > 1 else ""
    return f"{mean(scores):.3f}{spread}, {mean(float(row['cpu_seconds']) for row in rows):.0f} s"
