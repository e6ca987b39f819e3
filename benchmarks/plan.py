"""What ``deepergcn plan`` says, beside what runs then take: ten recipes and depths.

    python -m benchmarks.plan [--yeast FOLDER] [--only NUMBER]
    python -m benchmarks.plan --true-size

Plan and run each have a fresh process. The seconds are those of the fastest epoch but the first; the memory is the
peak of the process. FOLDER has the network of the recipe ``yeast-proteins``; without it only the generated and bundled
datasets are measured. ``--true-size`` measures one epoch of 112 layers on a generated graph of ogbn-proteins' size.
"""

import argparse
import subprocess
import sys
import tempfile

from rich.console import Console
from rich.table import Table

from benchmarks.measure import write_csv
from deepergcn.runs.run import Run

EPOCHS = 3
CASES = (
    ("solubility",),
    ("solubility", "model.num_layers=28"),
    ("solubility", "training.batch_size=256"),
    ("synthetic-proteins",),
    ("synthetic-proteins", "model.num_layers=28", "training.partitions=5"),
    ("synthetic-proteins", "model.num_layers=28", "training.partitions=5", "model.checkpoint=true"),
    ("yeast-proteins", "model.num_layers=7"),
    ("yeast-proteins", "model.num_layers=28"),
    ("yeast-proteins", "model.num_layers=28", "training.memory=1GB"),
    ("yeast-proteins-rev", "model.num_layers=56"),
)
"""Each a recipe and its settings."""

TRUE_SIZE = (
    "synthetic-proteins",
    "data.options.nodes=132534",
    "data.options.edges=39561252",
    "model.num_layers=112",
    "training.partitions=10",
    "model.checkpoint=true",
)

_PLAN = (
    "from deepergcn.training.train import plan_cost; c = plan_cost({0!r}, data={1!r}, settings={2!r}); "
    "print(c.epoch, c.memory)"
)
_TRAIN = "from deepergcn.training.train import train; train({0!r}, data={1!r}, settings={2!r}, out={3!r}, epochs={4})"


def foreseen(recipe: str, data: str | None, settings: list[str]) -> tuple[float, float]:
    """The seconds of an epoch and the bytes that the plan says."""
    answer = subprocess.run(
        [sys.executable, "-c", _PLAN.format(recipe, data, settings)], stdout=subprocess.PIPE, text=True, check=True
    )
    seconds, memory = answer.stdout.split()[-2:]
    return float(seconds), float(memory)


def measured(recipe: str, data: str | None, settings: list[str], epochs: int) -> tuple[float, float]:
    """The same of a run."""
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/run"
        subprocess.run([sys.executable, "-c", _TRAIN.format(recipe, data, settings, out, epochs)], check=True)
        rows = Run.open(out).metrics()
    seconds = [float(row["seconds"] or 0) for row in rows]
    return min(seconds[1:] or seconds), max(float(row["peak_memory_mb"] or 0) for row in rows) * 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--yeast", help="the folder of the yeast network")
    parser.add_argument("--only", type=int, help="the number of one case, from 0")
    parser.add_argument("--true-size", action="store_true", help="an epoch of ogbn-proteins' size, and nothing else")
    asked = parser.parse_args()
    table = Table(title="planned and measured", title_justify="left")
    for heading in ("run", "s an epoch, plan", "measured", "ratio", "MB, plan", "measured", "ratio"):
        table.add_column(heading, justify="left" if heading == "run" else "right")
    rows: list[dict[str, object]] = []
    epochs = 1 if asked.true_size else EPOCHS
    for number, (recipe, *settings) in enumerate((TRUE_SIZE,) if asked.true_size else CASES):
        data = asked.yeast if recipe.startswith("yeast") else None
        if (recipe.startswith("yeast") and data is None) or asked.only not in (None, number):
            continue
        name = " ".join((recipe, *settings))
        plan, found = foreseen(recipe, data, settings), measured(recipe, data, settings, epochs)
        ratios = [said / true for said, true in zip(plan, found, strict=True)]
        row = {
            "run": name,
            "plan_seconds": f"{plan[0]:.3f}",
            "seconds": f"{found[0]:.3f}",
            "seconds_ratio": f"{ratios[0]:.2f}",
            "plan_mb": f"{plan[1] / 1e6:.0f}",
            "mb": f"{found[1] / 1e6:.0f}",
            "mb_ratio": f"{ratios[1]:.2f}",
        }
        rows.append(dict(row))
        table.add_row(*row.values())
        Console(width=140).print(*row.values())
    Console(width=140).print(table)
    if asked.only is None:
        title = "an epoch of ogbn-proteins' size" if asked.true_size else "recipes and depths"
        write_csv("plan", title, rows, {"epochs": epochs})


if __name__ == "__main__":
    main()
