"""Run directories and a study that were never trained, for tests of reports."""

from pathlib import Path

from deepergcn.data.storage.files import write_text
from deepergcn.recipes.load import load_recipe
from deepergcn.report.study import CellRun, Chart, Column, Row, StudyTable, write_study
from deepergcn.runs.run import DYNAMIC_COLUMNS, FORMAT, METRIC_COLUMNS, Run, RunInfo, Summary

EPOCHS = 3


def ended_run(folder: Path, seed: int, test: float, layers: int = 3) -> Run:
    """A run of the yeast recipe that has ended with this test score."""
    recipe = load_recipe("yeast-proteins", [f"model.num_layers={layers}", f"training.epochs={EPOCHS}"])
    inputs = recipe.data.inputs
    assert inputs is not None
    info = RunInfo(
        format=FORMAT,
        seed=seed,
        versions={"deepergcn": "1.2.3"},
        parameters=123,
        dataset="yeast_proteins",
        digest="",
        inputs=inputs,
        label_names=(),
        provenance=None,
    )
    run = Run.create(folder, recipe, info)
    metrics = [f"{e},{1 / e},,,0.5,{test - 0.01 * (EPOCHS - e)},{test},0.01,2.0,{100 + e}" for e in (1, 2, 3)]
    dynamics = [f"{e},{layer},{1 + e / 10},,,{layer}" for e in (1, 2, 3) for layer in range(1, layers + 1)]
    write_text(folder / "metrics.csv", "\n".join([",".join(METRIC_COLUMNS), *metrics]) + "\n")
    write_text(folder / "dynamics.csv", "\n".join([",".join(DYNAMIC_COLUMNS), *dynamics]) + "\n")
    summary = Summary(
        recipe=recipe.name,
        seed=seed,
        metric="rocauc",
        epochs=EPOCHS,
        best_epoch=EPOCHS,
        train_score=0.9,
        valid_score=test,
        test_score=test,
        parameters=123,
        seconds=6.0,
    )
    write_text(folder / "summary.json", summary.model_dump_json())
    return run


def made_study(folder: Path) -> Path:
    """A study with a cell of two seeds, a cell of one, a failed one and a waiting one."""
    runs = []
    for column, row, seed, test in (("plain", 3, 0, 0.80), ("plain", 3, 1, 0.82), ("res+", 3, 0, 0.85)):
        place = f"{column}/layers-{row}/seed-{seed}"
        ended_run(folder / place, seed, test)
        runs.append(CellRun(row=f"layers-{row}", column=column, seed=seed, folder=place, command="train", commit="abc"))
    runs = [run.model_copy(update={"state": "finished"}) for run in runs]
    for column, state, reason in (("plain", "failed", "no <memory>"), ("res+", "waiting", "")):
        place = f"{column}/layers-7/seed-0"
        runs.append(
            CellRun.model_validate(
                {"row": "layers-7", "column": column, "seed": 0, "folder": place, "command": "deepergcn train x"}
                | {"state": state, "reason": reason}
            )
        )
    study = StudyTable(
        name="small",
        title="A & B",
        claim="none",
        dataset="yeast_proteins",
        recipe="yeast-proteins",
        rows=tuple(Row(name=f"layers-{n}", label=str(n), layers=n) for n in (3, 7)),
        columns=(Column(name="plain", label="max_1", group="Plain"), Column(name="res+", label="β", group="Res+")),
        published={"plain": {"layers-3": 0.834, "layers-7": None}, "res+": {"layers-3": 0.829, "layers-7": 0.845}},
        charts=tuple(
            Chart.model_validate({"kind": kind, "title": kind}) for kind in ("depth", "sweep", "compare", "dynamics")
        ),
        runs=tuple(runs),
    )
    write_study(folder, study)
    return folder
