"""Epochs of two processes with one thread each, beside one process with two threads: the same steps, the same result.

    python -m benchmarks.processes [--molhiv FOLDER] [--turns 2]

Every run is a fresh program; one and two processes take turns. The seconds are those of the fastest epoch but the last,
which alone is evaluated. FOLDER has ogbg-molhiv; without it only the generated graph is measured.
"""

import argparse
import subprocess
import sys
import tempfile

from benchmarks.measure import report
from deepergcn.runs.run import Run

PARTITIONS = (
    "model.num_layers=14",
    "data.options.nodes=26500",
    "data.options.edges=3160000",
    "training.partitions=4",
    "training.batch_size=2",
)
CASES = {
    "two partitions a step, 14 layers": ("synthetic-proteins", PARTITIONS, 6),
    "ogbg-molhiv, 256 molecules a step": ("ogbg-molhiv", ("training.batch_size=256",), 2),
    "ogbg-molhiv, 32 molecules a step": ("ogbg-molhiv", ("training.batch_size=32",), 2),
}
"""What each step does: a recipe, its settings, and the number of epochs."""


def seconds_of_an_epoch(recipe: str, data: str | None, settings: tuple[str, ...], epochs: int, processes: int) -> float:
    """The seconds of the fastest epoch but the last, which is evaluated."""
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/run"
        command = [sys.executable, "-m", "deepergcn", "train", recipe, "--out", out, "--devices", str(processes)]
        command += ["--epochs", str(epochs), *([] if data is None else ["--data", data])]
        for setting in (*settings, f"evaluation.every={epochs}"):
            command += ["--set", setting]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        return min(float(row["seconds"] or 0) for row in Run.open(out).metrics()[:-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molhiv", help="the folder of ogbg-molhiv")
    parser.add_argument("--turns", type=int, default=2, help="the times that each is measured")
    asked = parser.parse_args()
    for name, (recipe, settings, epochs) in CASES.items():
        data = asked.molhiv if recipe == "ogbg-molhiv" else None
        if recipe == "ogbg-molhiv" and data is None:
            continue
        found: dict[str, list[float]] = {"two processes": [], "one process": []}
        for _ in range(asked.turns):
            for processes, contestant in enumerate(reversed(found), start=1):
                found[contestant].append(seconds_of_an_epoch(recipe, data, settings, epochs, processes))
        least = {contestant: min(spent) for contestant, spent in found.items()}
        report("processes", f"epoch, {name}", least, {}, ours="two processes")


if __name__ == "__main__":
    main()
