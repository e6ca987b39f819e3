"""A sample file to try a network of molecules on."""

from pathlib import Path

from deepergcn.categories import ATOM_SIZES
from deepergcn.data.molecules.descriptor_names import KINDS
from deepergcn.data.provenance import MoleculeProvenance
from deepergcn.data.storage.csv_text import csv_text
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
    """Write well-known molecules to ``sample.csv`` of the run directory; None if the network takes more, or others."""
    if run.info.inputs.task.level != "graph" or run.info.inputs.nodes != ATOM_SIZES:
        return None
    if not set(run.recipe.descriptors_to_predict) <= set(KINDS):  # columns of the user's own
        return None
    provenance = run.info.provenance
    smiles_column = provenance.smiles_column if isinstance(provenance, MoleculeProvenance) else None
    path = run.path / "sample.csv"
    write_text(path, csv_text([("name", smiles_column or "smiles"), *MOLECULES.items()]))
    return path
