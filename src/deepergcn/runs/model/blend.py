"""A network and a random forest that predict together."""

from dataclasses import dataclass

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from deepergcn.data.dataset import Dataset
from deepergcn.data.task import Task
from deepergcn.runs.model.calibration import Calibration
from deepergcn.runs.model.forest import Forest
from deepergcn.runs.model.outputs import to_probabilities

_LEAST = 1e-12  # the least probability, since its logarithm is to be finite


class BlendRecord(BaseModel):
    """The record of a blend in a model file: the weight of the forest, and the calibration of its probabilities."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    weight: float = Field(ge=0, le=1, allow_inf_nan=False)
    calibration: Calibration | None = None


@dataclass(frozen=True, eq=False)
class Blend:
    """(1 - w) times the prediction of the network, plus w times that of the forest: probabilities, or numbers.

    Attributes:
        forest: the forest.
        weight: its weight w, from 0 to 1.
    """

    forest: Forest
    weight: float

    def __call__(
        self, task: Task, outputs: Tensor, dataset: Dataset, items: Tensor, calibration: Calibration | None
    ) -> Tensor:
        """The outputs of ``items`` [items, outputs], on the network's scale: what is made of these holds for both."""
        return mixed(task, outputs, self.forest(dataset, items), self.weight, calibration)

    def described(self) -> str:
        """A readable description of the models that are averaged."""
        return (
            f"{1 - self.weight:.0%} network and {self.weight:.0%} random forest of {self.forest.trees} trees on "
            "descriptors"
        )


def mixed(task: Task, outputs: Tensor, forest: Tensor, weight: float, calibration: Calibration | None = None) -> Tensor:
    """The outputs of a network [items, outputs] mixed with the predictions of a forest, as outputs of the network."""
    if not weight:
        return outputs
    values = to_probabilities(task, outputs.double(), calibration)
    values = torch.lerp(values, forest.to(values), weight)
    if task.kind != "regression":
        values = values.clamp(_LEAST, 1 - _LEAST)
        values = values.log() if task.kind == "multi-class" else values.logit()
        if calibration is not None:
            values = (values - torch.tensor(calibration.shift).to(values)) / torch.tensor(calibration.scale).to(values)
    return values.to(outputs.dtype)
