"""Write charts to files: PNG by matplotlib, SVG as in the report."""

import io
from pathlib import Path

from matplotlib.figure import Figure

from deepergcn.data.storage.files import write_bytes, write_text
from deepergcn.report.charts.line_chart import LineChart
from deepergcn.report.charts.svg import draw

_MOST_MARKED = 40
_MOST_NAMED = 14


def write_figure(chart: LineChart, path: Path) -> list[Path]:
    """Write the chart to ``path`` with the suffixes .png and .svg."""
    png, svg = path.with_name(f"{path.name}.png"), path.with_name(f"{path.name}.svg")
    picture = io.BytesIO()
    figure(chart).savefig(picture, dpi=160, format="png")
    write_bytes(png, picture.getvalue())
    write_text(svg, draw(chart, alone=True) + "\n")
    return [png, svg]


def figure(chart: LineChart) -> Figure:
    """The chart as a matplotlib figure."""
    drawn = Figure(figsize=(7, 4.4), layout="constrained")
    axes = drawn.subplots()
    for line in chart.lines:
        xs, ys = [point.x for point in line.points], [point.y for point in line.points]
        few = len(xs) <= _MOST_MARKED
        style = {"line": "-", "dashed": "--", "dotted": ":", "dots": ""}[line.style]
        marker = "o" if few or line.style == "dots" else ""
        size = 3 if line.style in ("dashed", "dotted") else 5
        axes.plot(xs, ys, style, marker=marker, markersize=size, color=line.colour, linewidth=1.4, label=line.name)
        bars = [(point.x, point.y, point.error) for point in line.points if point.error]
        if bars:
            x, y, error = zip(*bars, strict=True)
            axes.errorbar(x, y, yerr=error, fmt="none", color=line.colour, linewidth=1, capsize=3)
    if chart.ticks:
        axes.set_xticks(range(len(chart.ticks)), chart.ticks)
    axes.set_title(chart.title)
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    if len(chart.lines) <= _MOST_NAMED:
        drawn.legend(loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    return drawn
