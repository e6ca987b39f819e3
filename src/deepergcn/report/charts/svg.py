"""Charts as SVG: inline in the report, with its style and tooltips, or as files."""

from html import escape

from deepergcn.report.charts.line_chart import Line, LineChart, Point, nice_ticks

WIDTH, HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 16, 34, 50
_DASHES = {"dashed": ' stroke-dasharray="5 4"', "dotted": ' stroke-dasharray="1.5 3.5"'}
_MOST_MARKED = 40
_MOST_NAMED = 14

_STYLE = """<style>
text{font:12px system-ui,sans-serif;fill:#222}.grid{stroke:#ddd}.axis{stroke:#888}.title{font-weight:600;font-size:13px}
.back{fill:#fff}
@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}.axis{stroke:#999}.back{fill:#16181c}}
</style>
<rect class="back" width="100%" height="100%" rx="6"/>"""


def draw(chart: LineChart, alone: bool = False) -> str:
    """The chart as an SVG element; with ``alone`` as a self-contained file."""
    legend = _legend(chart.lines)
    height = HEIGHT + 18 * len(legend)
    frame = _Frame(chart)
    body = [
        f'<text class="title" x="{_LEFT}" y="18">{escape(chart.title)}</text>',
        *frame.axes(),
        *(_line(line, frame) for line in chart.lines),
        *legend,
    ]
    namespace = ' xmlns="http://www.w3.org/2000/svg"' if alone else ""
    head = (
        f'<svg{namespace} class="chart" data-x="{escape(chart.x_label)}" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(chart.title)}">'
    )
    return "\n".join([head, *([_STYLE] if alone else []), *body, "</svg>"])


class _Frame:
    """Maps values to coordinates."""

    def __init__(self, chart: LineChart) -> None:
        self.chart = chart
        points = [point for line in chart.lines for point in line.points]
        xs = [point.x for point in points] or [0.0, 1.0]
        ys = [point.y + side * (point.error or 0.0) for point in points for side in (-1, 1)] or [0.0, 1.0]
        self.x_low, self.x_high = (-0.4, len(chart.ticks) - 0.6) if chart.ticks else (min(xs), max(xs))
        margin = (max(ys) - min(ys)) * 0.06 or abs(ys[0]) * 0.05 or 1.0
        self.y_low, self.y_high = min(ys) - margin, max(ys) + margin

    def x(self, value: float) -> float:
        span = self.x_high - self.x_low or 1.0
        return _LEFT + (value - self.x_low) / span * (WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - _BOTTOM - (value - self.y_low) / (self.y_high - self.y_low) * (HEIGHT - _TOP - _BOTTOM)

    def axes(self) -> list[str]:
        bottom, right = HEIGHT - _BOTTOM, WIDTH - _RIGHT
        found = []
        for value in nice_ticks(self.y_low, self.y_high):
            y = self.y(value)
            found.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
            found.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
        labels = enumerate(self.chart.ticks) if self.chart.ticks else self._numbers()
        for place, label in labels:
            found.append(f'<text x="{self.x(place):.1f}" y="{bottom + 18}" text-anchor="middle">{escape(label)}</text>')
        found.append(f'<line class="axis" x1="{_LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}"/>')
        middle = (_TOP + bottom) / 2
        found.append(
            f'<text x="14" y="{middle:.0f}" text-anchor="middle" transform="rotate(-90 14 {middle:.0f})">'
            f"{escape(self.chart.y_label)}</text>"
        )
        x = (_LEFT + right) / 2
        found.append(f'<text x="{x:.0f}" y="{bottom + 38}" text-anchor="middle">{escape(self.chart.x_label)}</text>')
        return found

    def _numbers(self) -> list[tuple[float, str]]:
        """Round numbers; whole ones where all places are, such as epochs."""
        whole = all(point.x == round(point.x) for line in self.chart.lines for point in line.points)
        values = nice_ticks(self.x_low, self.x_high, 8)
        return [(value, f"{value:g}") for value in values if value == round(value) or not whole]

    def tip(self, line: Line, point: Point) -> str:
        """The text of the tooltip."""
        x = self.chart.ticks[round(point.x)] if self.chart.ticks else f"{point.x:g}"
        error = "" if point.error is None else f" ± {point.error:.4f}"
        note = f"\n{point.note}" if point.note else ""
        return f"{line.name}\n{self.chart.x_label} {x}: {point.y:.4f}{error}{note}"


def _line(line: Line, frame: _Frame) -> str:
    places = [(frame.x(point.x), frame.y(point.y)) for point in line.points]
    found = [f'<g class="series" data-name="{escape(line.name)}" stroke="{line.colour}" fill="{line.colour}">']
    if line.style != "dots" and len(places) > 1:
        dash = _DASHES.get(line.style, "")
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        found.append(f'<polyline fill="none" stroke-width="1.8"{dash} points="{path}"/>')
    few = len(places) <= _MOST_MARKED
    for (x, y), point in zip(places, line.points, strict=True):
        if point.error:
            top, bottom = frame.y(point.y + point.error), frame.y(point.y - point.error)
            bar = f"M{x:.1f} {top:.1f}V{bottom:.1f}" + "".join(f"M{x - 3:.1f} {end:.1f}h6" for end in (top, bottom))
            found.append(f'<path class="error" d="{bar}" stroke-width="1.2"/>')
        if few or line.style == "dots":
            radius = 2.4 if line.style in _DASHES else 3.4
            tip = escape(frame.tip(line, point), quote=True).replace("\n", "&#10;")
            found.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" data-tip="{tip}"/>')
    if not few and line.style != "dots":
        values = ";".join(f"{point.x:g},{point.y:.4g}" for point in line.points)
        found.insert(1, f'<desc data-values="{values}"></desc>')
    return "\n".join([*found, "</g>"])


def _legend(lines: tuple[Line, ...]) -> list[str]:
    """The legend below the chart, in rows and columns; if there are many lines, only some of them."""
    named = lines if len(lines) <= _MOST_NAMED else (lines[0], lines[len(lines) // 2], lines[-1])
    width = 40 + round(6.8 * max((len(line.name) for line in named), default=0))
    columns = min(max((WIDTH - _LEFT) // width, 1), 4)
    if any(line.style == "dashed" for line in named) and columns > 1:
        columns -= columns % 2  # a line and the dashed one that belongs to it side by side
    rows: list[list[str]] = []
    for place, line in enumerate(named):
        if place % columns == 0:
            rows.append([])
        x, y = _LEFT + place % columns * width, HEIGHT + 18 * len(rows) - 10
        dash = _DASHES.get(line.style, "")
        rows[-1].append(
            f'<g class="legend" data-name="{escape(line.name)}"><line x1="{x}" x2="{x + 18}" y1="{y - 4}" y2="{y - 4}" '
            f'stroke="{line.colour}" stroke-width="3"{dash}/><text x="{x + 23}" y="{y}">{escape(line.name)}</text></g>'
        )
    return ["".join(row) for row in rows]
