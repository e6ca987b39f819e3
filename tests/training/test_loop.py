"""The loop: it learns, chooses the best epoch on validation, stops early, and stops before damage."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from deepergcn.data.provenance import MoleculeProvenance
from deepergcn.errors import InputError
from deepergcn.recipes.load import load_recipe
from deepergcn.recipes.schema import OptimizerSection
from deepergcn.runs.dataset import load_data
from deepergcn.runs.environment import environment
from deepergcn.runs.model.model_file import load_model
from deepergcn.runs.run import Run
from deepergcn.runs.state import Progress, Scores, resume_state
from deepergcn.studies.seeds import train_runs
from deepergcn.training import loop
from deepergcn.training.optimizer import learning_rate
from deepergcn.training.scoring.evaluation import Evaluation
from deepergcn.training.scoring.losses import LossFunction, make_loss
from deepergcn.training.train import train
from tests.training.small import molecule_settings, molecules, network, network_settings, repeatable


def test_it_learns_and_the_best_epoch_is_chosen_on_validation(tmp_path: Path) -> None:
    settings = molecule_settings(molecules(tmp_path), "training.epochs=15", "optimizer.lr=0.01", "model.dropout=0")
    run = train("solubility", settings=settings, out=tmp_path / "run")
    rows, summary = run.metrics(), run.summary()
    assert summary is not None
    assert [row["epoch"] for row in rows] == list(range(1, 16))
    assert rows[-1]["train_loss"] is not None
    assert rows[0]["train_loss"] is not None
    assert rows[-1]["train_loss"] < 0.5 * rows[0]["train_loss"]
    best = max(row["valid_score"] or 0 for row in rows)
    lowest = min(row["valid_loss"] or 0 for row in rows if row["valid_score"] == best)
    chosen = next(row for row in rows if row["valid_score"] == best and row["valid_loss"] == lowest)
    assert (summary.best_epoch, summary.test_score) == (chosen["epoch"], chosen["test_score"])
    assert summary.test_score == 1.0
    assert load_model(run.model_file).epoch == summary.best_epoch


def test_a_list_of_aggregators_trains_and_is_loaded(tmp_path: Path) -> None:
    changes = ("model.network=DeeperGCN", "model.aggr=[softmax, power_mean, max]", "model.learn_beta=true")
    settings = molecule_settings(molecules(tmp_path), *changes, "training.epochs=1")
    run = train("solubility", settings=settings, out=tmp_path / "run")
    model: Any = load_model(run.model_file).model
    for block in model.layers:
        conv: Any = block.conv
        assert len(conv.aggregation.aggregations) == 3
        assert conv.message_projection.weight.shape == (8, 24)
    betas = [row["beta"] for row in run.dynamics()]
    assert betas == [layer["beta_0"] for layer in model.dynamics()]
    assert all(beta not in (None, 1.0) for beta in betas)


@pytest.mark.plots
def test_the_run_directory_says_everything(tmp_path: Path) -> None:
    run = Run.open(train("solubility", settings=molecule_settings(molecules(tmp_path)), out=tmp_path / "run").path)
    assert run.recipe.model.num_layers == 3
    assert run.info.parameters == sum(weight.numel() for weight in load_model(run.model_file).model.parameters())
    assert {"torch", "deepergcn", "python"} <= run.info.versions.keys()
    assert isinstance(run.info.provenance, MoleculeProvenance)
    assert run.info.environment == environment()
    assert run.info.environment.threads == torch.get_num_threads()
    assert len(run.dynamics()) == 4 * 3
    assert {row["layer"] for row in run.dynamics()} == {1, 2, 3}
    assert all(row["beta"] is not None and row["p"] is None for row in run.dynamics())
    assert len(list((run.path / "state").iterdir())) == 2
    assert (run.path / "plots" / "curves.png").stat().st_size > 5_000
    assert oct(run.model_file.stat().st_mode) == oct((run.path / "run.json").stat().st_mode)


def test_a_run_is_repeatable_and_seeds_differ(tmp_path: Path) -> None:
    settings = molecule_settings(molecules(tmp_path))
    first, again = (train("solubility", settings=settings, out=tmp_path / name) for name in "ab")
    other = train("solubility", settings=settings, out=tmp_path / "c", seed=1)
    assert repeatable(first) == repeatable(again)
    assert first.model_file.read_bytes() == again.model_file.read_bytes()
    assert repeatable(first)["metrics"] != repeatable(other)["metrics"]


def test_several_runs_have_mean_and_deviation_and_can_be_resumed(tmp_path: Path) -> None:
    settings = molecule_settings(molecules(tmp_path))
    folder, summary = train_runs(3, "solubility", settings=settings, out=tmp_path / "runs", epochs=2)
    scores = [Run.open(folder / f"seed-{seed}").summary() for seed in range(3)]
    tests = [score.test_score or 0.0 for score in scores if score is not None]
    assert summary.seeds == (0, 1, 2)
    assert summary.test_scores == tuple(tests)
    mean = sum(tests) / 3
    assert summary.test_mean == pytest.approx(mean)
    assert summary.test_deviation == pytest.approx(math.sqrt(sum((test - mean) ** 2 for test in tests) / 2))
    with pytest.raises(InputError, match="has the runs of several seeds; continue them with --resume"):
        train_runs(3, "solubility", settings=settings, out=folder, epochs=2)
    assert train_runs(3, "solubility", settings=settings, out=folder, epochs=2, resume=True)[1] == summary


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("what", ["loss", "score"])
def test_a_validation_that_is_not_finite_is_the_worst_also_after_a_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: float, what: str
) -> None:
    settings = molecule_settings(molecules(tmp_path), "training.epochs=4")
    honest = Evaluation.scores

    def spoiled(self: Evaluation, outputs: Tensor, epoch: int, loss: LossFunction) -> Scores:
        found = honest(self, outputs, epoch, loss)
        return found if epoch == 2 else found.model_copy(update={f"valid_{what}": bad})

    monkeypatch.setattr(Evaluation, "scores", spoiled)
    for epochs, best in ((1, 1), (2, 2), (3, 2), (4, 2)):
        run = train("solubility", settings=settings, out=tmp_path / "run", epochs=epochs, resume=epochs > 1)
        summary = run.summary()
        assert summary is not None
        assert (summary.best_epoch, load_model(run.model_file).epoch) == (best, best)


def test_outputs_that_are_not_finite_are_a_score_that_is_not_finite_and_no_labels_are_none(tmp_path: Path) -> None:
    recipe = load_recipe("solubility", molecule_settings(molecules(tmp_path)))
    dataset = load_data(recipe)
    evaluation = Evaluation(dataset, recipe, 0)
    outputs = torch.zeros(dataset.num_items, 1)
    outputs[dataset.split["valid"]] = math.nan
    scores = evaluation.scores(outputs, 1, make_loss(dataset.task, None))
    assert scores.valid_loss is not None
    assert scores.valid_score is not None
    assert math.isnan(scores.valid_loss)
    assert math.isnan(scores.valid_score)
    assert scores.test_score == 0.5
    unlabelled = dataset.replace(y=torch.full_like(dataset.y, math.nan))
    nothing = Evaluation(unlabelled, recipe, 0).scores(outputs, 1, make_loss(dataset.task, None))
    assert (nothing.valid_loss, nothing.valid_score, nothing.test_score) == (None, None, None)


def test_the_optimizer_is_restored_after_the_model_has_moved_to_its_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = molecule_settings(molecules(tmp_path))
    train("solubility", settings=settings, out=tmp_path / "run", epochs=1)
    order: list[str] = []
    setup = Fabric.setup

    def move(*args: Any, **kwargs: Any) -> Any:
        order.append("device")
        return setup(*args, **kwargs)

    def restore(*args: Any) -> Progress:
        order.append("state")
        return resume_state(*args)

    monkeypatch.setattr(Fabric, "setup", move)
    monkeypatch.setattr(loop, "resume_state", restore)
    train(out=tmp_path / "run", resume=True, epochs=2)
    assert order == ["device", "state"]


def test_patience_ends_a_run_early(tmp_path: Path) -> None:
    settings = molecule_settings(molecules(tmp_path), "training.patience=3", "optimizer.lr=1e-12", "training.epochs=50")
    summary = train("solubility", settings=settings, out=tmp_path / "run").summary()
    assert summary is not None
    assert summary.epochs < 50
    assert summary.epochs == summary.best_epoch + 3


def test_scores_are_taken_every_so_many_epochs_and_after_the_last(tmp_path: Path) -> None:
    settings = molecule_settings(molecules(tmp_path), "evaluation.every=3", "evaluation.train=true")
    rows = train("solubility", settings=settings, out=tmp_path / "run").metrics()
    assert [row["epoch"] for row in rows if row["valid_score"] is not None] == [3, 4]
    assert [row["epoch"] for row in rows if row["train_score"] is not None] == [3, 4]


@pytest.mark.parametrize("partitions", [1, 4])
def test_tasks_on_nodes_train_on_the_whole_graph_or_on_partitions(tmp_path: Path, partitions: int) -> None:
    settings = network_settings(
        network(tmp_path), f"training.partitions={partitions}", "model.dropout=0", "optimizer.lr=0.01"
    )
    rows = train("yeast-proteins", settings=settings, out=tmp_path / "run", epochs=8).metrics()
    assert rows[0]["train_loss"] is not None
    assert rows[-1]["train_loss"] is not None
    assert rows[-1]["train_loss"] < rows[0]["train_loss"]
    assert all(row["train_score"] is not None for row in rows)


def test_sampled_subgraphs_without_some_edges_and_labels_are_drawn_again_after_a_resume(tmp_path: Path) -> None:
    transforms = 'data.transforms=["node-features-from-edges", "known-labels"]'
    sampled = ("training.partitioning=saint", "training.drop_edge=0.3", transforms)
    settings = network_settings(network(tmp_path), *sampled, "model.dropout=0", "optimizer.lr=0.01")
    whole = train("yeast-proteins", settings=settings, out=tmp_path / "whole", epochs=6)
    losses = [row["train_loss"] for row in whole.metrics()]
    assert losses[0] is not None
    assert losses[-1] is not None
    assert losses[-1] < losses[0]
    train("yeast-proteins", settings=settings, out=tmp_path / "run", epochs=2)
    assert repeatable(train(out=tmp_path / "run", resume=True, epochs=6)) == repeatable(whole)


def test_numbers_of_any_size_can_be_learned(tmp_path: Path) -> None:
    path = tmp_path / "weights.csv"
    lines = ["smiles,weight"] + [f"{'C' * n}O,{1e6 + 1e4 * n}" for n in range(1, 31)]
    path.write_text("\n".join(lines))
    options = 'data.options={"targets": ["weight"], "kind": "regression"}'
    settings = molecule_settings(path, options, "model.dropout=0", "model.pooling=sum")
    run = train("solubility", settings=[*settings, "optimizer.lr=0.01"], out=tmp_path / "run", epochs=30)
    losses = [row["train_loss"] or math.inf for row in run.metrics()]
    assert losses[0] < 100  # of standardized targets, whose variance is 1
    assert losses[-1] < 0.3
    summary = run.summary()
    assert summary is not None
    assert summary.metric == "rmse"
    assert summary.valid_score is not None
    assert summary.valid_score < 3e4  # in the units of the file, of which one atom is 1e4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["optimizer.lr=1e30"], r"epoch 1, step 2: the loss is nan; the (first output that is not finite|parameter)"),
        (["optimizer.lr=1e38", "model.norm=none"], r"epoch 1, step 2: the parameter [a-z0-9_.]+ is not finite"),
    ],
)
def test_what_is_not_finite_stops_the_run_and_is_named(tmp_path: Path, settings: list[str], message: str) -> None:
    everything = molecule_settings(molecules(tmp_path), *settings)
    with pytest.raises(InputError, match=message):
        train("solubility", settings=everything, out=tmp_path / "run")


def test_a_gradient_that_is_not_finite_names_its_parameter_and_keeps_the_last_good_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = molecule_settings(molecules(tmp_path))
    out = tmp_path / "run"
    train("solubility", settings=settings, out=out, epochs=2)
    before = sorted(path.name for path in (out / "state").iterdir())
    forward = nn.Linear.forward

    class Spoil(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, *gradients: Tensor) -> Tensor:
            return torch.full_like(gradients[0], torch.inf)

    def spoiled(self: nn.Linear, x: Tensor) -> Tensor:
        out: Tensor = Spoil.apply(forward(self, x))  # type: ignore[no-untyped-call]
        return out

    with monkeypatch.context() as patch:
        patch.setattr(nn.Linear, "forward", spoiled)
        with pytest.raises(InputError, match=r"epoch 3, step 1: the gradient of the parameter \S+ is not finite"):
            train("solubility", settings=settings, out=out, epochs=3, resume=True)
    assert sorted(path.name for path in (out / "state").iterdir()) == before
    assert len(train("solubility", settings=settings, out=out, epochs=3, resume=True).metrics()) == 3


def test_the_learning_rate_rises_and_falls() -> None:
    cosine = OptimizerSection(lr=0.1, schedule="cosine", warmup=2)
    assert learning_rate(cosine, 0, 10) == 0
    assert learning_rate(cosine, 1, 10) == pytest.approx(0.05)
    assert learning_rate(cosine, 2, 10) == pytest.approx(0.1)
    assert learning_rate(cosine, 6, 10) == pytest.approx(0.05)
    assert learning_rate(cosine, 10, 10) == pytest.approx(0)
    assert learning_rate(OptimizerSection(lr=0.1), 7.5, 10) == 0.1
