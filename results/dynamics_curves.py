"""What every layer learns over the epochs: the pictures of the paper's appendix, from ``dynamics_curves.csv``.

    python -m results.dynamics_curves STUDY

writes that file from the folder of ``deepergcn reproduce dynamics``: beta, p and s of every layer, after every fifth
epoch.
"""

import csv
import sys
from dataclasses import replace
from pathlib import Path

from deepergcn.data.storage.csv_text import csv_text
from deepergcn.data.storage.files import write_text
from deepergcn.report.charts.line_chart import LineChart
from deepergcn.report.charts.of_runs import dynamics_charts
from deepergcn.report.plots import PARAMETERS
from deepergcn.report.study import read_study
from deepergcn.runs.run import Row, Run

HERE = Path(__file__).parent
FILE = HERE / "dynamics_curves.csv"
EVERY = 5
COLUMNS = {"beta-s": "softmax aggregation", "p-s": "power-mean aggregation"}
"""The columns of the study, each with the aggregation that learns beside s."""


def main(folder: str) -> None:
    """Write the learned parameters of the runs of a study, with four digits."""
    study = read_study(Path(folder))
    lines: list[list[object]] = [["column", "epoch", "layer", "beta", "p", "s"]]
    for cell in study.runs:
        rows = Run.open(Path(folder) / cell.folder).dynamics()
        for row in (row for row in rows if _whole(row["epoch"]) % EVERY == 0):
            values = (row[name] for name in ("beta", "p", "s"))
            learned = [None if value is None else f"{value:.4g}" for value in values]
            lines.append([cell.column, _whole(row["epoch"]), _whole(row["layer"]), *learned])
    write_text(FILE, csv_text(lines))


def dynamics_pictures() -> dict[Path, LineChart]:
    """A picture of every learned parameter, by file."""
    names = {symbol: name for name, symbol in PARAMETERS.items()}
    return {
        HERE / f"dynamics-{column}-{names[chart.y_label]}.svg": replace(chart, title=f"{chart.title}, {title}")
        for column, title in COLUMNS.items()
        for chart in dynamics_charts(_rows(column))
    }


def dynamics_curves() -> str:
    """The value of every layer after the last epoch, and the pictures."""
    last = {title: _last_epoch(_rows(column)) for column, title in COLUMNS.items()}
    layers = next(iter(last.values()))
    header = [f"after {_whole(layers[0]['epoch'])} epochs", *(f"layer {_whole(row['layer'])}" for row in layers)]
    lines = [header, ["---"] * len(header)]
    for title, rows in last.items():
        for name, symbol in PARAMETERS.items():
            values = [row[name] for row in rows]
            lines += [[f"{symbol}, {title}", *(f"{value:.2f}" for value in values if value is not None)]] * any(values)
    pictures = (f"![{chart.title}]({file.name})" for file, chart in dynamics_pictures().items())
    return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), "", *pictures, ""])


def _last_epoch(rows: list[Row]) -> list[Row]:
    last = max(_whole(row["epoch"]) for row in rows)
    return [row for row in rows if row["epoch"] == last]


def _rows(column: str) -> list[Row]:
    with FILE.open(encoding="utf-8", newline="") as lines:
        found = [row for row in csv.DictReader(lines) if row.pop("column") == column]
    return [{"y": None, **{name: float(value) if value else None for name, value in row.items()}} for row in found]


def _whole(value: float | None) -> int:
    return int(value or 0)


if __name__ == "__main__":
    main(sys.argv[1])
