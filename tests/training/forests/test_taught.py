"""A run that has a teacher: what it says is in the run directory, and what it says about new molecules too."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from rdkit import Chem

from deepergcn.errors import InputError
from deepergcn.inference.predictor import load
from deepergcn.runs.dataset import load_data
from deepergcn.runs.run import Run
from deepergcn.training.forests import fit, taught
from deepergcn.training.forests import recombined as new_molecules
from deepergcn.training.forests.taught import FILE, MOLECULES, Taught, _read_molecules, read_taught, write_taught
from deepergcn.training.train import train
from tests.training.forests.test_fit import data
from tests.training.small import molecule_settings, molecules, repeatable, trained_run

SETTINGS = ("data.descriptors=[maccs]", "model.descriptors=false", "teacher={folds: 4, trees: 5}")
RECOMBINED = (*SETTINGS[:2], "teacher={folds: 4, trees: 5, recombined: 7}")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained_run(tmp_path_factory.mktemp("taught"), *SETTINGS)


@pytest.fixture
def said(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is printed about the plan of a run, whose folder is a copy."""
    monkeypatch.setenv("DEEPERGCN_DATA", str(run.parent / "data"))
    shutil.copytree(run, tmp_path / "run")
    return []


def test_a_run_learns_from_its_teacher(run: Path, tmp_path: Path, said: list[str]) -> None:
    file = molecules(run.parent)
    alone = train(settings=molecule_settings(file, *SETTINGS[:2]), out=tmp_path / "alone")
    assert Run.open(run).metrics()[0]["train_loss"] != alone.metrics()[0]["train_loss"]
    assert not (alone.path / FILE).exists()


def test_a_run_that_is_resumed_does_not_ask_again(
    run: Path, tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = molecules(run.parent)
    longer = train(settings=molecule_settings(file, *SETTINGS, "training.epochs=6"), out=tmp_path / "longer")
    before = (tmp_path / "run" / FILE).read_bytes()

    def asked(*_: object) -> None:
        raise AssertionError("the teacher is asked again")

    with monkeypatch.context() as patch:
        patch.setattr(taught, "fit_teacher", asked)
        resumed = train(out=tmp_path / "run", resume=True, epochs=6)
    assert repeatable(resumed) == repeatable(longer)
    (tmp_path / "run" / FILE).unlink()  # as after a kill before it was written
    train(out=tmp_path / "run", resume=True, epochs=7)
    assert (tmp_path / "run" / FILE).read_bytes() == before


@pytest.mark.parametrize("damage", [b"", b"no tensors", None])
def test_a_damaged_file_is_named(run: Path, tmp_path: Path, said: list[str], damage: bytes | None) -> None:
    path = tmp_path / "run" / FILE
    path.write_bytes(path.read_bytes()[:-1] if damage is None else damage)
    with pytest.raises(InputError, match=rf"{FILE}: cannot be read; remove it, and it is made again"):
        train(out=tmp_path / "run", resume=True, epochs=5)


def test_the_file_of_another_run_is_refused(run: Path, tmp_path: Path, said: list[str]) -> None:
    dataset, recipe = data(tmp_path, "binary"), Run.open(run).recipe
    with pytest.raises(InputError, match=r"is torch.float32 \[40, 1\]; expected float32 \[12, 1\]"):
        read_taught(run, recipe, dataset)


def test_predictions_need_no_descriptors(run: Path, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def computed(*_: Any, **__: Any) -> None:
        raise AssertionError("descriptors are computed")

    monkeypatch.setattr("deepergcn.data.molecules.descriptors.molecule_descriptors", computed)
    found = load(run).predict(["CCO", "CCN"])
    assert len(found) == 2


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        (("teacher={}",), "teacher: a forest needs descriptors of molecules"),
        (("data.descriptors=[maccs]", "teacher={folds: 1}"), "teacher.folds is 1"),
        (("data.descriptors=[maccs]", "teacher={share: 0}"), "teacher.share is 0"),
        (("data.descriptors=[maccs]", "teacher={recombined: 2}", "model.edge_encoder=none"), "teacher.recombined: "),
        (("data.descriptors=[maccs]", "teacher={recombined: 2000}"), "teacher.recombined: "),
        (("data.descriptors=[maccs]", "teacher={name: x}"), "teacher.name is not a key of teacher"),
        (("data.descriptors=[maccs]", "teacher={descriptors: [rdkit]}"), "teacher.descriptors has rdkit"),
        (
            ("data.descriptors=[maccs]", "teacher={}", "loss.name=auc-margin"),
            "teacher: expected loss.name auto",
        ),
    ],
)
def test_what_cannot_be_is_said_before_a_run_is_made(tmp_path: Path, settings: tuple[str, ...], found: str) -> None:
    with pytest.raises(InputError) as raised:
        train(settings=molecule_settings(molecules(tmp_path), *settings), out=tmp_path / "run")
    assert found in str(raised.value)
    assert not (tmp_path / "run" / "run.json").exists()


def test_scikit_learn_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "find_spec", lambda _: None)
    with pytest.raises(InputError, match="teacher: a forest needs scikit-learn"):
        train(settings=molecule_settings(molecules(tmp_path), *SETTINGS), out=tmp_path / "run")


@pytest.fixture(scope="module")
def with_new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained_run(tmp_path_factory.mktemp("recombined"), *RECOMBINED)


def test_new_molecules_are_learned_from(with_new: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They follow the others in the train part, without labels, and the teacher says something about each."""
    monkeypatch.setenv("DEEPERGCN_DATA", str(with_new.parent / "data"))
    run = Run.open(with_new)
    dataset = load_data(run.recipe)
    found = read_taught(with_new, run.recipe, dataset)
    assert len(set(found.texts)) == 7
    lessons, said = found.lessons(dataset, run.recipe)
    assert len(lessons) == len(dataset) + 7
    assert lessons.split["train"].tolist() == [*dataset.split["train"].tolist(), *range(len(dataset), len(lessons))]
    assert bool(lessons.y[len(dataset) :].isnan().all())
    assert bool(said[lessons.split["train"]].isfinite().all())
    assert 0 < float(said[len(dataset) :].min()) < float(said[len(dataset) :].max()) < 1
    for place, text in enumerate(found.texts, start=len(dataset)):
        graph, mol = lessons.graph(place), Chem.MolFromSmiles(text)
        assert graph.num_nodes == mol.GetNumAtoms()
        assert graph.x[:, 0].tolist() == [atom.GetAtomicNum() - 1 for atom in mol.GetAtoms()]
        assert graph.num_edges == 2 * mol.GetNumBonds()
    assert torch.equal(lessons.graph(5).edge_index, dataset.graph(5).edge_index)


def test_a_run_with_new_molecules_is_resumed_exactly(
    with_new: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPERGCN_DATA", str(with_new.parent / "data"))
    shutil.copytree(with_new, tmp_path / "run")
    file = molecules(with_new.parent)
    longer = train(settings=molecule_settings(file, *RECOMBINED, "training.epochs=6"), out=tmp_path / "longer")
    before = (tmp_path / "run" / MOLECULES).read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(new_molecules, "recombined", lambda *_: pytest.fail("new molecules are made again"))
        resumed = train(out=tmp_path / "run", resume=True, epochs=6)
    assert repeatable(resumed) == repeatable(longer)
    (tmp_path / "run" / MOLECULES).unlink()
    (tmp_path / "run" / FILE).unlink()
    train(out=tmp_path / "run", resume=True, epochs=7)
    assert (tmp_path / "run" / MOLECULES).read_bytes() == before


def test_new_molecules_have_descriptors_where_the_network_takes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPERGCN_DATA", str(tmp_path / "data"))
    settings = (
        "data.descriptors=[maccs, properties]",
        RECOMBINED[2],
        "training.epochs=1",
        "data.transforms=[random-walk]",
    )
    run = train(settings=molecule_settings(molecules(tmp_path), *settings), out=tmp_path / "run")
    dataset = load_data(run.recipe)
    lessons, _ = read_taught(run.path, run.recipe, dataset).lessons(dataset, run.recipe)
    assert lessons.fingerprints is not None
    assert lessons.descriptors is not None
    assert dataset.descriptors is not None
    weights = lessons.descriptors[:, 0] / lessons.node_ptr.diff()  # a mass for every atom
    assert bool(weights.isfinite().all())
    assert lessons.x is not None
    assert lessons.x.shape[1] == 9 + 16


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (lambda text: text.replace("taught_1", "taught"), "has the columns 'smiles', 'taught'; expected"),
        (lambda text: text.rsplit("\n", 2)[0] + "\n", "has 6 rows; expected 7, as teacher.recombined says"),
        (lambda text: text.rsplit(",", 1)[0] + ",\n", "has a row without a word of the teacher"),
        (lambda _: "", "is empty"),
    ],
)
def test_damaged_molecules_are_named(
    with_new: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Any, found: str
) -> None:
    monkeypatch.setenv("DEEPERGCN_DATA", str(with_new.parent / "data"))
    shutil.copytree(with_new, tmp_path / "run")
    path = tmp_path / "run" / MOLECULES
    path.write_text(damage(path.read_text()))
    with pytest.raises(InputError) as raised:
        train(out=tmp_path / "run", resume=True, epochs=5)
    assert MOLECULES in str(raised.value)
    assert found in str(raised.value)
    assert "remove it and teacher.safetensors, and both are made again" in str(raised.value)


def test_what_is_written_is_read_as_it_was(tmp_path: Path) -> None:
    """All bits, and that nothing is said of an output."""
    said = torch.rand(3, 2, generator=torch.Generator().manual_seed(0))
    said[:, 1] = torch.nan
    write_taught(tmp_path, Taught(said, ("CCO", "C=C", "c1ccccc1"), said))
    texts, found = _read_molecules(tmp_path / MOLECULES, 3, 2)
    assert texts == ("CCO", "C=C", "c1ccccc1")
    assert torch.equal(found[:, 0], said[:, 0])
    assert bool(found[:, 1].isnan().all())


def test_a_molecule_that_cannot_be_read_is_named(
    with_new: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPERGCN_DATA", str(with_new.parent / "data"))
    shutil.copytree(with_new, tmp_path / "run")
    path = tmp_path / "run" / MOLECULES
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:3], "C(," + lines[3].split(",")[1], *lines[4:]]) + "\n")
    with pytest.raises(InputError, match=r"recombined\.csv: row 3: cannot read molecule 'C\('"):
        train(out=tmp_path / "run", resume=True, epochs=5)


def test_columns_of_the_user_are_not_known_of_new_molecules(tmp_path: Path) -> None:
    file = molecules(tmp_path)
    lines = file.read_text().splitlines()
    file.write_text("\n".join(f"{line},{number or 'dose'}" for number, line in enumerate(lines)) + "\n")
    settings = ("data.descriptors=[maccs, dose]", "teacher={recombined: 2}")
    with pytest.raises(InputError, match=r"teacher\.recombined: data\.descriptors has the column dose"):
        train(settings=molecule_settings(file, *settings), out=tmp_path / "run")
