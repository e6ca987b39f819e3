"""``deepergcn report``: run directories and studies as one HTML page, figures, tables and results."""

from pathlib import Path
from typing import Annotated

import typer

from deepergcn.cli.terminal import say


def report(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Run directories, and folders of seeds, folds or studies.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", "--out", help="HTML file. Default: report.html in the first DIR."),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export", metavar="DIR", help="Write figures as PNG and SVG, tables as CSV, Markdown and LaTeX."
        ),
    ] = None,
    results: Annotated[
        Path | None, typer.Option("--results", metavar="DIR", help="Add the scores of studies to DIR/STUDY.csv.")
    ] = None,
    predictions: Annotated[
        bool,
        typer.Option(
            help="Predict the test part of single runs, to show the confusion matrix, ROC curve and worst errors."
        ),
    ] = True,
) -> None:
    """Write one self-contained HTML page about runs or studies, with tables and curves."""
    from deepergcn.studies.write_report import write_report

    for path in write_report(folders, out=output, export=export, results=results, predictions=predictions):
        say(str(path))
