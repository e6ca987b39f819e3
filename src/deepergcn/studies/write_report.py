"""``write_report``: from run directories and studies to the page, the figures, the tables and the results."""

import logging
from collections.abc import Sequence
from pathlib import Path

from deepergcn.data.storage.files import write_text
from deepergcn.errors import InputError
from deepergcn.inference.outcomes import find_outcomes
from deepergcn.report.charts.figures import write_figure
from deepergcn.report.outcomes import Outcomes
from deepergcn.report.page import RunPage, StudyPage, render, run_page, study_page
from deepergcn.report.results import add_results, collect
from deepergcn.report.study import is_study
from deepergcn.report.tables import latex, markdown, table_csv
from deepergcn.report.tuning import TuningPage, is_tuning, tuning_page
from deepergcn.runs.folders import member_folders

_log = logging.getLogger(__name__)


def write_report(
    folders: Sequence[Path],
    *,
    out: Path | None = None,
    export: Path | None = None,
    results: Path | None = None,
    predictions: bool = True,
) -> list[Path]:
    """Write a report; the files that were written.

    Args:
        folders: run directories, folders of several seeds or folds, and folders of studies.
        out: the HTML file; ``report.html`` in the first folder where none is given.
        export: a folder for the figures as PNG and SVG, and the tables as CSV, Markdown and LaTeX.
        results: a folder; the scores of every study are added to its file ``STUDY.csv``.
        predictions: whether the test part of single runs is predicted.
    """
    if not folders:
        raise InputError("report: expected a run directory or the folder of a study")
    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--output is {out}; expected a name that ends in .html")
    runs = [run for folder in folders for run in _runs(folder)]
    pages = [_page(run, predictions) for run in runs]
    page = out or folders[0] / "report.html"
    write_text(page, render(pages))
    written = [page]
    if export is not None:
        written += [path for found in pages for path in _export(found, export)]
    if results is not None:
        for found, folder in zip(pages, runs, strict=True):
            if isinstance(found, StudyPage):
                path = results / f"{found.study.name}.csv"
                add_results(path, collect(folder))
                written.append(path)
    return written


def _runs(folder: Path) -> list[Path]:
    """The runs of a folder of seeds or folds, each reported by itself; any other folder as it is."""
    alone = is_study(folder) or is_tuning(folder) or (folder / "run.json").is_file()
    return [folder] if alone else list(member_folders(folder).values()) or [folder]


def _page(folder: Path, predictions: bool) -> StudyPage | RunPage | TuningPage:
    if is_study(folder):
        return study_page(folder)
    if is_tuning(folder):
        return tuning_page(folder)
    if not (folder / "run.json").is_file():
        raise InputError(
            f"{folder}: has no run, study or search; expected a folder written by deepergcn train, reproduce or tune"
        )
    return run_page(folder, _outcomes(folder) if predictions else None)


def _outcomes(folder: Path) -> Outcomes | None:
    """The predictions of a run, where its model and its data are at hand."""
    try:
        return find_outcomes(folder)
    except InputError as error:
        _log.warning("%s: reported without predictions (%s)", folder, error)
        return None


def _export(page: StudyPage | RunPage | TuningPage, folder: Path) -> list[Path]:
    written = []
    for number, chart in enumerate(page.drawn, start=1):
        written += write_figure(chart, folder / f"{page.anchor}-{number}")
    if isinstance(page, StudyPage):
        for ending, text in (("csv", table_csv(page.table)), ("md", markdown(page.table)), ("tex", latex(page.table))):
            path = folder / f"{page.anchor}.{ending}"
            write_text(path, text)
            written.append(path)
    return written
