"""A network and a random forest that predict together."""

from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from deepergcn.data.dataset import Dataset
from deepergcn.data.task import Task
from deepergcn.runs.model.calibration import Calibration
from deepergcn.runs.model.forest import Forest
from deepergcn.runs.model.outputs import to_probabilities

_LEAST = 1e-12  # the least probability, since its logarithm is to be finite


Averages = Literal["log-odds", "probabilities"]
"""What is averaged for classes; files that do not say it average probabilities."""


class BlendRecord(BaseModel):
    """The record of a blend in a model file: the weight of the forest, the calibration of its probabilities, and what
    is averaged.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    weight: float = Field(ge=0, le=1, allow_inf_nan=False)
    calibration: Calibration | None = None
    averages: Averages = "probabilities"


@dataclass(frozen=True, eq=False)
class Blend:
    """(1 - w) times what the network says, plus w times what the forest says: log-odds of classes, or numbers.

    Averages of log-odds leave the word to the model that is surer (a logarithmic opinion pool; Genest and Zidek,
    *Combining Probability Distributions*, 1986).

    Attributes:
        forest: the forest.
        weight: its weight w, from 0 to 1.
        averages: what is averaged for classes.
    """

    forest: Forest
    weight: float
    averages: Averages = "log-odds"

    def __call__(
        self, task: Task, outputs: Tensor, dataset: Dataset, items: Tensor, calibration: Calibration | None
    ) -> Tensor:
        """The outputs of ``items`` [items, outputs], on the network's scale: what is made of these holds for both."""
        if self.averages == "probabilities":
            return mixed_probabilities(task, outputs, self.forest(dataset, items), self.weight, calibration)
        return mixed(task, outputs, self.forest.outputs(task, dataset, items), self.weight, calibration)

    def described(self) -> str:
        """A readable description of the models that are averaged."""
        return (
            f"{1 - self.weight:.0%} network and {self.weight:.0%} random forest of {self.forest.trees} trees on "
            "descriptors"
        )


def mixed(task: Task, outputs: Tensor, forest: Tensor, weight: float, calibration: Calibration | None = None) -> Tensor:
    """The outputs of a network [items, outputs] averaged with those of a forest, as outputs of the network."""
    if not weight:
        return outputs
    values = outputs.double() if calibration is None else calibration(outputs.double())
    values = values.log_softmax(1) if task.kind == "multi-class" else values
    return _before(torch.lerp(values, forest.to(values), weight), calibration).to(outputs.dtype)


def mixed_probabilities(
    task: Task, outputs: Tensor, forest: Tensor, weight: float, calibration: Calibration | None = None
) -> Tensor:
    """The outputs of a network whose probabilities, or numbers, are averaged with those of a forest."""
    if not weight:
        return outputs
    values = to_probabilities(task, outputs.double(), calibration)
    values = torch.lerp(values, forest.to(values), weight)
    if task.kind != "regression":
        values = values.clamp(_LEAST, 1 - _LEAST)
        values = _before(values.log() if task.kind == "multi-class" else values.logit(), calibration)
    return values.to(outputs.dtype)


def _before(outputs: Tensor, calibration: Calibration | None) -> Tensor:
    """The outputs that are these after a calibration."""
    if calibration is None:
        return outputs
    return (outputs - torch.tensor(calibration.shift).to(outputs)) / torch.tensor(calibration.scale).to(outputs)
