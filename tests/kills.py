"""Kill training at random moments, resume it, and compare all bits with the run that was never stopped.

    python -m tests.kills --kills 100 --seed 0

Three recipes take turns: molecules in shuffled batches, a network in partitions, and own tables of nodes and edges.
``tests/training/test_survival.py`` runs a short form of it.
"""

import argparse
import random
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from deepergcn.runs.run import Run
from deepergcn.training.own_data import own_tables
from deepergcn.training.train import train
from tests.training.small import molecule_settings, molecules, network, network_settings, repeatable, start
from tests.training.trained import table_files

EPOCHS = 30
_LONGEST = (
    0.25  # seconds after the first epoch within which the process is killed, or of two epochs if they are shorter
)


def jobs(folder: Path) -> dict[str, tuple[str, list[str]]]:
    """The recipe and the settings of every run by its name."""
    nodes, edges = table_files(folder)
    small = ("model.num_layers=3", "model.hidden_channels=8", f"training.epochs={EPOCHS}", "training.patience=null")
    tables = [*own_tables(nodes, edges, label="y").settings, *small, "training.partitions=3", "loss.balance=false"]
    return {
        "molecules": ("solubility", molecule_settings(molecules(folder), *small, "optimizer.schedule=cosine")),
        "network": ("yeast-proteins", network_settings(network(folder), *small, "optimizer.clip=1.0")),
        "tables": ("own-tables", tables),
    }


def killed_run(recipe: str, settings: Sequence[str], out: Path, kills: int, draw: random.Random, epoch: float) -> int:
    """Train to the end with this number of kills, or fewer if the run ends before; their number.

    ``epoch`` is the number of seconds that one takes: a fast machine would end the run before its kills.
    """
    done, longest = 0, min(_LONGEST, 2 * epoch)
    while True:
        process = start(_train, recipe, list(settings), out, (out / "run.json").exists())
        rows, moment = _rows(out), None
        while process.is_alive():
            begun = _rows(out) > rows
            if done < kills and moment is None and (begun or draw.random() < 0.0002):
                moment = time.monotonic() + draw.uniform(0, longest if begun else 2 * _LONGEST)
            if moment is not None and begun:
                moment = min(moment, time.monotonic() + longest)
            if moment is not None and time.monotonic() >= moment:
                process.kill()
                break
            time.sleep(0.001)
        process.join()
        if process.exitcode == 0:
            return done
        if process.exitcode != -signal.SIGKILL:
            raise SystemExit(f"{out}: the run ended with {process.exitcode}")
        done += 1


def compare(folder: Path, name: str, kills: int, seed: int) -> int:
    """Train one of the jobs with kills and without; the number of kills. A bit of difference is an error."""
    recipe, settings = jobs(folder)[name]
    whole = train(recipe, settings=settings, out=folder / "whole")
    summary = whole.summary()
    assert summary is not None
    done = killed_run(recipe, settings, folder / "killed", kills, random.Random(seed), summary.seconds / EPOCHS)
    killed = Run.open(folder / "killed")
    if repeatable(killed) != repeatable(whole) or killed.model_file.read_bytes() != whole.model_file.read_bytes():
        raise SystemExit(f"{name}, seed {seed}: the run that was killed {done} times differs from the whole one")
    left = [path for path in killed.path.rglob("*.part") if path.is_file()]
    if left:
        raise SystemExit(f"{name}, seed {seed}: {left[0]} was left behind")
    return done


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill training at random moments and compare all bits.")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    names = ("molecules", "network", "tables")
    done = dict.fromkeys(names, 0)
    round_ = 0
    while sum(done.values()) < arguments.kills:
        name = names[round_ % len(names)]
        wanted = min(12, arguments.kills - sum(done.values()))
        with TemporaryDirectory() as folder:
            done[name] += compare(Path(folder), name, wanted, arguments.seed + round_)
        round_ += 1
        sys.stdout.write(f"{sum(done.values())} kills in {round_} runs, 0 bits of difference: {done}\n")
        sys.stdout.flush()


def _train(recipe: str, settings: list[str], out: Path, resume: bool) -> None:
    torch.set_num_threads(1)
    train(recipe, settings=settings, out=out, resume=resume)


def _rows(out: Path) -> int:
    file = out / "metrics.csv"
    return len(file.read_text().splitlines()) if file.exists() else 0


if __name__ == "__main__":
    main()
