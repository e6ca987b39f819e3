"""What makes training generalize: averaged weights, smoothed scores, FLAG, label smoothing, the AUC-margin loss."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

from deepergcn.data.task import Task
from deepergcn.errors import InputError
from deepergcn.nn import DeeperGCN
from deepergcn.recipes.schema import OptimizerSection
from deepergcn.runs.model.model_file import load_model
from deepergcn.runs.state import Scores
from deepergcn.training.average import WeightAverage
from deepergcn.training.flag import flag_step
from deepergcn.training.optimizer import make_optimizer
from deepergcn.training.scoring.evaluation import Evaluation
from deepergcn.training.scoring.losses import LossFunction, auc_margin, make_loss
from deepergcn.training.train import train
from tests.training.small import molecule_settings, molecules, repeatable

BINARY = Task("graph", "binary", 1, "rocauc")


def test_the_average_is_the_mean_of_the_first_steps_and_exponential_after() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).double()
    average = WeightAverage(model, decay=0.75)
    seen: list[dict[str, Tensor]] = []
    for step in range(6):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(torch.full_like(parameter, float(step * step)))
        model(torch.randn(5, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(step)))
        average.update_parameters(model)
        seen.append({name: tensor.clone() for name, tensor in model.state_dict().items()})
        expected = dict(seen[0])
        for number, weights in enumerate(seen[1:], start=2):
            decay = min(0.75, (number - 1) / number)
            for name in ("0.weight", "0.bias", "1.running_mean", "1.running_var"):
                expected[name] = decay * expected[name] + (1 - decay) * weights[name]
        found = average.module.state_dict()
        assert int(found["1.num_batches_tracked"]) == step + 1
        for name in ("0.weight", "0.bias", "1.running_mean", "1.running_var"):
            assert_close(found[name], expected[name])
            if step < 4:
                assert_close(found[name], torch.stack([weights[name] for weights in seen]).mean(0))


def test_a_run_with_average_flag_and_smoothing_is_resumed_bit_for_bit_and_saves_the_average(tmp_path: Path) -> None:
    settings = molecule_settings(
        molecules(tmp_path),
        "training.average=0.9",
        "training.flag_ascents=2",
        "evaluation.smoothing=2",
        "loss.label_smoothing=0.1",
    )
    whole = train("solubility", settings=settings, out=tmp_path / "whole", epochs=3)
    train("solubility", settings=settings, out=tmp_path / "parts", epochs=2)
    parts = train(out=tmp_path / "parts", resume=True, epochs=3)
    assert repeatable(whole) == repeatable(parts)
    averaged, resumed = (load_model(run.model_file).model.state_dict() for run in (whole, parts))
    assert all(torch.equal(averaged[name], resumed[name]) for name in averaged)
    plain = train("solubility", settings=[*settings, "training.average=null"], out=tmp_path / "plain", epochs=3)
    assert [row["train_loss"] for row in plain.metrics()] == [row["train_loss"] for row in whole.metrics()]
    last = load_model(plain.model_file).model.state_dict()
    assert any(not torch.equal(averaged[name], last[name]) for name in averaged)


def test_a_state_without_an_average_is_not_one_of_a_recipe_with_it(tmp_path: Path) -> None:
    run = train("solubility", settings=molecule_settings(molecules(tmp_path)), out=tmp_path / "run", epochs=1)
    recipe = run.path / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("training:\n", "training:\n  average: 0.9\n"))
    with pytest.raises(InputError, match="is not a state of this recipe"):
        train(out=run.path, resume=True, epochs=2)


def test_the_best_epoch_is_that_of_the_best_smoothed_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    curve = [0.4, 0.9, 0.5, 0.7, 0.72, 0.6]
    honest = Evaluation.scores

    def drawn(self: Evaluation, outputs: Tensor, epoch: int, loss: LossFunction) -> Scores:
        return honest(self, outputs, epoch, loss).model_copy(update={"valid_score": curve[epoch - 1]})

    monkeypatch.setattr(Evaluation, "scores", drawn)
    settings = molecule_settings(molecules(tmp_path), "training.epochs=6")
    for smoothing, best in ((1, 2), (2, 5), (3, 4)):
        out = tmp_path / str(smoothing)
        run = train("solubility", settings=[*settings, f"evaluation.smoothing={smoothing}"], out=out, epochs=4)
        run = train(out=out, resume=True, epochs=6)
        summary = run.summary()
        assert summary is not None
        assert (summary.best_epoch, summary.valid_score) == (best, curve[best - 1])


def test_flag_perturbs_within_its_bound_and_averages_the_gradients() -> None:
    torch.manual_seed(0)
    model = DeeperGCN(4, 1, hidden_channels=8, num_layers=2, norm=None).double()
    x, edges = torch.randn(6, 4, dtype=torch.float64), torch.randint(6, (2, 20))
    encoder = model.node_encoder
    assert encoder is not None
    clean = encoder(x).detach()
    perturbed: list[Tensor] = []
    losses: list[Tensor] = []

    def descend(ascent: int) -> Tensor:
        handle = encoder.register_forward_hook(lambda *call: perturbed.append(call[2].detach()))
        loss: Tensor = model(x, edges).square().sum()
        handle.remove()
        (loss / 3).backward()
        losses.append(loss.detach())
        return loss.detach()

    last = flag_step(model, 6, 3, 1e-3, descend)
    assert last == losses[-1]
    for number, h in enumerate(perturbed, start=1):
        assert float((h - clean).abs().max()) <= number * 1e-3 * (1 + 1e-6)
    assert float((perturbed[2] - perturbed[1]).abs().max()) == pytest.approx(1e-3, rel=1e-5)
    assert losses[0] < losses[1] < losses[2]
    found = [parameter.grad for parameter in model.layers.parameters()]
    model.zero_grad()
    model.node_encoder = None
    (sum(model(h, edges).square().sum() for h in perturbed) / 3).backward()
    assert_close(found, [parameter.grad for parameter in model.layers.parameters()])
    with pytest.raises(InputError, match=r"training\.flag_ascents: expected 0"):
        flag_step(model, 6, 3, 1e-3, descend)


def test_adamw_decays_weights_apart_from_the_gradient() -> None:
    """Without a gradient AdamW shrinks weights by 1 - lr * decay; Adam takes a whole step of size lr."""
    for name, expected in (("adamw", 2.0 * (1 - 0.1 * 0.5)), ("adam", 2.0 - 0.1)):
        model = nn.Linear(3, 1, bias=False).double()
        nn.init.constant_(model.weight, 2.0)
        model.weight.grad = torch.zeros_like(model.weight)
        section = OptimizerSection.model_validate({"name": name, "lr": 0.1, "weight_decay": 0.5})
        make_optimizer(model, section).step()
        assert_close(model.weight.detach(), torch.full((1, 3), expected, dtype=torch.float64))


def test_label_smoothing_is_torchs_for_classes_and_pulls_binary_labels_to_a_half() -> None:
    outputs = torch.randn(7, 3, generator=torch.Generator().manual_seed(0))
    classes = torch.tensor([0, 1, 2, -1, 1, 0, 2])
    loss = make_loss(Task("node", "multi-class", 3, "accuracy"), label_smoothing=0.2)
    known = classes >= 0
    assert_close(loss(outputs, classes), F.cross_entropy(outputs[known], classes[known], label_smoothing=0.2))
    labels = torch.tensor([[1.0], [0.0], [float("nan")], [1.0]])
    smoothed = torch.tensor([[0.9], [0.1], [0.9]])
    expected = F.binary_cross_entropy_with_logits(outputs[[0, 1, 3], :1], smoothed)
    assert_close(make_loss(BINARY, label_smoothing=0.2)(outputs[:4, :1], labels), expected)


def test_the_auc_margin_is_the_value_of_its_min_max_problem() -> None:
    outputs = torch.randn(40, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    targets = (torch.arange(40) % 4 == 0).double()[:, None]
    s, y = outputs.sigmoid()[:, 0], targets[:, 0] == 1

    def inner(a: Tensor, b: Tensor, alpha: Tensor) -> Tensor:
        gap = 1.0 + s[~y].mean() - s[y].mean()
        return (s[y] - a).square().mean() + (s[~y] - b).square().mean() + 2 * alpha * gap - alpha.square()

    grid = torch.linspace(-2, 2, 401, dtype=torch.float64)
    a = min(grid, key=lambda v: float(inner(v, grid[0], grid[0])))
    b = min(grid, key=lambda v: float(inner(a, v, grid[0])))
    alpha = max(grid[grid >= 0], key=lambda v: float(inner(a, b, v)))
    assert float(auc_margin(outputs, targets, 1.0)) == pytest.approx(float(inner(a, b, alpha)), abs=1e-4)
    sure = torch.where(targets == 1, 50.0, -50.0)
    assert float(auc_margin(sure, targets, 1.0)) == pytest.approx(0, abs=1e-12)
    assert float(auc_margin(-sure, targets, 1.0)) == pytest.approx(4)


def test_one_class_or_no_label_in_a_batch_has_a_finite_auc_margin_and_gradient() -> None:
    for targets in (torch.ones(3, 1), torch.full((3, 1), float("nan")), torch.tensor([[1.0], [float("nan")], [0.0]])):
        outputs = torch.randn(3, 1, requires_grad=True)
        loss = make_loss(BINARY, margin=1.0)(outputs, targets)
        loss.backward()
        assert bool(loss.isfinite())
        assert outputs.grad is not None
        assert bool(outputs.grad.isfinite().all())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("loss.name=auc-margin", "training.batch_size=1"), "loss.name: auc-margin compares the labels of one batch"),
        (("loss.name=auc-margin", "loss.balance=true"), "balance: expected false with auc-margin"),
        (("loss.name=auc-margin", "loss.label_smoothing=0.1"), "loss.label_smoothing: expected 0"),
        (("training.average=1",), "training.average"),
        (("training.flag_ascents=-1",), "training.flag_ascents"),
        (("evaluation.smoothing=0",), "evaluation.smoothing"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_one_clear_line(tmp_path: Path, settings: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        train("solubility", settings=molecule_settings(molecules(tmp_path), *settings), out=tmp_path / "run", epochs=1)


def test_the_auc_margin_is_for_binary_labels() -> None:
    with pytest.raises(InputError, match="auc-margin is for binary labels"):
        make_loss(Task("node", "multi-class", 3, "accuracy"), margin=1.0)
