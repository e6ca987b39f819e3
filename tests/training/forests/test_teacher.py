"""A teacher: what it says about a molecule comes from trees that have not seen it, and the network learns it."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from deepergcn.data.task import Task
from deepergcn.errors import InputError
from deepergcn.inference.predictor import load
from deepergcn.recipes.schema import TeacherSection
from deepergcn.runs.model.model_file import load_model
from deepergcn.runs.run import Run
from deepergcn.training import prepare
from deepergcn.training.forests import fit
from deepergcn.training.forests.teacher import FILE, fit_teacher, read_teacher, summary
from deepergcn.training.scoring.losses import make_loss
from deepergcn.training.train import train
from tests.training.forests.test_fit import data
from tests.training.small import molecule_settings, molecules, repeatable, trained_run

SECTION = TeacherSection(trees=5, min_leaf=1, folds=3)
SETTINGS = ("data.descriptors=[maccs]", "model.descriptors=false", "teacher={folds: 4, trees: 5}")
CLASSES = Task("graph", "multi-class", 3, "accuracy")
LABELS = Task("graph", "multi-label", 2, "rocauc")


def test_a_molecule_is_taught_by_trees_that_have_not_seen_it(tmp_path: Path) -> None:
    dataset = data(tmp_path, "numbers")
    taught, item = fit_teacher(dataset, SECTION, 0), int(dataset.split["train"][2])
    y = dataset.y.clone()
    y[item] += 1000
    other = fit_teacher(dataset.replace(y=y), SECTION, 0)
    assert torch.equal(other[item], taught[item])
    changed = (other != taught)[dataset.split["train"], 0]
    assert 0 < int(changed.sum()) < len(changed)  # those of other folds, not those of its own
    assert bool((taught[dataset.split["train"]] <= dataset.y[dataset.split["train"]].max()).all())


def test_nothing_is_said_of_other_parts(tmp_path: Path) -> None:
    dataset = data(tmp_path, "binary")
    taught = fit_teacher(dataset, SECTION, 0)
    said = taught.isfinite()[:, 0].nonzero()[:, 0]
    assert said.tolist() == sorted(dataset.split["train"].tolist())


@pytest.mark.parametrize("kind", ["binary", "classes"])
def test_probabilities_are_calibrated(tmp_path: Path, kind: str) -> None:
    """Their mean is the share of the class, also of a forest that was grown with weights."""
    dataset = data(tmp_path, kind)
    section = SECTION.model_copy(update={"class_weight": "balanced"})
    train_part = dataset.split["train"]
    taught = fit_teacher(dataset, section, 1)[train_part]
    labels = dataset.y[train_part]
    if kind == "binary":
        assert_close(taught.mean(0), labels.mean(0), rtol=0, atol=0.03)
    else:
        assert_close(taught.sum(1), torch.ones(len(labels)))
        assert_close(taught.mean(0), F.one_hot(labels, dataset.task.outputs).float().mean(0), rtol=0, atol=0.03)
    assert bool(((taught > 0) & (taught < 1)).all())


@pytest.mark.parametrize("kind", ["binary", "classes", "numbers"])
def test_what_trees_say_is_kept_if_that_is_asked(tmp_path: Path, kind: str) -> None:
    """Shares of trees, in which classes count as often as when the trees were grown."""
    dataset = data(tmp_path, kind)
    options = {"calibrate": False} | ({} if kind == "numbers" else {"class_weight": "balanced"})
    section = SECTION.model_copy(update=options)
    taught = fit_teacher(dataset, section, 0)[dataset.split["train"]]
    if kind == "numbers":
        assert torch.equal(taught, fit_teacher(dataset, SECTION, 0)[dataset.split["train"]])
        return
    shares = taught if kind == "binary" else taught.sum(1)
    assert bool((shares >= 0).all() and (shares <= 1 + 1e-6).all())
    assert_close(5 * taught, (5 * taught).round())  # each of five trees has a leaf of one class for it
    assert "of 5 trees, " in summary(dataset, section, fit_teacher(dataset, section, 0))


def test_a_network_that_learns_from_shares_is_calibrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPERGCN_DATA", str(tmp_path / "data"))
    settings = molecule_settings(molecules(tmp_path), *SETTINGS[:2], "training.epochs=1")
    for calibrate in (True, False):
        teacher = f"teacher={{folds: 4, trees: 5, class_weight: 9, calibrate: {str(calibrate).lower()}}}"
        run = train(settings=[*settings, teacher], out=tmp_path / str(calibrate))
        assert (load_model(run.model_file).calibration is None) == calibrate


def test_the_seed_decides(tmp_path: Path) -> None:
    dataset = data(tmp_path, "numbers")
    part = dataset.split["train"]
    first, again, other = (fit_teacher(dataset, SECTION, seed)[part] for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_more_folds_than_molecules_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"teacher\.folds is 30; expected at most the \d items of the train part"):
        fit_teacher(data(tmp_path, "binary"), SECTION.model_copy(update={"folds": 30}), 0)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_loss_has_the_share_of_the_teacher(share: float) -> None:
    draw = torch.Generator().manual_seed(0)
    outputs, taught = torch.randn(4, 2, generator=draw), torch.rand(4, 2, generator=draw)
    y = torch.tensor([[1.0, 0.0], [0.0, torch.nan], [1.0, 1.0], [torch.nan, torch.nan]])
    known = ~y.isnan()
    one = F.binary_cross_entropy_with_logits(outputs[known], y[known])
    other = F.binary_cross_entropy_with_logits(outputs[known], taught[known])
    loss = make_loss(LABELS, teacher_share=share)
    assert_close(loss(outputs, y, None, taught), (1 - share) * one + share * other)
    assert_close(loss(outputs, y), one)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_of_classes(share: float, smoothing: float) -> None:
    draw = torch.Generator().manual_seed(0)
    weight = torch.tensor([1.0, 2.0, 0.5])
    outputs, taught = torch.randn(4, 3, generator=draw), torch.randn(4, 3, generator=draw).softmax(1)
    y = torch.tensor([2, 0, -1, 1])
    loss = make_loss(CLASSES, weight, label_smoothing=smoothing, teacher_share=share)
    own, of_teacher = F.one_hot(y[y >= 0], 3).float(), taught[y >= 0]
    shares = (1 - smoothing) * ((1 - share) * own + share * of_teacher) + smoothing / 3
    expected = -(weight * shares * outputs[y >= 0].log_softmax(1)).sum() / 3
    assert_close(loss(outputs, y, None, taught), expected)
    if not share:
        assert_close(loss(outputs, y), expected)


def test_a_regression_learns_towards_both() -> None:
    outputs = torch.zeros(1, 1, requires_grad=True)
    y, taught = torch.tensor([[4.0]]), torch.tensor([[2.0]])
    loss = make_loss(Task("graph", "regression", 1, "rmse"), teacher_share=0.25)
    (gradient,) = torch.autograd.grad(loss(outputs, y, None, taught), outputs)
    assert float(gradient) == pytest.approx(-2 * (0.75 * 4 + 0.25 * 2))


def test_labels_that_are_missing_teach_nothing() -> None:
    outputs = torch.randn(3, 3, requires_grad=True)
    taught = torch.full((3, 3), 1 / 3)
    make_loss(CLASSES, label_smoothing=0.1, teacher_share=1.0)(outputs, torch.full((3,), -1), None, taught).backward()
    assert outputs.grad is not None
    assert not outputs.grad.any()


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
        patch.setattr(prepare, "fit_teacher", asked)
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
    dataset = data(tmp_path, "binary")
    with pytest.raises(InputError, match=r"is torch.float32 \[40, 1\]; expected float32 \[12, 1\]"):
        read_teacher(run, dataset)


def test_predictions_need_no_descriptors(run: Path, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def computed(*_: Any, **__: Any) -> None:
        raise AssertionError("descriptors are computed")

    monkeypatch.setattr("deepergcn.data.molecules.descriptors.molecule_descriptors", computed)
    found = load(run).predict(["CCO", "CCN"])
    assert len(found) == 2


def test_the_plan_says_how_good_it_is(tmp_path: Path) -> None:
    dataset = data(tmp_path, "binary")
    text = summary(dataset, SECTION, fit_teacher(dataset, SECTION, 0))
    assert text.startswith("teacher   3 forests of 5 trees, rocauc 0.")


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        (("teacher={}",), "teacher: a forest needs descriptors of molecules"),
        (("data.descriptors=[maccs]", "teacher={folds: 1}"), "teacher.folds is 1"),
        (("data.descriptors=[maccs]", "teacher={share: 0}"), "teacher.share is 0"),
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
