"""A teacher: what it says about a molecule comes from trees that have not seen it, and the network learns it."""

from pathlib import Path

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from deepergcn.data.task import Task
from deepergcn.errors import InputError
from deepergcn.recipes.schema import TeacherSection
from deepergcn.runs.model.model_file import load_model
from deepergcn.training.forests.teacher import fit_teacher, summary
from deepergcn.training.scoring.losses import make_loss
from deepergcn.training.train import train
from tests.training.forests.test_fit import data
from tests.training.small import molecule_settings, molecules

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


@pytest.mark.parametrize("kind", ["binary", "numbers"])
@pytest.mark.parametrize("calibrate", [False, True])
def test_all_forests_speak_about_other_items(tmp_path: Path, kind: str, calibrate: bool) -> None:
    """Calibrated as the others are, by the labels of the train part."""
    dataset = data(tmp_path, kind)
    section = SECTION.model_copy(update={"calibrate": calibrate})
    part = dataset.split["train"]
    more = (~torch.isin(torch.arange(len(dataset)), part)).nonzero()[:, 0]
    taught = fit_teacher(dataset, section, 0, more=more)
    assert torch.equal(taught[part], fit_teacher(dataset, section, 0)[part])
    assert bool(taught[more].isfinite().all())
    assert bool((taught[more] >= dataset.y[part].min()).all() and (taught[more] <= dataset.y[part].max()).all())
    other = dataset.replace(y=dataset.y.index_fill(0, more, 0.0))
    assert torch.equal(fit_teacher(other, section, 0, more=more), taught)  # their labels are not asked


@pytest.mark.parametrize("calibrate", [False, True])
def test_nothing_is_said_of_an_output_without_labels(tmp_path: Path, calibrate: bool) -> None:
    """Not a half, which the network would learn where a label is missing."""
    one = data(tmp_path, "binary")
    nothing = torch.full_like(one.y, torch.nan)
    dataset = one.replace(y=torch.cat((one.y, nothing), 1), task=LABELS, label_names=("a", "b"))
    section = SECTION.model_copy(update={"calibrate": calibrate})
    part = dataset.split["train"]
    more = (~torch.isin(torch.arange(len(dataset)), part)).nonzero()[:, 0]
    taught = fit_teacher(dataset, section, 0, more=more)
    assert bool(taught[:, 1].isnan().all())
    assert_close(taught[:, :1], fit_teacher(one, section, 0, more=more), rtol=1e-5, atol=1e-6)
    assert "rocauc 0." in summary(dataset, section, taught) or "rocauc 1." in summary(dataset, section, taught)
    alone = torch.cat((one.y, nothing.index_fill(0, part[0], 1.0)), 1)  # one label, which its own forest has not seen
    few = fit_teacher(dataset.replace(y=alone), section, 0, more=more)
    assert bool(few[part[0], 1].isnan())
    assert bool(few[more].isfinite().all())


def test_more_folds_than_molecules_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"teacher\.folds is 30; expected at most the \d items of the train part"):
        fit_teacher(data(tmp_path, "binary"), SECTION.model_copy(update={"folds": 30}), 0)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_loss_has_the_share_of_the_teacher(share: float) -> None:
    draw = torch.Generator().manual_seed(0)
    outputs, taught = torch.randn(4, 2, generator=draw), torch.rand(4, 2, generator=draw)
    y = torch.tensor([[1.0, 0.0], [0.0, torch.nan], [1.0, 1.0], [torch.nan, torch.nan]])
    known = ~y.isnan()
    taught[3, 1] = torch.nan  # nothing is known of this label
    loss = make_loss(LABELS, teacher_share=share)
    targets = torch.where(known, (1 - share) * y.nan_to_num() + share * taught, taught)
    learned = ~targets.isnan()
    assert int(learned.sum()) == 7
    assert_close(loss(outputs, y, None, taught), F.binary_cross_entropy_with_logits(outputs[learned], targets[learned]))
    assert_close(loss(outputs, y), F.binary_cross_entropy_with_logits(outputs[known], y[known]))


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_of_classes(share: float, smoothing: float) -> None:
    draw = torch.Generator().manual_seed(0)
    weight = torch.tensor([1.0, 2.0, 0.5])
    outputs, taught = torch.randn(4, 3, generator=draw), torch.randn(4, 3, generator=draw).softmax(1)
    y = torch.tensor([2, 0, -1, 1])
    loss = make_loss(CLASSES, weight, label_smoothing=smoothing, teacher_share=share)
    own = F.one_hot(y.clamp(min=0), 3).float()
    targets = torch.where((y >= 0)[:, None], (1 - share) * own + share * taught, taught)
    each = -(weight * ((1 - smoothing) * targets + smoothing / 3) * outputs.log_softmax(1)).sum(1)
    assert_close(loss(outputs, y, None, taught), each.mean())
    said = torch.tensor([True, False, False, True])[:, None]  # nothing is known of the third
    one = -(weight * ((1 - smoothing) * own + smoothing / 3) * outputs.log_softmax(1)).sum(1)
    assert_close(loss(outputs, y, None, taught.where(said, torch.nan)), (each[0] + one[1] + each[3]) / 3)
    assert_close(loss(outputs, y), one[y >= 0].mean())


def test_a_regression_learns_towards_both() -> None:
    outputs = torch.zeros(1, 1, requires_grad=True)
    y, taught = torch.tensor([[4.0]]), torch.tensor([[2.0]])
    loss = make_loss(Task("graph", "regression", 1, "rmse"), teacher_share=0.25)
    (gradient,) = torch.autograd.grad(loss(outputs, y, None, taught), outputs)
    assert float(gradient) == pytest.approx(-2 * (0.75 * 4 + 0.25 * 2))


def test_nothing_is_learned_where_neither_a_label_nor_a_teacher_says_anything() -> None:
    outputs = torch.randn(3, 3, requires_grad=True)
    taught = torch.full((3, 3), torch.nan)
    make_loss(CLASSES, label_smoothing=0.1, teacher_share=1.0)(outputs, torch.full((3,), -1), None, taught).backward()
    assert outputs.grad is not None
    assert not outputs.grad.any()


def test_the_plan_says_how_good_it_is(tmp_path: Path) -> None:
    dataset = data(tmp_path, "binary")
    text = summary(dataset, SECTION, fit_teacher(dataset, SECTION, 0))
    assert text.startswith("teacher   3 forests of 5 trees, rocauc 0.")
