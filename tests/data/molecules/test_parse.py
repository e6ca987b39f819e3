"""Molecules are read in parallel and in order; what cannot be read is kept with RDKit's reason."""

import dataclasses
import random

import numpy as np
import pytest

from deepergcn.data.molecules.featurize import MoleculeGraphs
from deepergcn.data.molecules.parse import parse_molecules
from deepergcn.data.molecules.skipped import Skipped
from deepergcn.errors import InputError

BAD = {
    "C1CC": "unclosed ring",
    "C(C": "extra open parentheses near position 2",
    "CxC": "syntax error near position 2",
    "C(C)(C)(C)(C)C": "Explicit valence for atom # 0 C, 5, is greater than permitted",
    "c1cccc1": "Can't kekulize mol.  Unkekulized atoms: 0 1 2 3 4",
    "": "empty",
    "InChI=1S/CH4/h1H4": "an InChI; expected the SMILES of a molecule",
    "CCO>[Pt]>CC=O": "a reaction; expected the SMILES of a molecule",
    "[NH3]->[Pt]x->[Cl]": "syntax error near position 12",
    "Cé": "a character that is not ASCII",
    "CC\nO": "a line break within the SMILES",
    "CC \udcff": "a character that is not Unicode text",
    "C" * 100_001: "100001 atoms; expected at most 100000",
    "C1" + "C" * 9_999 + "1": "10000 atoms and 1 rings; expected at most 5000 and 500",
    "C1CC1" * 501: "1503 atoms and 501 rings; expected at most 5000 and 500",
}


@pytest.mark.parametrize(("smiles", "reason"), BAD.items(), ids=BAD.values())
def test_reason(smiles: str, reason: str) -> None:
    assert parse_molecules([smiles]).skipped == (Skipped(1, smiles, reason),)


def test_bad_rows_are_left_out_in_order(capfd: pytest.CaptureFixture[str]) -> None:
    parsed = parse_molecules(["CC", "C1CC", None, " CCO ", "[H]"])
    assert parsed.positions.tolist() == [0, 3, 4]
    assert parsed.graphs.num_atoms.tolist() == [2, 3, 1]
    assert [(row.row, row.reason) for row in parsed.skipped] == [(2, "unclosed ring"), (3, "empty")]
    assert capfd.readouterr() == ("", "")


def test_a_molecule_too_large_for_canonical_smiles_is_read() -> None:
    """RDKit writes them by recursion: the process ended without a word."""
    parsed = parse_molecules(["C" * 20_000, "OC", "CO"], keys=True)
    assert parsed.keys == ("C" * 20_000, "CO", "CO")
    assert parsed.graphs.num_atoms.tolist() == [20_000, 2, 2]


def test_scaffolds() -> None:
    parsed = parse_molecules(["Cc1ccccc1", "CCO", "C1CC", "Oc1ccc([B-2]2(C)=NCCO2)cc1"], scaffolds=True)
    # The last is refused for its valences, and yet has a scaffold; the ring that is not closed has none.
    assert parsed.scaffolds == ("c1ccccc1", "", None, "c1ccc([B-2]2=NCCO2)cc1")
    assert parsed.positions.tolist() == [0, 1]


def test_strict_names_the_first_bad_row() -> None:
    with pytest.raises(InputError, match="row 2: cannot read molecule 'C1CC': unclosed ring"):
        parse_molecules(["CC", "C1CC", "C(C"], strict=True)


def test_no_molecules() -> None:
    parsed = parse_molecules([])
    assert (len(parsed.positions), parsed.graphs.atoms.shape, parsed.skipped) == (0, (0, 9), ())


def test_workers_must_be_positive() -> None:
    with pytest.raises(InputError, match="workers is 0; expected from 1 to"):
        parse_molecules(["C"], workers=0)


def test_processes_give_the_same_and_report_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepergcn.data.molecules.parse._WORTH_PROCESSES", 2_000)
    smiles = [("C" * (1 + i % 7)) + ("1" if i % 500 == 3 else "") for i in range(2_200)]
    steps: list[tuple[int, int]] = []
    many = parse_molecules(smiles, scaffolds=True, workers=2, progress=lambda *step: steps.append(step))
    one = parse_molecules(smiles, scaffolds=True, workers=1)
    assert many.skipped == one.skipped
    assert [row.row for row in many.skipped] == [4, 504, 1004, 1504, 2004]
    assert many.scaffolds == one.scaffolds
    np.testing.assert_array_equal(many.positions, one.positions)
    np.testing.assert_array_equal(many.graphs.atoms, one.graphs.atoms)
    np.testing.assert_array_equal(many.graphs.bonds, one.graphs.bonds)
    assert steps == [(500, 2200), (1000, 2200), (1500, 2200), (2000, 2200), (2200, 2200)]


def test_strict_stops_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepergcn.data.molecules.parse._WORTH_PROCESSES", 2_000)
    with pytest.raises(InputError, match="row 1: "):
        parse_molecules(["C1"] + ["C"] * 3_000, strict=True, workers=2)


def test_a_long_chain_and_a_record_without_an_end() -> None:
    assert parse_molecules(["C" * 20_000]).graphs.num_atoms.tolist() == [20_000]
    record = "\n\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n    0.0000    0.0000    0.0000 C   0  0\n"
    parsed = parse_molecules([record, record + "M  END\n"], form="molblock")
    assert parsed.positions.tolist() == [1]
    assert parsed.skipped[0].reason


def test_fragments_and_keys() -> None:
    texts = ["CCO.[Na+].[Cl-]", "OCC", "c1ccccc1.O"]
    whole = parse_molecules(texts, keys=True)
    assert (whole.several_fragments, whole.graphs.num_atoms.tolist()) == (2, [5, 3, 7])
    largest = parse_molecules(texts, keys=True, fragments="largest")
    assert (largest.several_fragments, largest.graphs.num_atoms.tolist()) == (2, [3, 3, 6])
    assert largest.keys == ("CCO", "CCO", "c1ccccc1")


def test_what_has_no_stereochemistry_is_read_faster_and_the_same() -> None:
    texts = ["c1ccccc1C(=O)O", "CN(=O)=O", "C1CC1C#N", "CC.O", "F/C=C/F", "[2H]C", "C[C@H](N)O", "OC=CO", "C1CC", "CCl"]
    texts += ["c1cccc1", "C(C)(C)(C)(C)C", "CC O", "C%10CCCCC%10", "n1ccccc1O", "Cn1cnc2c1c(=O)n(C)c(=O)n2C"]
    texts += [
        "C[N+](=O)[O-]",
        "c1cc[nH]c1",
        "[Na+].[Cl-]",
        "[NH4+]",
        "[H]C",
        "[CH3:1]C",
        "C[Si](C)C",
        "Cl[Hg]Cl",
        "[CH2]C",
    ]
    fast, plain = parse_molecules(texts), parse_molecules(texts, keys=True)
    assert fast.skipped == plain.skipped
    assert len(plain.skipped) == 3
    for name in ("atoms", "bonds", "bond_features", "num_atoms"):
        np.testing.assert_array_equal(getattr(fast.graphs, name), getattr(plain.graphs, name))


_SEEDS = tuple(
    """CC(=O)Oc1ccccc1C(=O)O [O-][N+](=O)c1ccc(Cl)cc1 O=N(=O)c1ccccc1 CN(=O)=O C[S+](C)[O-] OS(=O)(=O)O
    c1ccc2[nH]ccc2c1 c1ccn[nH]1 c1cc[n+]([O-])cc1 [Fe]C1=CC=CC1 [Na+].[Cl-] [NH4+].[OH-] C[Si](C)(C)C P(=O)(O)(O)O
    N#[N+][O-] [C-]#[O+] C=[N+]=[N-] B(O)O [BH4-] c1ccsc1 c1cc[se]c1 O=c1cc[nH]cc1 C1CC2CC1C2 C12C3C4C1C5C2C3C45
    C%10CCCCC%10 [CH3] [CH2][CH2] [O][O] F[P-](F)(F)(F)(F)F [Pt+2] [U] [He] C[Hg]C [Cu]Cl [Al+3].[OH-].[OH-].[OH-]
    c1ccc2c(c1)ccc1ccccc12 C1=CC=CC=CC=C1 O=C1C=CC(=O)C=C1 c1cnc2ncnc2[nH]1 N1C=CC=C1 [nH]1cccc1 C1=CN=CN1
    CC(C)(C)C#N S(=O)(=O)(N)c1ccccc1 [O-]Cl(=O)=O CP(C)(C)=C C[N+](C)(C)C [H][H] [2H]O [CH3:1]C F/C=C/F N[C@@H](C)O
    Cl(=O)(=O)(=O)O""".split()  # noqa: SIM905 (a list would be longer than the tests)
)


def _hostile(count: int) -> list[str]:
    """SMILES with characters left out, doubled, changed and moved, the same in every call."""
    draw, alphabet = random.Random(0), "CNOSPFIBcnosp()[]=#.%+-123456HleraSi@/\\ :*$~"
    texts = list(_SEEDS)
    while len(texts) < count:
        text = list(draw.choice(_SEEDS) + (draw.choice(_SEEDS) if draw.random() < 0.3 else ""))
        for _ in range(draw.randint(0, 2)):
            place = draw.randrange(len(text))
            text[place : place + draw.randint(0, 1)] = draw.choices(alphabet, k=draw.randint(0, 1)) or text[:1]
        texts.append("".join(text))
    return texts


def test_hostile_texts_are_read_and_refused_the_same() -> None:
    texts = _hostile(800)
    fast, plain = parse_molecules(texts), parse_molecules(texts, keys=True)
    assert fast.skipped == plain.skipped
    assert 250 < len(fast.positions) < 650
    assert fast.positions.tolist() == plain.positions.tolist()
    for field in dataclasses.fields(MoleculeGraphs):
        np.testing.assert_array_equal(getattr(fast.graphs, field.name), getattr(plain.graphs, field.name))
