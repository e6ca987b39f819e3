"""The kernel that reads RDKit's binary form gives what RDKit's own getters say."""

import csv
import gzip
from importlib.resources import files

import numpy as np
import pytest
from rdkit import Chem, rdBase

from deepergcn.data.kernels.molecules import HEADER
from deepergcn.data.molecules import featurize as module
from deepergcn.data.molecules.featurize import featurize, plain_values

STRANGE = [
    "[13CH4]",
    "[H][H]",
    "C",
    "[Na+].[Cl-]",
    "F/C=C/F",
    "F/C=C\\F",
    "C[C@H](N)C(=O)O",
    "C[Pt@SP1](F)(Cl)Br",
    "[CH3]",
    "[U+6]",
    "[O-][N+](=O)c1ccccc1",
    "CN(=O)=O",
    "[Fe]<-[NH3]",
    "c1cc2cccc-2c1",
    "C1CC2CCC1C2",
    "FS(F)(F)(F)(F)F",
    "[2H]C([2H])[3H]",
    "c1ccc2c(c1)[nH]c1ccccc12",
    "[Cu-4]",
    "[OH2+]C",
    "C12C3C4C1C5C2C3C45",
]
LEFT_OUT = ["[CH3:7]C", "*C", "C" * 256]


def solubility() -> list[str]:
    content = files("deepergcn.data.molecules").joinpath("solubility.csv.gz").read_bytes()
    rows = list(csv.reader(gzip.decompress(content).decode().splitlines()))
    column = [name.lower() for name in rows[0]].index("smiles")
    return [row[column] for row in rows[1::4]]


def test_the_form_is_of_the_known_version() -> None:
    assert Chem.MolFromSmiles("CC").ToBinary()[: len(HEADER)] == HEADER.tobytes()


def test_all_is_as_the_getters_say(monkeypatch: pytest.MonkeyPatch) -> None:
    with rdBase.BlockLogs():
        mols = [mol for text in [*STRANGE, *solubility()] if (mol := Chem.MolFromSmiles(text)) is not None]
    assert len(mols) > 300
    plain = [plain_values(mol) for mol in mols]
    monkeypatch.setattr(module, "plain_values", lambda mol: pytest.fail(f"left out: {Chem.MolToSmiles(mol)}"))
    found = featurize(mols)
    atoms, bonds, values = (np.concatenate(parts) for parts in zip(*plain, strict=True))
    np.testing.assert_array_equal(found.bonds, bonds.T)
    np.testing.assert_array_equal(found.atoms, module._categories(atoms, module._ATOM_LOOKUP))
    np.testing.assert_array_equal(found.bond_features, module._categories(values, module._BOND_LOOKUP))


def test_what_the_kernel_leaves_out_is_read_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def plain(mol: Chem.Mol) -> tuple[module.Values, module.Values, module.Values]:
        asked.append(Chem.MolToSmiles(mol))
        return plain_values(mol)

    monkeypatch.setattr(module, "plain_values", plain)
    texts = ["CCO", *LEFT_OUT, "c1ccccc1"]
    mols = [Chem.MolFromSmiles(text) for text in texts]
    found = featurize(mols)
    assert len(asked) == len(LEFT_OUT)
    one_by_one = [featurize([mol]) for mol in mols]
    np.testing.assert_array_equal(found.atoms, np.concatenate([one.atoms for one in one_by_one]))
    np.testing.assert_array_equal(found.bonds, np.concatenate([one.bonds for one in one_by_one], axis=1))
    monkeypatch.setattr(module, "HEADER", HEADER + 1)  # another version: nothing is read by the kernel
    np.testing.assert_array_equal(featurize(mols).bond_features, found.bond_features)
    assert len(asked) == 3 * len(LEFT_OUT) + 2
