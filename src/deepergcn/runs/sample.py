"""A file to try a trained network on, where it takes molecules."""

import csv
import io
from pathlib import Path

from deepergcn.categories import ATOM_SIZES
from deepergcn.data.provenance import MoleculeProvenance
from deepergcn.data.storage.files import write_text
from deepergcn.runs.run import Run

MOLECULES = {
    "aspirin": "CC(=O)Oc1ccccc1C(=O)O",
    "benzene": "c1ccccc1",
    "caffeine": "CN1C=NC2=C1C(=O)N(C(=O)N2C)C",
    "cholesterol": "CC(C)CCCC(C)C1CCC2C1(CCC3C2CC=C4C3(CCC(C4)O)C)C",
    "ethanol": "CCO",
    "glucose": "OCC1OC(O)C(O)C(O)C1O",
    "hexadecane": "CCCCCCCCCCCCCCCC",
    "ibuprofen": "CC(C)Cc1ccc(cc1)C(C)C(=O)O",
    "naphthalene": "c1ccc2ccccc2c1",
    "vanillin": "COc1cc(C=O)ccc1O",
}
"""Well-known molecules by name."""


def write_sample(run: Run) -> Path | None:
    """Write well-known molecules to ``sample.csv`` of the run directory; nothing where the network takes none."""
    if run.info.inputs.task.level != "graph" or run.info.inputs.nodes != ATOM_SIZES:
        return None
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    provenance = run.info.provenance
    smiles_column = provenance.smiles_column if isinstance(provenance, MoleculeProvenance) else None
    writer.writerow(("name", smiles_column or "smiles"))
    writer.writerows(MOLECULES.items())
    path = run.path / "sample.csv"
    write_text(path, text.getvalue())
    return path
