"""The front page's picture, score against depth, and its table of scores, both from the results of the studies."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from statistics import mean, stdev

from deepergcn.report.charts.line_chart import PALETTE, Line, LineChart, Point
from deepergcn.report.results import Result, read_results
from deepergcn.report.tables import NONE

HERE = Path(__file__).parent
WIRINGS = {"PlainGCN": "PlainGCN-max", "ResGCN+": "ResGCN+-max"}
"""The two lines of the picture, with their columns of Table 1."""

NETWORKS: dict[str, tuple[tuple[str, str], ...]] = {
    "PlainGCN": (("table-1", "PlainGCN-mean"), ("table-1", "PlainGCN-max")),
    "ResGCN": (("table-1", "ResGCN-mean"), ("table-1", "ResGCN-max")),
    "ResGCN+": (("table-1", "ResGCN+-mean"), ("table-1", "ResGCN+-max")),
    "DyResGEN (learns β, p or s)": (
        ("table-4", "beta"),
        ("table-4", "beta-s"),
        ("table-4", "p"),
        ("table-4", "p-s"),
        ("related", "ours"),
    ),
    "GCN": (("related", "GCN"),),
    "GAT": (("related", "GAT"),),
    "APPNP": (("related", "APPNP"),),
    "JK-Net": (("related", "JK-Net"),),
    "GCN with DropEdge": (("related", "DropEdge"),),
    "GCN with PairNorm": (("related", "PairNorm"),),
    "GCNII": (("related", "GCNII"),),
}
"""The rows of the table of scores, with the studies and columns that hold their runs."""

LABELS_SHOWN = 'data.inputs=null data.transforms=["known-labels"] evaluation.every=10 model.dropout=0.2'
"""The settings of runs on minesweeper that have the labels of train nodes as inputs."""

FRAMES: dict[str, dict[str, tuple[str, str]]] = {
    "minesweeper": {
        "table-1": ("minesweeper", "model.dropout=0.2"),
        "table-4": ("minesweeper", ""),
        "related": ("minesweeper", ""),
    },
    "minesweeper, known labels": {"table-1": ("minesweeper", LABELS_SHOWN)},
    "yeast_proteins": dict.fromkeys(("table-1", "table-4", "related"), ("yeast_proteins", "")),
}
"""What networks are compared on: the dataset and the settings of its runs in each study.

The recipe of minesweeper was chosen with dropout, which the cells of Table 1 do not have by themselves.
"""

Cell = tuple[str, str, str]
"""The study, column and row of runs that differ in their seeds alone."""


def depth_chart() -> LineChart:
    """Score against depth, plain against res+, a pair of lines for each of at most three datasets."""
    results = comparable()
    datasets = sorted(set(map(_data, results)))
    depths = sorted({_layers(result.row) for result in results if result.column in WIRINGS.values()})
    lines = []
    for style, dataset in zip(("line", "dotted", "dashed"), datasets, strict=False):
        for number, (name, column) in enumerate(WIRINGS.items()):
            points = []
            for place, layers in enumerate(depths):
                cell = ("table-1", column, f"layers-{layers}")
                tests = _tests(result for result in results if (_data(result), _cell(result)) == (dataset, cell))
                if tests:
                    points.append(Point(place, mean(tests), stdev(tests) if len(tests) > 1 else None))
            lines.append(Line(f"{name}, {dataset}", tuple(points), PALETTE[1 - number], style))
    ticks = tuple(map(str, depths))
    return LineChart("Score against depth, with max aggregation", "layers", "test ROC-AUC", tuple(lines), ticks)


def score_rows() -> str:
    """The best cell of every network by validation, of those with the most seeds, on every dataset, as Markdown."""
    results = comparable()
    datasets = sorted(set(map(_data, results)))
    lines = [f"| network | {' | '.join(datasets)} |", "|" + "---|" * (1 + len(datasets))]
    for name, places in NETWORKS.items():
        runs = [result for result in results if (result.study, result.column) in places]
        cells = [_best([run for run in runs if _data(run) == dataset]) for dataset in datasets]
        if any(cells):
            lines.append(f"| {name} | {' | '.join(cell or NONE for cell in cells)} |")
    return "\n".join(lines) + "\n"


def comparable() -> list[Result]:
    """The runs of the frames, for as many epochs as most of Table 1's there."""
    found = [result for name in ("table-1", "table-4", "related") for result in read_results(HERE / f"{name}.csv")]
    found = [result for result in found if _data(result)]
    usual = {}
    for data in {_data(result) for result in found if result.study == "table-1"}:
        epochs = Counter(result.epochs for result in found if (result.study, _data(result)) == ("table-1", data))
        usual[data] = epochs.most_common(1)[0][0]
    return [result for result in found if result.test is not None and result.epochs == usual.get(_data(result), -1)]


def _data(result: Result) -> str:
    """The frame that a run belongs to; empty if it belongs to none."""
    has = (result.dataset, result.settings)
    return next((name for name, studies in FRAMES.items() if studies.get(result.study) == has), "")


def _best(results: list[Result]) -> str:
    cells: dict[Cell, list[Result]] = {}
    for result in results:
        cells.setdefault(_cell(result), []).append(result)
    if not cells:
        return ""
    cell, chosen = max(cells.items(), key=lambda item: (len(item[1]), mean(result.valid or 0.0 for result in item[1])))
    tests = _tests(chosen)
    deviation = f" ± {stdev(tests):.3f}" if len(tests) > 1 else ""
    return f"{mean(tests):.3f}{deviation} ({_layers(cell[2])} layers)"


def _cell(result: Result) -> Cell:
    return result.study, result.column, result.row


def _tests(results: Iterable[Result]) -> list[float]:
    return [result.test for result in results if result.test is not None]


def _layers(row: str) -> int:
    return int(row.removeprefix("layers-"))
