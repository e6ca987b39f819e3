"""What the defaults for own molecules reach beside a random forest and chemprop, on files of molecules.

    python -m benchmarks.own_molecules freesolv.csv CHEMBL2034_Ki.csv --seeds 3 --chemprop ../chemprop/bin/chemprop

Every file has the columns ``smiles`` and ``y``: numbers, or two classes; ``benchmarks.molecule_sets`` writes public
ones. All learn and are tested on the parts that ``deepergcn train`` makes with the seed: the networks choose their
epoch on the valid part, the forest (500 trees on Morgan counts of radius 2) learns from train and valid together.
chemprop is run in an environment of its own, with its defaults (50 epochs). Seconds are of the processor, over all
threads and child processes. Rows that are in the file of results already are not measured again.
"""

import argparse
import csv
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import roc_auc_score, root_mean_squared_error

RESULTS = Path(__file__).parent / "results" / "own_molecules.csv"
COLUMNS = ("set", "molecules", "metric", "model", "seed", "valid", "test", "cpu_seconds", "settings")
TREES = 500


def main() -> None:
    """Measure what is missing, row by row."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--chemprop", type=Path, help="the program of another environment; left out without it")
    parser.add_argument("--options", default="", help="options of deepergcn train, such as '--descriptors none'")
    parser.add_argument("--models", default="deepergcn,forest,chemprop", help="what to measure")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    for seed in range(arguments.seeds):
        for file in arguments.files:
            measure(file, seed, arguments)


def measure(file: Path, seed: int, arguments: argparse.Namespace) -> None:
    """All models on one file and seed."""
    settings = arguments.options
    done = {(row["set"], row["model"], row["seed"], row["settings"]) for row in results(arguments.results)}
    models = [m for m in arguments.models.split(",") if m != "chemprop" or arguments.chemprop]
    missing = [m for m in models if (file.stem, m, str(seed), settings if m == "deepergcn" else "") not in done]
    if not missing:
        return
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        seconds = cpu(ours(file, seed, run, settings, epochs=None if "deepergcn" in missing else 1))
        parts = {row["id"]: row["part"] for row in csv.DictReader((run / "split.csv").open(newline=""))}
        rows = [row | {"split": parts.get(row["smiles"], "")} for row in csv.DictReader(file.open(newline=""))]
        rows = [row for row in rows if row["split"]]
        summary = json.loads((run / "summary.json").read_text())
        known = {"set": file.stem, "molecules": len(rows), "metric": summary["metric"], "seed": seed}
        if "deepergcn" in missing:
            scores = {"valid": summary["valid_score"], "test": summary["test_score"], "cpu_seconds": round(seconds)}
            add(arguments.results, known | scores | {"model": "deepergcn", "settings": settings})
        if "forest" in missing:
            before = own_cpu()
            score = forest(rows, seed, summary["metric"])
            seconds = own_cpu() - before
            add(arguments.results, known | {"model": "forest", "test": score, "cpu_seconds": round(seconds)})
        if "chemprop" in missing:
            file = Path(folder) / "data.csv"
            write(file, rows)
            regression = summary["metric"] == "rmse"
            seconds = cpu(chemprop(arguments.chemprop, file, seed, Path(folder) / "chemprop", regression))
            predicted = next((Path(folder) / "chemprop").rglob("test_predictions.csv"))
            found = {row["smiles"]: float(row["y"]) for row in csv.DictReader(predicted.open(newline=""))}
            test = [row for row in rows if row["split"] == "test"]
            score = scored([found[row["smiles"]] for row in test], test, summary["metric"])
            add(arguments.results, known | {"model": "chemprop", "test": score, "cpu_seconds": round(seconds)})


def ours(file: Path, seed: int, run: Path, options: str, epochs: int | None) -> list[str]:
    """The command of deepergcn; with ``epochs``, for its split alone."""
    command = [sys.executable, "-m", "deepergcn", "train", "--molecules", str(file), "--target", "y", "--out", str(run)]
    command += ["--seed", str(seed), "--split-seed", str(seed)]
    return [*command, *(shlex.split(options) if epochs is None else ("--epochs", str(epochs), "--blend", "none"))]


def chemprop(program: Path, file: Path, seed: int, out: Path, regression: bool) -> list[str]:
    """The command of chemprop."""
    kind = "regression" if regression else "classification"
    command = [str(program), "train", "--data-path", str(file), "--task-type", kind, "--output-dir", str(out)]
    command += ["--smiles-columns", "smiles", "--target-columns", "y", "--splits-column", "split"]
    return [*command, "--pytorch-seed", str(seed), "--num-workers", "0", "--accelerator", "cpu"]


def forest(rows: list[dict[str, str]], seed: int, metric: str) -> float:
    """The score of a forest on the test part."""
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    x = np.stack([generator.GetCountFingerprintAsNumPy(Chem.MolFromSmiles(row["smiles"])) for row in rows])
    learn = np.array([row["split"] != "test" for row in rows])
    test = [row for row in rows if row["split"] == "test"]
    jobs = len(os.sched_getaffinity(0))
    if metric == "rmse":
        y = np.array([float(row["y"]) for row in rows])
        fitted = RandomForestRegressor(TREES, random_state=seed, n_jobs=jobs).fit(x[learn], y[learn])
        return scored(fitted.predict(x[~learn]), test, metric)
    y = np.array([row["y"] for row in rows])
    fitted = RandomForestClassifier(TREES, random_state=seed, n_jobs=jobs).fit(x[learn], y[learn])
    positive = int(np.flatnonzero(fitted.classes_ == POSITIVE)[0])
    return scored(fitted.predict_proba(x[~learn])[:, positive], test, metric)


POSITIVE = "active"
"""The positive class of files with classes."""


def scored(predicted: np.ndarray | list[float], rows: list[dict[str, str]], metric: str) -> float:
    """The score of predictions for these rows."""
    if metric == "rmse":
        return float(root_mean_squared_error([float(row["y"]) for row in rows], predicted))
    return float(roc_auc_score([row["y"] in (POSITIVE, "1") for row in rows], predicted))


def write(file: Path, rows: list[dict[str, str]]) -> None:
    """The rows as chemprop reads them: classes as 0 and 1, parts by its names."""
    names = {"train": "train", "valid": "val", "test": "test"}
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(("smiles", "y", "split"))
        for row in rows:
            y = {"active": "1", "inactive": "0"}.get(row["y"], row["y"])
            writer.writerow((row["smiles"], y, names[row["split"]]))


def cpu(command: list[str]) -> float:
    """Run a command; the processor's seconds of it and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def own_cpu() -> float:
    """The processor's seconds of this process, over all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def results(file: Path) -> list[dict[str, str]]:
    """The rows that have been measured."""
    return list(csv.DictReader(file.open(newline=""))) if file.exists() else []


def add(file: Path, row: dict[str, object]) -> None:
    """Append a row."""
    file.parent.mkdir(exist_ok=True)
    new = not file.exists()
    with file.open("a", newline="") as opened:
        writer = csv.DictWriter(opened, COLUMNS, restval="", lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow({name: f"{cell:.4f}" if isinstance(cell, float) else cell for name, cell in row.items()})


if __name__ == "__main__":
    main()
