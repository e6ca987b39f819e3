"""The claims of the paper in words, with every score taken from the results; ``claims.md`` holds the words.

What stands there between braces is replaced by test scores:

- ``{table-1 ResGCN+-max 3,7,14}``: of a column at these depths, with the deviation where there are several seeds;
- ``{table-3 p-1,p-2,p-3 7}``: the lowest and the highest of several columns;
- ``{table-1 ResGCN+-max 56 - PlainGCN-max 56}``: the difference of two cells;
- ``{cells table-1 ResGCN+-max 3,7,14}``: cells of a table, a dash where nothing has been run; rows and columns of
  dashes alone are left out of the table;
- ``{verdicts}``: a table of all claims, which are headings, with the first paragraph below each.

The dataset is the yeast network, or follows, as in ``{table-1 ResGCN+-max 14 minesweeper}``. The runs are those of 100
epochs with the study's settings, unless ``20 epochs`` or settings such as ``optimizer.lr=0.001`` stand at the end;
``labels-shown`` are those of runs with known labels.

``{while table-1 ResGCN+-max 7,14 > table-1 PlainGCN-max 7,14 + 0.01}`` stands behind words that are true as long as
this is, with ``>`` or ``<``, with or without a margin. It compares the cells that have been run, and leaves nothing in
the text. An error says when new results contradict it: then change the words, and the condition with them.
"""

import re
import textwrap
from pathlib import Path
from statistics import mean, stdev

from deepergcn.errors import InputError
from deepergcn.report.results import Result, read_results
from deepergcn.report.tables import NONE
from results.scores import LABELS_SHOWN

HERE = Path(__file__).parent
TEXT = HERE / "claims.md"
DATASET, EPOCHS = "yeast_proteins", 100

_PLACE = re.compile(r"\{([^{}]+)\}")
_CELLS = re.compile(
    r"(?P<study>[\w-]+) (?P<columns>\S+) (?P<layers>[\d,]+)"
    r"(?: (?P<dataset>[a-z][\w-]*))?(?: (?P<epochs>\d+) epochs)?(?: (?P<settings>\S+=\S+(?: \S+=\S+)*))?"
)
_CONDITION = re.compile(r"(?P<left>.+) (?P<sign>[<>]) (?P<right>.+?)(?: (?P<margin>[+-] [\d.]+))?")
_CLAIM = re.compile(r"^### (?P<claim>.+)\n\n(?P<verdict>.+(?:\n.+)*)", re.MULTILINE)

Scores = list[list[float]]
"""The test scores of the seeds, of every column that has been run."""


def claims() -> str:
    """The text with the scores of the results."""
    text = TEXT.read_text(encoding="utf-8").replace("{verdicts}", "%verdicts%")
    text = _PLACE.sub(lambda place: _filled(" ".join(place[1].split())), text)
    text = text.replace("%verdicts%", _verdicts(text))
    return "\n\n".join(map(_laid_out, re.split(r"\n\n+", text.strip()))) + "\n"


def _filled(asked: str) -> str:
    kind, _, rest = asked.partition(" ")
    first, minus, second = asked.partition(" - ")
    if kind == "while":
        return _checked(rest)
    if kind == "cells":
        return " | ".join(map(_told, _depths(rest)))
    if minus:
        return f"{_mean(_run(first)[0]) - _mean(_run(f'{kind} {second}')[0]):.3f}"
    told = [_told(scores) for scores in _run(asked)]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"


def _checked(asked: str) -> str:
    """Nothing, if the condition is true of the cells that have been run."""
    condition = _CONDITION.fullmatch(asked)
    if condition is None:
        raise InputError(f"{TEXT.name}: {{while {asked}}}: expected cells, > or <, and cells")
    sign, margin = 1 if condition["sign"] == ">" else -1, float((condition["margin"] or "0").replace(" ", ""))
    for left, right in zip(_depths(condition["left"]), _depths(condition["right"]), strict=True):
        for tests in left if right else ():
            if sign * (mean(tests) - _mean(right) - margin) <= 0:
                raise InputError(
                    f"{TEXT.name}: {{while {asked}}}: is not true of {mean(tests):.3f} and {_mean(right):.3f}; "
                    "expected other words before it, and another condition"
                )
    return ""


def _run(asked: str) -> list[Scores]:
    """The scores at each depth, all of which must have been run."""
    depths = _depths(asked)
    if not all(depths):
        raise InputError(f"{TEXT.name}: {{{asked}}}: {asked.split()[0]}.csv does not have a run at every depth")
    return depths


def _depths(asked: str) -> list[Scores]:
    """The scores at each depth, empty where nothing has been run."""
    cells = _CELLS.fullmatch(asked.replace("labels-shown", LABELS_SHOWN))
    if cells is None:
        raise InputError(f"{TEXT.name}: {{{asked}}}: expected a study, columns and depths")
    wanted = (cells["dataset"] or DATASET, int(cells["epochs"] or EPOCHS), cells["settings"] or "")
    found: dict[tuple[str, str], list[float]] = {}
    for result in read_results(HERE / f"{cells['study']}.csv"):
        if _what(result) == wanted and result.test is not None:
            found.setdefault((result.column, result.row), []).append(result.test)
    columns, layers = cells["columns"].split(","), cells["layers"].split(",")
    at_depths = [[found.get((column, f"layers-{depth}"), []) for column in columns] for depth in layers]
    return [list(filter(None, scores)) for scores in at_depths]


def _what(result: Result) -> tuple[str, int | None, str]:
    return result.dataset, result.epochs, result.settings


def _mean(scores: Scores) -> float:
    """The score of one column."""
    return mean(scores[0])


def _told(scores: Scores) -> str:
    """The score of one column with its deviation, the lowest and the highest of several, or a dash."""
    means = [mean(tests) for tests in scores]
    if len(means) > 1:
        return f"{min(means):.3f} to {max(means):.3f}"
    return "".join(f"{mean(tests):.3f}{f' ± {stdev(tests):.3f}' if len(tests) > 1 else ''}" for tests in scores) or NONE


def _verdicts(text: str) -> str:
    """Every claim, linked to its heading, with its verdict."""
    rows = ["| claim | what came out here |", "|---|---|"]
    for found in _CLAIM.finditer(text):
        anchor = re.sub(r"[^\w -]", "", found["claim"].lower()).replace(" ", "-")
        rows.append(f"| [{found['claim']}](#{anchor}) | {' '.join(found['verdict'].split())} |")
    return "\n".join(rows)


def _laid_out(block: str) -> str:
    """A table without rows and columns of dashes; anything else in lines of at most 120 characters."""
    if not block.startswith("|"):
        return "\n".join(map(_wrapped, re.split(r"\n(?=- )", block)))
    header, _, *rows = [row.strip("| ").split(" | ") for row in block.splitlines()]
    rows = [row for row in rows if any(cell != NONE for cell in row[1:])]
    kept = [place for place in range(len(header)) if any(row[place] != NONE for row in rows)]
    lines = [f"| {' | '.join(row[place] for place in kept)} |" for row in (header, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(kept), *lines[1:]])


def _wrapped(text: str) -> str:
    """A paragraph or an item of a list in lines of at most 120 characters."""
    indent = "  " if text.startswith("- ") else ""
    words = " ".join(text.split())
    return "\n".join(
        textwrap.wrap(words, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    )
