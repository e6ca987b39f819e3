"""A chart as plain data; :mod:`deepergcn.report.svg` and :mod:`deepergcn.report.plots` draw it."""

from collections.abc import Sequence
from dataclasses import dataclass

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f", "#b15928", "#666633")
"""Colours that differ for colour-blind readers too, of Okabe and Ito first."""

_VIRIDIS = ("#440154", "#3b528b", "#21918c", "#5ec962", "#d8c51e")


@dataclass(frozen=True)
class Point:
    """A point of a line; ``error`` is the half height of its bar, ``note`` what is shown besides on hovering."""

    x: float
    y: float
    error: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Line:
    """Points of one colour.

    Attributes:
        name: for the legend.
        points: the points.
        colour: as in HTML.
        style: ``line`` with markers where there are few points, ``dashed`` without, or ``dots`` alone.
    """

    name: str
    points: tuple[Point, ...]
    colour: str
    style: str = "line"


@dataclass(frozen=True)
class LineChart:
    """Lines over a common axis.

    Attributes:
        title: the heading.
        x_label: of the horizontal axis.
        y_label: of the vertical axis.
        lines: what is drawn.
        ticks: the labels of the positions 0, 1, ... where the horizontal axis has names instead of numbers.
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
    """A colour for one of several ordered lines, such as layers: from violet to yellow."""
    if count < 2:
        return _VIRIDIS[1]
    place = position / (count - 1) * (len(_VIRIDIS) - 1)
    low = min(int(place), len(_VIRIDIS) - 2)
    first, second = (_rgb(_VIRIDIS[number]) for number in (low, low + 1))
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
    """At most this number of points, evenly chosen, the first and the last among them."""
    if len(points) <= most:
        return tuple(points)
    last = len(points) - 1
    return tuple(points[round(place * last / (most - 1))] for place in range(most))


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[place : place + 2], 16) for place in (1, 3, 5))


def _floor_log10(value: float) -> int:
    return int(f"{value:e}".partition("e")[2])
