"""Predict a file of molecules with ``deepergcn predict`` and with chemprop: processor seconds of the whole programs.

Chemprop stands in an environment of its own, whose program ``--chemprop`` names. Both are networks on the graph alone,
of the sizes of their defaults, and are trained for a moment: what they predict does not matter here. Own molecules have
descriptors and a forest beside the network by default, which chemprop has not; ``--own`` measures these too. The
programs take turns, each with one thread; what a call with one molecule takes is their start, reported beside the rest.

The molecules are made of the shipped ones: two of them, joined by a single bond; of more than 100,000 most have a short
chain before that.

    python -m benchmarks.predict_molecules --chemprop ../chemprop/bin/chemprop
    python -m benchmarks.predict_molecules --count 1000000 --repeats 1
"""

import argparse
import csv
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from rdkit import Chem, rdBase

from benchmarks.measure import Used, use_of, write_csv
from deepergcn.data.molecules.solubility import SOLUBILITY_FILE
from deepergcn.data.tables.columns import read_columns

_LARGEST = 22  # atoms of a molecule that is joined with another
_MANY = 100_000
_CHAINS = tuple(f"{end}{middle}" for end in ("C", "O", "N", "F", "Cl", "Br") for middle in ("C", "CC", "CCC", "CC(C)"))


def write_molecules(path: Path, count: int) -> None:
    """A CSV file with this number of different molecules, the same on every machine."""
    draw = random.Random(0)
    with rdBase.BlockLogs():
        known = [Chem.MolFromSmiles(smiles) for smiles in _shipped()]
    parents = [
        (mol, ends) for mol in known if mol is not None and mol.GetNumAtoms() <= _LARGEST and (ends := _free(mol))
    ]
    seen: set[str] = set()
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "smiles"))
        while len(seen) < count:
            smiles = _joined(draw.choice(parents), draw.choice(parents), draw)
            chains = _CHAINS if smiles and count > _MANY and _takes_a_bond(smiles) else ()
            for text in ("" if smiles is None else smiles, *(f"{chain}{smiles}" for chain in chains)):
                if text and text not in seen and len(seen) < count:
                    seen.add(text)
                    writer.writerow((f"m{len(seen)}", text))


def _shipped() -> list[str]:
    """The SMILES of the molecules that come with the package."""
    texts: list[str] = read_columns(SOLUBILITY_FILE).text("smiles").to_pylist()
    return texts


def _free(mol: Chem.Mol) -> list[int]:
    """The carbon and nitrogen atoms that can have another bond."""
    atoms = (atom for atom in mol.GetAtoms() if atom.GetAtomicNum() in (6, 7) and not atom.GetFormalCharge())
    return [atom.GetIdx() for atom in atoms if atom.GetTotalNumHs()]


def _takes_a_bond(smiles: str) -> bool:
    """Whether the first atom can have another bond."""
    with rdBase.BlockLogs():
        return Chem.MolFromSmiles(f"C{smiles}") is not None


def _joined(first: tuple[Chem.Mol, list[int]], second: tuple[Chem.Mol, list[int]], draw: random.Random) -> str | None:
    mol = Chem.RWMol(Chem.CombineMols(first[0], second[0]))
    ends = draw.choice(first[1]), draw.choice(second[1]) + first[0].GetNumAtoms()
    mol.AddBond(*ends, Chem.BondType.SINGLE)
    for end in ends:
        atom = mol.GetAtomWithIdx(end)
        atom.SetNumExplicitHs(max(atom.GetNumExplicitHs() - 1, 0))
    if Chem.SanitizeMol(mol, catchErrors=True) != Chem.SANITIZE_NONE:
        return None
    return str(Chem.MolToSmiles(mol))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chemprop", type=Path, help="chemprop's program; only deepergcn is measured without it")
    parser.add_argument("--count", type=int, default=20_000, help="number of molecules")
    parser.add_argument("--repeats", type=int, default=3, help="the least of this many measurements counts")
    parser.add_argument("--molecules", type=Path, help="a CSV file of molecules instead of those made here")
    parser.add_argument("--own", action="store_true", help="also with the defaults for own molecules")
    parser.add_argument("--jobs", type=int, default=1, help="processes of deepergcn")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        many, one = arguments.molecules or folder / "many.csv", folder / "one.csv"
        if arguments.molecules is None:
            write_molecules(many, arguments.count)
        with many.open() as file:
            one.write_text(file.readline() + file.readline())
            count = 1 + sum(1 for _ in file)
        commands = {"deepergcn": _deepergcn(folder, ["solubility"], arguments.jobs)}
        if arguments.own:
            own = ["--molecules", str(SOLUBILITY_FILE), "--target", "solubility"]
            commands["deepergcn, descriptors and forest"] = _deepergcn(folder, own, arguments.jobs)
        if arguments.chemprop is not None:
            commands["chemprop"] = _chemprop(folder, arguments.chemprop)
        best: dict[tuple[str, Path], Used] = {}
        for _ in range(arguments.repeats):
            for name, command in commands.items():
                for data in (one, many):
                    output = folder / f"{name.partition(',')[0]}.csv"
                    found = use_of([*command, data, "-o", output])
                    best[name, data] = min(best.get((name, data), found), found)
    _report(commands, best, one, many, count, arguments.jobs)


def _deepergcn(folder: Path, data: list[str], jobs: int) -> list[str | Path]:
    program: list[str | Path] = [sys.executable, "-m", "deepergcn"]
    run = folder / f"run-{len(data)}"
    subprocess.run([*program, "train", *data, "--epochs", "1", "--out", run], check=True)
    return [*program, "predict", run, "--jobs", str(jobs)]


def _chemprop(folder: Path, program: Path) -> list[str | Path]:
    data = folder / "train.csv"
    with data.open("w", newline="") as file:
        rows = [(smiles, len(smiles)) for smiles in _shipped()[:400]]
        csv.writer(file).writerows([("smiles", "y"), *rows])
    columns = ["--smiles-columns", "smiles", "--target-columns", "y"]
    common = ["--accelerator", "cpu", "--num-workers", "0"]
    train: list[str | Path] = [
        program,
        "train",
        "-i",
        data,
        *columns,
        "--epochs",
        "3",
        "-o",
        folder / "chemprop",
        *common,
    ]
    subprocess.run(train, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    model = folder / "chemprop" / "model_0" / "best.pt"
    return [program, "predict", "--smiles-columns", "smiles", "--model-paths", model, *common, "-i"]


def _report(
    names: Iterable[str], best: Mapping[tuple[str, Path], Used], one: Path, many: Path, count: int, jobs: int
) -> None:
    rows: list[dict[str, object]] = []
    for name in names:
        start, whole = best[name, one], best[name, many]
        rows.append(
            {
                "contestant": name,
                "cpu_seconds": f"{whole.cpu:.2f}",
                "cpu_seconds_of_start": f"{start.cpu:.2f}",
                "molecules_per_cpu_second": round(count / whole.cpu),
                "molecules_per_cpu_second_after_start": round(count / max(whole.cpu - start.cpu, 1e-9)),
                "seconds": f"{whole.seconds:.1f}",
                "peak_mb": round(whole.memory),
            }
        )
        print(rows[-1])
    processes = "" if jobs == 1 else f", {jobs} processes of deepergcn"
    write_csv("predict_molecules", f"{count:,} molecules{processes}", rows, {})


if __name__ == "__main__":
    main()
