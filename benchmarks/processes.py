"""Two processes of one thread beside one process of two threads, with the same global batch.

    python -m benchmarks.processes [--only NUMBER]

Each run has a fresh process; the seconds are those of the fastest epoch but the first.
"""

import argparse
import subprocess
import sys
import tempfile

from benchmarks.measure import report
from deepergcn.runs.run import Run

EPOCHS = 4
CASES = {
    "two partitions of a generated proteins network a step, 14 layers": (
        "synthetic-proteins",
        ("model.num_layers=14", "training.partitions=4", "training.batch_size=2", "model.norm=layer"),
    ),
    "molecules, batches of 256": ("solubility", ("training.batch_size=256",)),
    "molecules, batches of 32": ("solubility", ("training.batch_size=32",)),
}
"""What is trained: a recipe and its settings."""

_TRAIN = (
    "from deepergcn.training.train import train\n"
    "if __name__ == '__main__':\n"
    "    train({0!r}, settings={1!r}, out={2!r}, epochs={3}, devices={4})\n"
)


def seconds(recipe: str, settings: tuple[str, ...], processes: int) -> float:
    """The seconds of the fastest epoch but the first."""
    with tempfile.TemporaryDirectory() as folder:
        out, program = f"{folder}/run", f"{folder}/program.py"
        with open(program, "w", encoding="utf-8") as file:
            file.write(_TRAIN.format(recipe, (*settings, "evaluation.every=100"), out, EPOCHS, processes))
        subprocess.run([sys.executable, program], check=True)
        rows = Run.open(out).metrics()
    return min(float(row["seconds"] or 0) for row in rows[1:-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=int, help="the number of one case, from 0")
    asked = parser.parse_args()
    for number, (name, (recipe, settings)) in enumerate(CASES.items()):
        if asked.only not in (None, number):
            continue
        found = {f"processes: {count}": seconds(recipe, settings, count) for count in (1, 2)}
        report("processes", f"epoch of training, {name}", found, {}, ours="processes: 1")


if __name__ == "__main__":
    main()
