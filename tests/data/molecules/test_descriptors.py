"""Descriptors beside the graphs of molecules: what they count, and where they are unknown."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch
from rdkit import Chem, rdBase
from rdkit.Chem import Descriptors, rdFingerprintGenerator, rdMolDescriptors
from torch import Tensor
from torch.testing import assert_close

from deepergcn.data.batching.loader import GraphLoader
from deepergcn.data.molecules import descriptors
from deepergcn.data.molecules.descriptor_names import MACCS_SIZE, MORGAN_SIZE, NUMBERS, PROPERTIES, columns_of
from deepergcn.data.molecules.descriptors import describe, molecule_descriptors, morgan_shares
from deepergcn.data.molecules.fragments import Fragments
from deepergcn.data.molecules.parse import parse_molecules
from deepergcn.data.molecules.read import read_molecules
from deepergcn.data.tables.columns import read_columns
from deepergcn.errors import InputError
from tests.training.trained import molecule_file, write_lines

SMILES = ["CCO", "c1ccccc1C(=O)O", "not a molecule", "[Na+].CC(=O)[O-]"]


def test_counts_are_those_of_rdkit_and_zero_for_what_it_cannot_read() -> None:
    found = molecule_descriptors(SMILES, ("morgan", "maccs"))
    assert found.descriptors is None
    assert found.fingerprints is not None
    assert found.fingerprints.shape == (4, MORGAN_SIZE + MACCS_SIZE)
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    expected = generator.GetCountFingerprintAsNumPy(Chem.MolFromSmiles(SMILES[1]))
    np.testing.assert_array_equal(found.fingerprints[1, :MORGAN_SIZE].numpy(), expected)
    assert not bool(found.fingerprints[2].any())


def test_properties_are_those_of_rdkit_and_unknown_for_what_it_cannot_read() -> None:
    found = molecule_descriptors(SMILES, ("properties",))
    assert found.fingerprints is None
    assert found.descriptors is not None
    assert found.descriptors.shape == (4, len(PROPERTIES))
    assert bool(found.descriptors[2].isnan().all())
    assert bool(found.descriptors[[0, 1, 3]].isfinite().all())
    acid = Chem.MolFromSmiles(SMILES[1])
    for name, expected in (
        ("CrippenClogP", rdMolDescriptors.CalcCrippenDescriptors(acid)[0]),
        ("tpsa", rdMolDescriptors.CalcTPSA(acid)),
        ("NumRings", 1.0),
    ):
        assert float(found.descriptors[1, PROPERTIES.index(name)]) == pytest.approx(expected)


def test_rdkit_computes_all_numbers_of_the_lists_that_models_are_trained_with() -> None:
    assert set(PROPERTIES) <= set(rdMolDescriptors.Properties.GetAvailableProperties())
    assert len(set(PROPERTIES)) == len(PROPERTIES) == 34
    assert set(NUMBERS) <= {name for name, _ in Descriptors.descList}
    assert len(set(NUMBERS)) == len(NUMBERS) == 215


def test_an_rdkit_with_a_longer_list_gives_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = molecule_descriptors(SMILES, ("rdkit",)).descriptors
    later = [("new", lambda mol: 0.0), *reversed(Descriptors.descList)]
    monkeypatch.setattr(Descriptors, "descList", later)
    descriptors._functions.cache_clear()
    try:
        assert_close(molecule_descriptors(SMILES, ("rdkit",)).descriptors, expected, equal_nan=True)
    finally:
        descriptors._functions.cache_clear()


def test_an_rdkit_without_one_of_the_numbers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Descriptors, "descList", [found for found in Descriptors.descList if found[0] != "qed"])
    descriptors._functions.cache_clear()
    try:
        with pytest.raises(InputError, match=rf"descriptors rdkit: RDKit {rdBase.rdkitVersion} does not have qed"):
            molecule_descriptors(SMILES, ("rdkit",))
    finally:
        descriptors._functions.cache_clear()


def test_lists_of_numbers_stand_in_the_order_of_their_names() -> None:
    alone = [molecule_descriptors(SMILES, (name,)).descriptors for name in ("rdkit", "properties")]
    both = molecule_descriptors(SMILES, ("rdkit", "morgan", "properties")).descriptors
    assert both is not None
    assert_close(both, torch.cat([values for values in alone if values is not None], dim=1), equal_nan=True)


@pytest.mark.parametrize("smiles", [SMILES[1], "C", "CC(C)(C)N.Cl"])
def test_every_morgan_count_is_shared_by_the_atoms_that_it_counts(smiles: str) -> None:
    shares = morgan_shares(smiles)
    counts = molecule_descriptors([smiles], ("morgan",)).fingerprints
    assert shares is not None
    assert counts is not None
    assert shares.shape == (Chem.MolFromSmiles(smiles).GetNumAtoms(), MORGAN_SIZE)
    np.testing.assert_allclose(shares.sum(0), (counts[0] > 0).double().numpy())


def test_a_count_of_one_atom_is_that_atom_s_alone() -> None:
    shares, ethane = morgan_shares("CCN"), morgan_shares("CC")
    assert shares is not None
    assert ethane is not None
    own = (shares[2] == 1).nonzero()[0]
    assert len(own) == 1  # of radius 0; those of radius 1 and 2 have other atoms too
    assert not shares[:2, own].any()
    np.testing.assert_allclose(ethane[0], ethane[1])
    kept = morgan_shares(SMILES[3], "largest")
    assert kept is not None
    assert len(kept) == 4
    assert morgan_shares(SMILES[2]) is None


def test_the_columns_of_each_descriptor_follow_the_order_of_the_names(tmp_path: Path) -> None:
    table = read_columns(write_lines(tmp_path / "numbers.csv", "a,b", "1,2", "3,4"))

    def joined(names: tuple[str, ...]) -> Tensor:
        found = molecule_descriptors(SMILES[:2], names, table=table).fields().values()
        return torch.cat([values.float() for values in found if values is not None], 1)

    every = ("b", "rdkit", "maccs", "a", "morgan", "properties")
    for names in (("morgan", "maccs"), ("rdkit", "morgan"), ("maccs", "rdkit", "morgan"), every):
        found = joined(names)
        columns = columns_of(names)
        assert sorted(np.concatenate(list(columns.values())).tolist()) == list(range(found.shape[1]))
        for name in names:
            assert_close(found[:, columns[name]], joined((name,)), equal_nan=True)


def test_numbers_are_those_of_rdkit_and_unknown_where_it_gives_none() -> None:
    found = molecule_descriptors(SMILES, ("rdkit",)).descriptors
    assert found is not None
    assert found.shape == (4, len(NUMBERS))
    assert_close(found[0, NUMBERS.index("MolWt")], torch.tensor(46.069))
    assert bool(found[2].isnan().all())
    assert not bool(found.isinf().any())
    assert "Ipc" not in NUMBERS


def test_the_largest_fragment_alone_counts_where_it_alone_is_kept() -> None:
    salt, acid = (molecule_descriptors([text], ("maccs",)).fingerprints for text in (SMILES[3], "CC(=O)[O-]"))
    kept = molecule_descriptors([SMILES[3]], ("maccs",), fragments="largest").fingerprints
    assert kept is not None
    assert acid is not None
    assert salt is not None
    assert_close(kept, acid)
    assert not torch.equal(salt, acid)


def test_a_file_has_descriptors_in_the_order_of_its_graphs_and_batches_bring_them(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "m.csv", "smiles,y,t", "CCO,1,20", "C1CC,2,30", "CC,3,", "CCC,4,1e300")
    dataset = read_molecules(file, targets="y", kind="regression", descriptors=("maccs", "t"), root=tmp_path)
    assert dataset.descriptors is not None
    assert_close(dataset.descriptors, torch.tensor([[20.0], [torch.nan], [torch.nan]]), equal_nan=True)
    batch = GraphLoader(dataset, batch_size=2).collate([2, 0])
    assert dataset.fingerprints is not None
    expected = torch.cat((dataset.fingerprints[[2, 0]].float(), dataset.descriptors[[2, 0]]), 1)
    assert_close(batch.descriptors, expected, equal_nan=True)


def test_a_second_reading_takes_them_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = molecule_file(tmp_path)
    first = read_molecules(file, targets="target", descriptors=("morgan",), root=tmp_path)
    monkeypatch.setattr("deepergcn.data.molecules.descriptors._compute", pytest.fail)
    again = read_molecules(file, targets="target", descriptors=("morgan",), seed=7, root=tmp_path)
    assert first.fingerprints is not None
    assert again.fingerprints is not None
    assert_close(again.fingerprints, first.fingerprints)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("morgan", "morgan"), "expected each once"),
        (("weight",), "no column 'weight'"),
        (("name",), "expected a number"),
    ],
)
def test_wrong_names_are_refused(tmp_path: Path, names: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_molecules(molecule_file(tmp_path), targets="target", descriptors=names, root=tmp_path)


def test_a_column_needs_a_file() -> None:
    with pytest.raises(InputError, match="'weight' would be a column of a file"):
        molecule_descriptors(["CC"], ("weight",))


def test_molecules_that_are_parsed_anyway_are_described_on_the_way() -> None:
    texts = ["CCO", "not one", "C[C@H](N)O.Cl", "F/C=C/F", *["c1ccccc1"] * 600, ""]
    names = ("properties", "morgan", "maccs")
    for fragments in get_args(Fragments):
        parsed = parse_molecules(texts, fragments=fragments, workers=1, describe=partial(describe, names=names))
        readable = [texts[position] for position in parsed.positions.tolist()]
        assert len(readable) == 603
        again = molecule_descriptors(readable, names, fragments=fragments, workers=1)
        once = molecule_descriptors(readable, names, fragments=fragments, parts=parsed.described)
        for name, values in once.fields().items():
            expected = again.fields()[name]
            assert values is not None
            assert expected is not None
            np.testing.assert_array_equal(values.numpy(), expected.numpy())


def test_processes_are_started_only_if_that_takes_less_than_they_save(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []

    def here(function: Callable[..., object], arguments: Iterable[tuple[object, ...]], jobs: int) -> Iterator[object]:
        used.append(jobs)
        return starmap(function, arguments)

    monkeypatch.setattr(descriptors, "in_processes", here)
    texts = ["CCO", "not one", "c1ccccc1", None] * 250
    few = molecule_descriptors(texts, ("morgan", "properties"), workers=2)
    assert not used
    monkeypatch.setattr(descriptors, "_WORTH_PROCESSES", 0.5)
    many = molecule_descriptors(texts, ("morgan", "properties"), workers=2)
    assert used == [2]
    assert_close(many.fields(), few.fields(), rtol=0, atol=0, equal_nan=True)


def test_no_molecule_has_the_columns_of_others() -> None:
    some, none = (describe(mols, ("morgan", "properties")) for mols in ([None], []))
    assert [part.shape[1] for part in some] == [part.shape[1] for part in none]
    assert [len(part) for part in none] == [0, 0]
