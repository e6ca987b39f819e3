"""The claims of the paper in words, with every score taken from the results; ``claims.md`` holds the words.

What stands there between braces is replaced by test scores:

- ``{table-1 ResGCN+-max 3,7,14}``: of a column at these depths, with the deviation where there are several seeds;
- ``{table-1 ResGCN+-max 56 - PlainGCN-max 56}``: the difference of two cells;
- ``{table-3 p-1,p-2,p-3 7}``: the lowest and the highest of several columns.

The dataset is the yeast network, or follows, as in ``{table-1 ResGCN+-max 14 minesweeper}``. The runs are those of 100
epochs with the recipe's settings, unless ``20 epochs`` or settings such as ``optimizer.lr=0.001`` stand at the end.
"""

import re
import textwrap
from pathlib import Path
from statistics import mean, stdev

from deepergcn.errors import InputError
from deepergcn.report.results import Result, read_results

HERE = Path(__file__).parent
TEXT = HERE / "claims.md"
DATASET, EPOCHS = "yeast_proteins", 100

_PLACE = re.compile(r"\{([^{}]+)\}")
_CELL = re.compile(
    r"(?P<study>[\w-]+) (?P<column>\S+) (?P<layers>[\d,]+)"
    r"(?: (?P<dataset>[a-z][\w-]*))?(?: (?P<epochs>\d+) epochs)?(?: (?P<settings>\S+=\S+(?: \S+=\S+)*))?"
)


def claims() -> str:
    """The text with the scores of the results."""
    text = _PLACE.sub(lambda place: _filled(" ".join(place[1].split())), TEXT.read_text(encoding="utf-8"))
    return "\n".join(map(_wrapped, re.split(r"\n(?=- |\n)", text.strip()))) + "\n"


def _filled(asked: str) -> str:
    first, minus, second = asked.partition(" - ")
    study, columns, rest = [*first.split(" ", 2), "", ""][:3]
    if minus:
        return f"{mean(_scores(first)[0]) - mean(_scores(f'{study} {second}')[0]):.3f}"
    if "," in columns:
        means = [mean(tests) for column in columns.split(",") for tests in _scores(f"{study} {column} {rest}")]
        return f"{min(means):.3f} to {max(means):.3f}"
    scores = _scores(first)
    told = [f"{mean(tests):.3f}{f' ± {stdev(tests):.3f}' if len(tests) > 1 else ''}" for tests in scores]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"


def _scores(asked: str) -> list[list[float]]:
    """The test scores of every seed, for each of the depths."""
    cell = _CELL.fullmatch(asked)
    if cell is None:
        raise InputError(f"{TEXT.name}: {{{asked}}}: expected a study, a column and depths")
    wanted = (cell["column"], cell["dataset"] or DATASET, int(cell["epochs"] or EPOCHS), cell["settings"] or "")
    found = [result for result in read_results(HERE / f"{cell['study']}.csv") if _what(result) == wanted]
    scores = []
    for layers in cell["layers"].split(","):
        tests = [result.test for result in found if result.row == f"layers-{layers}" and result.test is not None]
        if not tests:
            raise InputError(f"{TEXT.name}: {{{asked}}}: {cell['study']}.csv has no such run of {layers} layers")
        scores.append(tests)
    return scores


def _what(result: Result) -> tuple[str, str, int | None, str]:
    return result.column, result.dataset, result.epochs, result.settings


def _wrapped(paragraph: str) -> str:
    """A paragraph or an item of a list in lines of at most 120 characters."""
    indent = "  " if paragraph.startswith("- ") else ""
    empty = "\n" if paragraph.startswith("\n") else ""
    words = " ".join(paragraph.split())
    lines = textwrap.wrap(words, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return empty + "\n".join(lines)
