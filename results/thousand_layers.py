"""The run of 1001 reversible layers on the yeast network: its curves and what it took, from ``thousand_layers.csv``.

The file is the ``metrics.csv`` of ``deepergcn train yeast-proteins-rev --set model.num_layers=1001 --set
evaluation.every=4 --epochs 24``, stopped after 20 epochs.
"""

import csv
from pathlib import Path

from deepergcn.report.charts.line_chart import PALETTE, Line, LineChart, Point

HERE = Path(__file__).parent
CURVES = {
    "train_loss": LineChart("1001 reversible layers on yeast: training loss", "epoch", "loss", ()),
    "valid_score": LineChart("1001 reversible layers on yeast: validation score", "epoch", "validation ROC-AUC", ()),
}
"""The column of every picture, and the picture without its line."""


def curves() -> dict[Path, LineChart]:
    """A picture of the loss and one of the score, by file."""
    return {_file(column): _with_line(column, chart) for column, chart in CURVES.items()}


def thousand_layers() -> str:
    """What the run took and came to, and its pictures."""
    rows = _rows()
    scored = [row for row in rows if row["valid_score"]]
    best = max(scored, key=lambda row: float(row["valid_score"]))
    memory = max(float(row["peak_memory_mb"]) for row in rows) / 1000
    lines = [
        "| epochs | training loss, first and last | validation ROC-AUC, first and best | test ROC-AUC | peak memory |",
        "|---|---|---|---|---|",
        f"| {len(rows)} | {float(rows[0]['train_loss']):.3f}, {float(rows[-1]['train_loss']):.3f} "
        f"| {float(scored[0]['valid_score']):.3f}, {float(best['valid_score']):.3f} "
        f"| {float(best['test_score']):.3f} | {memory:.1f} GB |",
        "",
        *(f"![{chart.title}]({_file(column).name})" for column, chart in CURVES.items()),
    ]
    return "\n".join(lines) + "\n"


def _with_line(column: str, chart: LineChart) -> LineChart:
    points = tuple(Point(int(row["epoch"]), float(row[column])) for row in _rows() if row[column])
    line = Line("RevGEN, 1001 layers", points, PALETTE[0])
    return LineChart(chart.title, chart.x_label, chart.y_label, (line,))


def _file(column: str) -> Path:
    return HERE / f"thousand_layers-{column.partition('_')[2]}.svg"


def _rows() -> list[dict[str, str]]:
    with (HERE / "thousand_layers.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))
