"""Two cells of the paper's Table 1, on the molecules that come with the package.

Every cell is an ordinary run directory, and a study that was stopped continues.
One epoch of a small network proves nothing: it only shows how a study is run.
``deepergcn reproduce table-1`` is the same on the command line.

It prints::

    cells ['PlainGCN-max/layers-3/seed-0', 'ResGCN+-max/layers-3/seed-0']
    finished 2
    | layers | PlainGCN max | ResGCN+ max |
"""

from pathlib import Path

from deepergcn.report.results import read_results
from deepergcn.studies.cells import Grid
from deepergcn.studies.reproduce import make_plan, reproduce
from deepergcn.studies.schema import load_study
from deepergcn.studies.write_report import write_report

if __name__ == "__main__":
    small = ("model.hidden_channels=16", "training.batch_size=256")
    grid = Grid(
        layers=[3],
        columns=["PlainGCN-max", "ResGCN+-max"],
        seeds=1,
        epochs=1,
        settings=small,
    )
    plan = make_plan(load_study("table-1"), grid, data="solubility", out="study")
    print(f"cells {[cell.name for cell in plan.cells]}")

    reproduce(plan, jobs=1)
    write_report([Path("study")], export=Path("tables"), results=Path("results"))
    print(f"finished {len(read_results(Path('results/table-1.csv')))}")
    table = next(Path("tables").glob("*.md")).read_text(encoding="utf-8")
    print(table.splitlines()[0])
