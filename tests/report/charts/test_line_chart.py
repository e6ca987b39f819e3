"""Charts: ticks that are round, points where they belong, and the same drawing every time."""

import re

import pytest

from deepergcn.report.charts.figures import figure
from deepergcn.report.charts.line_chart import Line, LineChart, Point, nice_ticks, shade, thin
from deepergcn.report.charts.of_runs import curve_charts
from deepergcn.report.charts.svg import draw


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0.781, 0.853, [0.8, 0.82, 0.84]),
        (1, 100, [20, 40, 60, 80, 100]),
        (3, 3, [3]),
    ],
)
def test_ticks_are_round(low: float, high: float, expected: list[float]) -> None:
    assert nice_ticks(low, high) == pytest.approx(expected)


def contrast(first: str, second: str) -> float:
    """The contrast of two colours, as WCAG defines it."""
    lights = []
    for colour in (first, second):
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        lights.append(0.2126 * red + 0.7152 * green + 0.0722 * blue)
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def test_points_that_are_left_out_are_neither_the_first_nor_the_last() -> None:
    points = [Point(x, x) for x in range(101)]
    thinned = thin(points, 10)
    assert len(thinned) == 10
    assert (thinned[0], thinned[-1]) == (points[0], points[-1])
    assert thin(points, 200) == tuple(points)


def test_a_loss_that_is_not_finite_has_no_point() -> None:
    losses = (0.5, float("inf"), float("nan"), float("-inf"), 0.25)
    (chart,) = curve_charts([{"epoch": epoch, "train_loss": loss} for epoch, loss in enumerate(losses)], "accuracy")
    assert chart.lines[0].points == (Point(0, 0.5), Point(4, 0.25))
    assert draw(chart).count("nan") == draw(chart).count("inf") == 0


def test_shades_go_from_violet_to_yellow() -> None:
    assert [shade(0, 5), shade(4, 5)] == ["#9a5fc4", "#b08a00"]
    assert len({shade(i, 112) for i in range(112)}) > 100
    for page in ("#ffffff", "#1e2129"):  # the site's two schemes; 3 is what WCAG asks of graphics
        assert min(contrast(shade(i, 112), page) for i in range(112)) >= 3


def chart() -> LineChart:
    lines = (
        Line("a<b", (Point(0, 1.0, 0.5, "2 seeds"), Point(1, 3.0)), "#111111"),
        Line("long", tuple(Point(x / 50, x) for x in range(51)), "#222222", "dashed"),
        Line("third", (Point(0, 2.0), Point(1, 1.0)), "#333333", "dotted"),
    )
    return LineChart("title", "layers", "score", lines, ("3", "7"))


def test_a_drawing_has_every_point_with_what_hovering_shows() -> None:
    text = draw(chart())
    assert text == draw(chart())
    assert text.count("<circle") == 4
    assert (
        len(set(re.findall(r'<polyline[^>]*?( stroke-dasharray="[^"]+"|(?= points))', text))) == 3
    )  # all can be told apart
    assert text.count('class="error"') == 1
    assert 'data-tip="a&lt;b&#10;layers 3: 1.0000 ± 0.5000&#10;2 seeds"' in text
    values = re.findall(r'data-values="([^"]+)"', text)
    assert [len(value.split(";")) for value in values] == [51]
    assert "<style>" in draw(chart(), alone=True)


def test_a_figure_has_the_same_lines() -> None:
    axes = figure(chart()).axes[0]
    assert [line.get_label() for line in axes.lines][:1] == ["a<b"]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["3", "7"]


def test_the_legend_stands_in_columns_within_the_picture() -> None:
    names = ["PlainGCN max", "PlainGCN max (paper, its dataset)", "ResGCN max", "ResGCN max (paper, its dataset)"]
    lines = tuple(Line(n, (Point(0, 1.0),), "#111111", "dashed" if "paper" in n else "line") for n in names)
    text = draw(LineChart("title", "layers", "score", lines, ("3",)))
    places = re.findall(r'class="legend" data-name="[^"]+"><line x1="(\d+)" x2="\d+" y1="(\d+)"', text)
    xs, ys = zip(*places, strict=True)
    assert xs[0] == xs[2] != xs[1] == xs[3]
    assert ys[0] == ys[1] != ys[2] == ys[3]
    wide = (Line("x" * 200, (Point(0, 1.0),), "#111111"), Line("y", (Point(0, 1.0),), "#111111"))
    assert draw(LineChart("title", "layers", "score", wide, ("3",))).count('class="legend"') == 2
