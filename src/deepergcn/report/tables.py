"""The table of a study, our scores beside the paper's, as Markdown, LaTeX and CSV."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from deepergcn.data.storage.csv_text import csv_text
from deepergcn.report.results import Result
from deepergcn.report.study import Column, Row

NONE = "\u2013"
"""The text of a cell without a value, as in the paper."""


@dataclass(frozen=True)
class Score:
    """A cell of the table: our score over all seeds, and the paper's.

    Attributes:
        ours: the mean test score; None if no run has finished.
        deviation: the standard deviation over the seeds; None for fewer than two.
        seeds: the number of seeds.
        paper: the published value.
        failure: the reason of a failure.
    """

    ours: float | None = None
    deviation: float | None = None
    seeds: int = 0
    paper: float | None = None
    failure: str = ""

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.ours is None or self.paper is None else self.ours - self.paper

    def text(self, digits: int = 3) -> str:
        """Ours with its deviation."""
        if self.ours is None:
            return "failed" if self.failure else NONE
        deviation = "" if self.deviation is None else f" ± {self.deviation:.{digits}f}"
        return f"{self.ours:.{digits}f}{deviation}"

    def paper_text(self) -> str:
        """The published value."""
        return NONE if self.paper is None else f"{self.paper:.3f}"


@dataclass(frozen=True)
class ScoreTable:
    """All scores of a study on one dataset, by row and column."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    scores: dict[tuple[str, str], Score]

    def score(self, row: Row, column: Column) -> Score:
        """The score of a cell."""
        return self.scores[row.name, column.name]

    def averages(self) -> list[Score]:
        """The mean of every column over the rows with our score; the paper's only if it has all of these rows."""
        return [_average([self.score(row, column) for row in self.rows]) for column in self.columns]

    def lines(self) -> list[list[Score]]:
        """The scores by row."""
        return [[self.score(row, column) for column in self.columns] for row in self.rows]


def score_table(
    results: Sequence[Result],
    rows: Sequence[Row],
    columns: Sequence[Column],
    published: dict[str, dict[str, float | None]],
) -> ScoreTable:
    """The table of these results, all of one dataset and one number of epochs."""
    scores = {}
    for row in rows:
        for column in columns:
            found = [result for result in results if (result.row, result.column) == (row.name, column.name)]
            tests = [result.test for result in found if result.test is not None]
            scores[row.name, column.name] = Score(
                ours=mean(tests) if tests else None,
                deviation=stdev(tests) if len(tests) > 1 else None,
                seeds=len(tests),
                paper=published.get(column.name, {}).get(row.name),
                failure=next((result.failure for result in found if result.failure), ""),
            )
    return ScoreTable(tuple(columns), tuple(rows), scores)


def markdown(table: ScoreTable, corner: str = "layers") -> str:
    """The table as Markdown, the paper's scores in parentheses where there are any."""
    published = any(score.paper is not None for scores in table.lines() for score in scores)
    header = [corner, *(column.title for column in table.columns)]
    lines = [f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
    for row, scores in zip(table.rows, table.lines(), strict=True):
        cells = [f"{score.text()} ({score.paper_text()})" if published else score.text() for score in scores]
        lines.append(f"| {' | '.join([row.label, *cells])} |")
    return "\n".join(lines) + "\n"


def latex(table: ScoreTable, corner: str = "\\#layers") -> str:
    """The table as LaTeX, our best score in bold, the paper's scores in parentheses."""
    best = max((score.ours for scores in table.lines() for score in scores if score.ours is not None), default=None)
    groups = column_groups(table.columns)
    lines = [f"\\begin{{tabular}}{{l{'l' * len(table.columns)}}}", "\\toprule"]
    if any(name for name, _ in groups):
        spans = [f"\\multicolumn{{{count}}}{{c}}{{{_tex(name)}}}" for name, count in groups]
        lines.append(" & ".join(["", *spans]) + " \\\\")
    lines += [" & ".join([corner, *(_tex(column.label) for column in table.columns)]) + " \\\\", "\\midrule"]
    for row, scores in zip(table.rows, table.lines(), strict=True):
        cells = [_tex_score(score, score.ours is not None and score.ours == best) for score in scores]
        lines.append(" & ".join([_tex(row.label), *cells]) + " \\\\")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


def table_csv(table: ScoreTable) -> str:
    """The table as CSV, one row per cell: ours, deviation, seeds, the paper's and the difference."""
    lines: list[Sequence[object]] = [("row", "column", "ours", "deviation", "seeds", "paper", "difference")]
    for row in table.rows:
        for column in table.columns:
            score = table.score(row, column)
            values = (score.ours, score.deviation, score.seeds, score.paper, score.difference)
            shown = [f"{value:.6g}" if isinstance(value, float) else value for value in values]
            lines.append((row.label, column.title, *shown))
    return csv_text(lines)


def column_groups(columns: Sequence[Column]) -> list[tuple[str, int]]:
    """The headings of adjacent columns, with their number of columns."""
    groups: list[tuple[str, int]] = []
    for column in columns:
        if groups and groups[-1][0] == column.group:
            groups[-1] = column.group, groups[-1][1] + 1
        else:
            groups.append((column.group, 1))
    return groups


def _average(scores: Sequence[Score]) -> Score:
    there = [score for score in scores if score.ours is not None]
    ours = [score.ours for score in there if score.ours is not None]
    paper = [score.paper for score in there if score.paper is not None]
    return Score(
        ours=mean(ours) if ours else None,
        seeds=min((score.seeds for score in there), default=0),
        paper=mean(paper) if len(paper) == len(there) and paper else None,
    )


def _tex_score(score: Score, bold: bool) -> str:
    ours = score.text().replace("±", "$\\pm$").replace(NONE, "--")
    ours = f"\\textbf{{{ours}}}" if bold else ours
    return f"{ours} {{\\scriptsize ({score.paper_text().replace(NONE, '--')})}}"


def _tex(text: str) -> str:
    symbols = {"_": "\\_", "&": "\\&", "β": "$\\beta$", "\u2212": "$-$", "#": "\\#"}
    return "".join(symbols.get(letter, letter) for letter in text)
