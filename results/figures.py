"""Make the tables and pictures of the README files and of the site from the results: ``make figures``.

What stands between ``<!-- results: STUDY -->`` and ``<!-- end -->`` in a README file is replaced, by the tables of the
study, and their pictures where the line says ``with pictures``. A run of few epochs
that was repeated with more is not shown.
What stands between ``<!-- figure: NAME -->`` and ``<!-- end -->`` is replaced by the table or picture of that name.
"""

import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from deepergcn.data.storage.files import write_text
from deepergcn.report.charts.line_chart import LineChart
from deepergcn.report.charts.of_studies import study_charts
from deepergcn.report.charts.svg import draw
from deepergcn.report.results import Result, read_results
from deepergcn.report.study import Chart, Row
from deepergcn.report.tables import ScoreTable, markdown, score_table
from deepergcn.studies.schema import StudyDefinition, depth_row, load_study
from results.baselines import baseline_table
from results.claims import claims
from results.dynamics_curves import dynamics_curves, dynamics_pictures
from results.molecules import molecule_rows
from results.recipes import recipe_rows
from results.scores import depth_chart, score_rows
from results.speed import all_tables, depth_table, front_table, growth_table, plan_table, prediction_table, tables_table
from results.state import state_table
from results.thousand_layers import curves, thousand_layers

HERE = Path(__file__).parent
ROOT = HERE.parent
BESIDE_THE_PAPER = {"ogbn-proteins", "ogbn-arxiv", "ogbg-ppa", "ogbg-molhiv", "yeast_proteins"}
"""The datasets of the paper, and a small relative of one: its values stand beside ours."""

READMES = (HERE / "README.md", ROOT / "README.md", ROOT / "docs" / "measured.md")
DEPTH = HERE / "depth.svg"

_FIGURES: dict[str, Callable[[], str]] = {
    "scores": score_rows,
    "recipes": recipe_rows,
    "own molecules": molecule_rows,
    "speed": front_table,
    "every speed": all_tables,
    "depth": depth_table,
    "growth": growth_table,
    "baselines": baseline_table,
    "claims": claims,
    "state": state_table,
    "predictions": prediction_table,
    "large tables": tables_table,
    "plan": plan_table,
    "thousand_layers": thousand_layers,
    "dynamics_curves": dynamics_curves,
}
_FIGURE = re.compile(r"(<!-- figure: (?P<name>[\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_PLACE = re.compile(r"(<!-- results: (?P<study>[\w-]+)(?P<pictures> with pictures)? -->\n).*?(<!-- end -->)", re.DOTALL)


def build() -> dict[Path, str]:
    """Every file that is made from the results, with its text."""
    charts = {DEPTH: depth_chart(), **curves(), **dynamics_pictures()}
    files: dict[Path, str] = {path: draw(chart, alone=True) + "\n" for path, chart in charts.items()}
    for readme in READMES:
        text = readme.read_text(encoding="utf-8")
        text = _FIGURE.sub(lambda place: "\n".join([place[1], _FIGURES[place["name"]](), place[3]]), text)
        files[readme] = _PLACE.sub(partial(_filled, readme.parent, files), text)
    return files


def main() -> None:
    """Write the files."""
    for path, text in build().items():
        write_text(path, text)


def _filled(folder: Path, files: dict[Path, str], place: re.Match[str]) -> str:
    name = place["study"]
    study, results = load_study(name), _shown(read_results(HERE / f"{name}.csv"))
    parts = []
    for told in dict.fromkeys(map(_told, results)):
        chosen = [result for result in results if _told(result) == told]
        table = _table(study, chosen)
        parts.append(f"{told}:\n\n{markdown(table, 'layers' if study.layers else 'task')}")
        if place["pictures"] and not chosen[0].settings:
            parts += _pictures(study, table, f"{name}-{chosen[0].dataset}-{chosen[0].epochs}", folder, files)
    return "\n".join([place[1], *parts, place[4]])


def _told(result: Result) -> str:
    """What the cells of a table share."""
    settings = f", with {result.settings}" if result.settings else ""
    return f"{result.dataset}, {result.epochs} epochs{settings}"


def _shown(results: list[Result]) -> list[Result]:
    """Every run of at least the usual number of epochs, and of the other cells the longest; the longest runs first."""
    usual, most = dict[str, int](), dict[tuple[str, str, str, str, int], int]()
    for dataset in {result.dataset for result in results}:
        numbers = Counter(_epochs(result) for result in results if result.dataset == dataset)
        usual[dataset] = numbers.most_common(1)[0][0]
    for result in results:
        most[result.cell] = max(most.get(result.cell, 0), _epochs(result))
    kept = [result for result in results if _epochs(result) >= min(usual[result.dataset], most[result.cell])]
    return sorted(kept, key=lambda result: -_epochs(result))


def _epochs(result: Result) -> int:
    return result.epochs or 0


def _pictures(study: StudyDefinition, table: ScoreTable, name: str, folder: Path, files: dict[Path, str]) -> list[str]:
    links = []
    for number, (asked, chart) in enumerate(_charts(study, table), start=1):
        file = HERE / f"{name}-{number}.svg"
        files[file] = draw(chart, alone=True) + "\n"
        links.append(f"![{asked.title}]({file.relative_to(folder)})\n")
    return links


def _charts(study: StudyDefinition, table: ScoreTable) -> list[tuple[Chart, LineChart]]:
    """The charts that have at least two places on their axis."""
    names = {column.name for column in table.columns}
    found = []
    for chart in study.charts:
        wanted = [name for name in chart.columns if name in names] if chart.columns else sorted(names)
        places = len(table.rows) if chart.kind == "depth" else len(wanted)
        if places > 1 and wanted:
            found += [(chart, drawn) for drawn in study_charts([chart], table, "ROC-AUC", same_data=False)]
    return found


def _table(study: StudyDefinition, results: list[Result]) -> ScoreTable:
    """The rows and columns that have results."""
    rows, columns = {result.row for result in results}, {result.column for result in results}
    shown = [column.shown() for column in study.columns if column.name in columns]
    published = study.published() if results[0].dataset in BESIDE_THE_PAPER else {}
    return score_table(results, _rows(study, rows), shown, published)


def _rows(study: StudyDefinition, names: set[str]) -> list[Row]:
    """The rows of these names, depths that the study does not have among them."""
    if study.layers:
        return [depth_row(layers) for layers in sorted(int(name.removeprefix("layers-")) for name in names)]
    return [row for row in study.rows() if row.name in names]


if __name__ == "__main__":
    main()
