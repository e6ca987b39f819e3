"""The charts of a study: score over depth, over beta and p, and compared with the paper's."""

from collections.abc import Sequence

from deepergcn.report.charts.line_chart import PALETTE, Line, LineChart, Point, shade
from deepergcn.report.study import Chart, Column, Row
from deepergcn.report.tables import Score, ScoreTable

_MOST_WITH_PAPER = 4  # lines, each with a dashed one of the paper's beside


def study_charts(charts: Sequence[Chart], table: ScoreTable, metric: str, same_data: bool) -> list[LineChart]:
    """The charts of a study's scores; ``same_data`` says whether the paper's values are comparable."""
    paper = "paper" if same_data else "paper, its dataset"
    makers = {"depth": _depth, "sweep": _sweep, "compare": _compare}
    drawn = [makers[chart.kind](chart, table, metric, paper) for chart in charts if chart.kind in makers]
    return [chart for chart in drawn if not chart.is_empty]


def _depth(chart: Chart, table: ScoreTable, metric: str, paper: str) -> LineChart:
    columns = _columns(chart, table)
    lines = []
    for number, column in enumerate(columns):
        colour = PALETTE[number % len(PALETTE)]
        scores = [table.score(row, column) for row in table.rows]
        lines.append(Line(column.title, _points(scores), colour))
        if len(columns) <= _MOST_WITH_PAPER:
            lines.append(Line(f"{column.title} ({paper})", _paper_points(scores), colour, "dashed"))
    labels = tuple(row.label for row in table.rows)
    return LineChart(chart.title, chart.x_label, f"test {metric}", _filled(lines), labels)


def _sweep(chart: Chart, table: ScoreTable, metric: str, paper: str) -> LineChart:
    columns = _columns(chart, table)
    lines = []
    for number, row in enumerate(table.rows):
        scores = [table.score(row, column) for column in columns]
        lines.append(Line(_row_name(row), _points(scores), shade(number, len(table.rows))))
    labels = tuple(column.label.rpartition("= ")[2] for column in columns)
    return LineChart(chart.title, chart.x_label, f"test {metric}", _filled(lines), labels)


def _compare(chart: Chart, table: ScoreTable, metric: str, paper: str) -> LineChart:
    columns = _columns(chart, table)
    lines = []
    for number, row in enumerate(table.rows):
        colour = PALETTE[number % len(PALETTE)]
        scores = [table.score(row, column) for column in columns]
        lines.append(Line(_row_name(row), _points(scores), colour, "dots"))
        lines.append(Line(f"{_row_name(row)} ({paper})", _paper_points(scores), colour, "dashed"))
    return LineChart(chart.title, "", f"test {metric}", _filled(lines), tuple(column.label for column in columns))


def _columns(chart: Chart, table: ScoreTable) -> list[Column]:
    return [column for column in table.columns if not chart.columns or column.name in chart.columns]


def _points(scores: Sequence[Score]) -> tuple[Point, ...]:
    return tuple(
        Point(place, score.ours, score.deviation, f"{score.seeds} {'seeds' if score.seeds > 1 else 'seed'}")
        for place, score in enumerate(scores)
        if score.ours is not None
    )


def _paper_points(scores: Sequence[Score]) -> tuple[Point, ...]:
    return tuple(Point(place, score.paper) for place, score in enumerate(scores) if score.paper is not None)


def _filled(lines: Sequence[Line]) -> tuple[Line, ...]:
    return tuple(line for line in lines if line.points)


def _row_name(row: Row) -> str:
    return row.label if row.layers is None else f"{row.layers} layers"
