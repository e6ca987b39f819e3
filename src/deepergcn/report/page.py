"""A self-contained HTML page from run directories and studies."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib import resources
from pathlib import Path

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from deepergcn.recipes.load import dump_recipe
from deepergcn.report.charts.line_chart import LineChart
from deepergcn.report.charts.of_runs import curve_charts, dynamics_charts
from deepergcn.report.charts.of_studies import study_charts
from deepergcn.report.charts.svg import draw
from deepergcn.report.explanations import ExplanationsPage
from deepergcn.report.outcomes import Confusion, Outcomes, WorstError, confusion, outcome_charts, worst_errors
from deepergcn.report.results import Result, collect
from deepergcn.report.study import CellRun, StudyTable, read_study
from deepergcn.report.tables import Score, ScoreTable, column_groups, score_table
from deepergcn.report.tuning import TuningPage
from deepergcn.runs.run import Run
from deepergcn.version import __version__

_TEMPLATES = resources.files("deepergcn.report").joinpath("templates")
_STRONG = 0.05  # the difference that gets the full colour

Facts = list[tuple[str, str]]


@dataclass(frozen=True)
class RunEntry:
    """A run of a study, collapsed on the page."""

    anchor: str
    cell: str
    title: str
    seed: int
    state: str
    failure: str
    facts: Facts
    charts: list[Markup]
    command: str


@dataclass(frozen=True)
class StudyPage:
    """The section of a study."""

    anchor: str
    title: str
    study: StudyTable
    table: ScoreTable
    drawn: list[LineChart]
    runs: list[RunEntry]
    metric: str
    epochs: str
    same_data: bool
    kind: str = "study"

    @property
    def settings(self) -> list[str]:
        return list(dict.fromkeys(setting for run in self.study.runs for setting in run.settings))

    @property
    def charts(self) -> list[Markup]:
        return _drawn(self.drawn)

    @property
    def groups(self) -> list[tuple[str, int]]:
        return column_groups(self.table.columns)

    @property
    def has_groups(self) -> bool:
        return any(name for name, _ in self.groups)

    @property
    def corner(self) -> str:
        return "layers" if self.table.rows and self.table.rows[0].layers else "task"

    @property
    def lines(self) -> list[tuple[str, list[tuple[Score, str]]]]:
        found = []
        for row, scores in zip(self.table.rows, self.table.lines(), strict=True):
            anchors = [self._first_run(row.name, column.name) for column in self.table.columns]
            found.append((row.label, list(zip(scores, anchors, strict=True))))
        if self.corner == "layers" and len(self.table.rows) > 1:
            found.append(("avg.", [(score, "") for score in self.table.averages()]))
        return found

    def _first_run(self, row: str, column: str) -> str:
        run = next((run for run in _in_table_order(self.study) if (run.row, run.column) == (row, column)), None)
        return "" if run is None else _anchor(self.anchor, run)


@dataclass(frozen=True)
class RunPage:
    """The section of a single run."""

    anchor: str
    title: str
    facts: Facts
    drawn: list[LineChart]
    confusion: Confusion | None
    worst: list[WorstError]
    recipe: str
    data: Facts
    scores: list[tuple[str, str, str, str]]
    kind: str = "run"

    @property
    def charts(self) -> list[Markup]:
        return _drawn(self.drawn)


def study_page(folder: Path) -> StudyPage:
    """Collect the section of a study."""
    study, results = read_study(folder), collect(folder)
    by_key = {(result.row, result.column, result.seed): result for result in results}
    anchor = folder.absolute().name
    opened = {run.key: Run.open(folder / run.folder) for run in study.runs if _is_run(folder / run.folder)}
    first = next(iter(opened.values()), None)
    metric = "score" if first is None else first.info.inputs.task.metric
    table = score_table(results, study.rows, study.columns, study.published)
    same_data = study.dataset in study.recipe and study.dataset.startswith("ogb")
    drawn = study_charts(study.charts, table, metric, same_data)
    if any(chart.kind == "dynamics" for chart in study.charts):
        drawn += [chart for run in study.runs if run.key in opened for chart in _dynamics(study, run, opened[run.key])]
    epochs = sorted({result.epochs for result in results if result.epochs is not None})
    entries = [_entry(anchor, study, run, opened.get(run.key), by_key.get(run.key)) for run in _in_table_order(study)]
    title = f"{study.name}: {study.title}"
    return StudyPage(anchor, title, study, table, drawn, entries, metric, " or ".join(map(str, epochs)), same_data)


def run_page(folder: Path, outcomes: Outcomes | None = None) -> RunPage:
    """Collect the section of a run; ``outcomes`` are its predictions, if its data is available."""
    run = Run.open(folder)
    metric = run.info.inputs.task.metric
    drawn = [*curve_charts(run.metrics(), metric), *dynamics_charts(run.dynamics())]
    drawn += [] if outcomes is None else outcome_charts(outcomes)
    return RunPage(
        anchor=folder.absolute().name,
        title=f"{run.recipe.name}, seed {run.info.seed}",
        facts=[*_facts(run), ("versions", ", ".join(f"{name} {found}" for name, found in run.info.versions.items()))],
        drawn=[chart for chart in drawn if not chart.is_empty],
        confusion=None if outcomes is None else confusion(outcomes),
        worst=[] if outcomes is None else worst_errors(outcomes),
        recipe=dump_recipe(run.recipe),
        data=[] if (report := run.data_report()) is None else report.lines(),
        scores=_scores(run),
    )


def render(pages: Sequence[StudyPage | RunPage | TuningPage | ExplanationsPage]) -> str:
    """Render the sections as one HTML text that needs no other files."""
    environment = Environment(loader=FunctionLoader(_template), autoescape=True, undefined=StrictUndefined)
    environment.filters["shaded"] = _shaded
    text: str = environment.get_template("report.html").render(
        pages=pages,
        title=pages[0].title if len(pages) == 1 else "deepergcn report",
        version=__version__,
        style=Markup(_template("style.css")),
        script=Markup(_template("hover.js")),
    )
    return text


def _template(name: str) -> str:
    return _TEMPLATES.joinpath(name).read_text(encoding="utf-8")


def _entry(anchor: str, study: StudyTable, entry: CellRun, run: Run | None, result: Result | None) -> RunEntry:
    score = None if result is None else result.test
    charts: list[LineChart] = []
    if run is not None and (run.path / "metrics.csv").is_file():
        charts = [*curve_charts(run.metrics(), run.info.inputs.task.metric), *dynamics_charts(run.dynamics())]
    facts = [] if run is None else _facts(run)
    if result is not None and result.version:
        facts += [("version", f"{result.version} {result.commit}".strip())]
    return RunEntry(
        anchor=_anchor(anchor, entry),
        cell=f"{anchor} {entry.column} {entry.row}",
        title=_cell_title(study, entry),
        seed=entry.seed,
        state=entry.state if score is None else f"test {score:.4f}",
        failure="" if result is None else result.failure,
        facts=facts,
        charts=_drawn(charts),
        command=entry.command,
    )


def _dynamics(study: StudyTable, entry: CellRun, run: Run) -> list[LineChart]:
    """The learned parameters of a run, with its cell and seed in the titles."""
    where = f"{_cell_title(study, entry)}, seed {entry.seed}"
    return [replace(chart, title=f"{chart.title}: {where}") for chart in dynamics_charts(run.dynamics())]


def _cell_title(study: StudyTable, entry: CellRun) -> str:
    """The column and row of a run, in words."""
    column = next(column for column in study.columns if column.name == entry.column)
    row = next(row for row in study.rows if row.name == entry.row)
    return f"{column.title}, {row.label if row.layers is None else f'{row.layers} layers'}"


def _in_table_order(study: StudyTable) -> list[CellRun]:
    """The runs column by column, the seeds of a cell side by side."""
    columns = {column.name: place for place, column in enumerate(study.columns)}
    rows = {row.name: place for place, row in enumerate(study.rows)}
    return sorted(study.runs, key=lambda run: (columns[run.column], rows[run.row], run.seed))


def _scores(run: Run) -> list[tuple[str, str, str, str]]:
    """Part, metric, target and score of a run on a user's own data."""
    found = run.scores()
    rows = []
    for part, scores in ({} if found is None else found.parts).items():
        for metric, score in scores.items():
            named = [("all" if score.targets else "", score.score), *score.targets.items()]
            rows += [(part, metric, name, "" if value is None else f"{value:.4f}") for name, value in named]
    return rows


def _facts(run: Run) -> Facts:
    summary, info = run.summary(), run.info
    facts = [
        ("dataset", info.dataset),
        ("network", f"{run.recipe.model.network}, {run.recipe.model.num_layers} layers"),
    ]
    facts += [("parameters", f"{info.parameters:,}")]
    if summary is not None:
        scores = {"train": summary.train_score, "valid": summary.valid_score, "test": summary.test_score}
        facts += [(f"{part} {summary.metric}", f"{score:.4f}") for part, score in scores.items() if score is not None]
        facts += [] if summary.blend is None else [("blend", summary.blend.line(summary.metric))]
        facts += [("epochs", f"{summary.epochs}; epoch {summary.best_epoch} has the best validation score")]
        facts += [("seconds", f"{summary.seconds:.0f}")]
    if (run.path / "metrics.csv").is_file():
        memory = [row["peak_memory_mb"] for row in run.metrics() if row["peak_memory_mb"]]
        facts += [("peak memory", f"{max(memory):.0f} MB")] if memory else []
    return facts


def _shaded(score: Score, same_data: bool) -> Markup:
    """The colour of a cell: green if our score is better than the paper's, red if it is worse."""
    if score.difference is None:
        return Markup("")
    strength = min(abs(score.difference) / _STRONG, 1.0) * (0.35 if same_data else 0.18)
    colour = "0, 158, 115" if score.difference >= 0 else "213, 94, 0"
    return Markup(f' style="background: rgba({colour}, {strength:.2f})"')


def _drawn(charts: Sequence[LineChart]) -> list[Markup]:
    return [Markup(draw(chart)) for chart in charts]


def _anchor(study: str, run: CellRun) -> str:
    return escape(f"{study}-{run.column}-{run.row}-{run.seed}".replace(" ", "-"))


def _is_run(folder: Path) -> bool:
    return (folder / "run.json").is_file()
