"""The charts of a run: loss and score over the epochs, and the learned parameters of every layer."""

from collections.abc import Sequence
from math import isfinite

from deepergcn.report.charts.line_chart import PALETTE, Line, LineChart, Point, shade, thin
from deepergcn.report.plots import PARAMETERS, learned
from deepergcn.runs.run import Row

_COLOURS = {"train": PALETTE[7], "valid": PALETTE[0], "test": PALETTE[1]}
_MOST_POINTS = 200
_POINTS_OF_LAYERS = 4_000  # in all lines of a chart


def curve_charts(metrics: Sequence[Row], metric: str) -> list[LineChart]:
    """Loss and score over the epochs."""
    found = []
    for kind, label in (("loss", "loss"), ("score", metric)):
        lines = []
        for part, colour in _COLOURS.items():
            points = _points(metrics, f"{part}_{kind}")
            if points:
                lines.append(Line(part, thin(points, _MOST_POINTS), colour))
        found.append(LineChart(label, "epoch", label, tuple(lines)))
    return [chart for chart in found if not chart.is_empty]


def dynamics_charts(dynamics: Sequence[Row]) -> list[LineChart]:
    """Every learned parameter over the epochs, one line per layer."""
    found = []
    for name, symbol in PARAMETERS.items():
        if not learned(dynamics, name):
            continue
        layers = sorted({int(row["layer"]) for row in dynamics if row["layer"] is not None and row[name] is not None})
        most = max(_POINTS_OF_LAYERS // len(layers), 10)
        lines = tuple(
            Line(
                f"layer {layer}",
                thin(_points([row for row in dynamics if row["layer"] == layer], name), most),
                shade(place, len(layers)),
            )
            for place, layer in enumerate(layers)
        )
        found.append(LineChart(f"{symbol} of every layer", "epoch", symbol, lines))
    return found


def _points(rows: Sequence[Row], column: str) -> list[Point]:
    """The finite values of a column: a loss that has overflowed has no place on an axis."""
    pairs = ((row["epoch"], row.get(column)) for row in rows)
    return [Point(x, y) for x, y in pairs if x is not None and y is not None and isfinite(y)]
