"""A chart as plain data; :mod:`deepergcn.report.charts.svg` and :mod:`deepergcn.report.plots` draw it."""

from collections.abc import Sequence
from dataclasses import dataclass

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f", "#b15928", "#666633")
"""Colour-blind safe colours, those of Okabe and Ito first."""

_SHADES = ("#9a5fc4", "#4f7fd0", "#21918c", "#4a9e4f", "#b08a00")
"""In the order of viridis, of a lightness that can be seen on white pages and on dark ones."""


@dataclass(frozen=True)
class Point:
    """A point of a line; ``error`` is half the height of its error bar, ``note`` is shown on hover."""

    x: float
    y: float
    error: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Line:
    """Points of one colour.

    Attributes:
        name: the label in the legend.
        points: the points.
        colour: an HTML colour.
        style: ``line`` (with markers if there are few points), ``dashed``, ``dotted``, or ``dots`` (markers only).
    """

    name: str
    points: tuple[Point, ...]
    colour: str
    style: str = "line"


@dataclass(frozen=True)
class LineChart:
    """A chart of lines.

    Attributes:
        title: the heading.
        x_label: the label of the horizontal axis.
        y_label: the label of the vertical axis.
        lines: the lines.
        ticks: labels for the positions 0, 1, ... of a categorical horizontal axis; None for a numeric one.
    """

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    ticks: tuple[str, ...] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not any(line.points for line in self.lines)


def shade(position: int, count: int) -> str:
    """The colour of one of several ordered lines, such as layers: from violet to yellow."""
    if count < 2:
        return _SHADES[1]
    place = position / (count - 1) * (len(_SHADES) - 1)
    low = min(int(place), len(_SHADES) - 2)
    first, second = (_rgb(_SHADES[number]) for number in (low, low + 1))
    mixed = (round(a + (b - a) * (place - low)) for a, b in zip(first, second, strict=True))
    return "#" + "".join(f"{value:02x}" for value in mixed)


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers between two values."""
    span = high - low
    if not span > 0:
        return [low]
    power = 10.0 ** _floor_log10(span / count)
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if span / (power * factor) <= count)
    first = -(-low // step)
    return [round((first + i) * step, 10) for i in range(int((high - first * step) / step + 1e-9) + 1)]


def thin(points: Sequence[Point], most: int) -> tuple[Point, ...]:
    """At most ``most`` points, evenly spaced, including the first and the last."""
    if len(points) <= most:
        return tuple(points)
    last = len(points) - 1
    return tuple(points[round(place * last / (most - 1))] for place in range(most))


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[place : place + 2], 16) for place in (1, 3, 5))


def _floor_log10(value: float) -> int:
    return int(f"{value:e}".partition("e")[2])
