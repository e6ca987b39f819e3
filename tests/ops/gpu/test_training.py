"""A step of training on a GPU waits for nothing: torch's device ``meta`` cannot be read, and nobody tries to."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from deepergcn.recipes.load import load_recipe
from deepergcn.runs.dataset import load_data
from deepergcn.runs.model.network import build_model, dataset_inputs
from deepergcn.training import stepper
from deepergcn.training.scoring.losses import make_loss
from deepergcn.training.steps import training_batches
from tests.training.small import molecule_settings, molecules, network, network_settings

META = torch.device("meta")


class OneDevice:
    """What a step asks of Lightning Fabric, for one process on the device ``meta``."""

    device, world_size, global_rank = META, 1, 0

    def setup(self, model: nn.Module, optimizer: Any) -> tuple[nn.Module, Any]:
        return model, optimizer

    def no_backward_sync(self, model: nn.Module, enabled: bool) -> Any:
        return nullcontext()

    def backward(self, loss: Tensor) -> None:
        loss.backward()


class NotFused(torch.optim.Adam):
    """Torch's fused step is not for the device meta; the other one has no switch to leave it out."""

    def step(self, closure: Any = None) -> Any:
        assert self.found_inf.device == META
        self.found_inf: Any = None
        return super().step(closure)


class Sent(TorchDispatchMode):
    """The tensors of the host that are copied to the device, each of which would wait for it."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.shapes: list[list[int]] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if "copy" in str(function):
            given = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor) and t.device.type == "cpu"]
            made = [t for t in tree_leaves(result) if isinstance(t, Tensor) and t.device == META]
            self.shapes += [list(t.shape) for t in given if made]
        return result


@pytest.mark.usefixtures("fake_gpu")
@pytest.mark.parametrize(
    ("recipe", "settings"),
    [
        ("solubility", ["optimizer.clip=1", "training.average=0.9"]),
        ("solubility", ["training.flag_ascents=2"]),
        ("solubility", ["loss.name=auc-margin"]),
        ("yeast-proteins", ["training.drop_edge=0.3", "training.partitions=2"]),
        ("yeast-proteins", ["training.partitions=1", "loss.balance=true"]),
    ],
    ids=str,
)
def test_nothing_in_a_step_is_read(
    recipe: str, settings: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stepper, "make_optimizer", lambda model, section: NotFused(model.parameters()))
    small = molecule_settings(molecules(tmp_path)) if recipe == "solubility" else network_settings(network(tmp_path))
    asked = load_recipe(recipe, [*small, *settings])
    dataset = load_data(asked)
    with torch.device(META):
        model = build_model(asked, dataset_inputs(dataset))
    weight = torch.ones(dataset.task.outputs) if asked.loss.balance else None
    loss = make_loss(dataset.task, weight, margin=1.0 if asked.loss.name == "auc-margin" else None)
    source = training_batches(dataset, asked.training, 0)
    fabric: Any = OneDevice()
    steps = stepper.Stepper(fabric, asked, 0, model, loss, source, lambda *numbers: numbers)
    drawn = [batches for epoch in (1, 2) for batches in steps.batches(epoch, 0)]
    assert {batch.y.device for batches in drawn for batch, _ in batches} == {META}
    steps.launch(1, 0, drawn[0])
    with Sent() as sent:
        launched = steps.launch(1, 1, drawn[1])
    assert sent.shapes == []
    assert (launched.labels > 1, launched.norm.device, launched.loss_sum.device) == (True, META, META)
    with pytest.raises((RuntimeError, NotImplementedError), match="meta"):  # as would any other reading before it
        steps.read(launched)
