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


Averages = Literal["probabilities", "log-odds"]
"""What is averaged for classes."""


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
    """(1 - w) times what the network says, plus w times what the forest says about classes, or numbers.

    Attributes:
        forest: the forest.
        weight: its weight w, from 0 to 1.
        averages: what is averaged for classes.
    """

    forest: Forest
    weight: float
    averages: Averages = "probabilities"

    def __call__(
        self, task: Task, outputs: Tensor, dataset: Dataset, items: Tensor, calibration: Calibration | None
    ) -> Tensor:
        """The outputs of ``items`` [items, outputs], on the network's scale: what is made of these holds for both."""
        words = forest_words(self.forest, task, dataset, items, self.averages)
        return mixed(task, outputs, words, self.weight, calibration, self.averages)

    def described(self) -> str:
        """A readable description of the models that are averaged."""
        return (
            f"{1 - self.weight:.0%} network and {self.weight:.0%} random forest of {self.forest.trees} trees on "
            "descriptors"
        )


def forest_words(forest: Forest, task: Task, dataset: Dataset, items: Tensor, averages: Averages) -> Tensor:
    """What a forest says about these items [items, outputs]: numbers, or what is averaged for classes."""
    return forest.outputs(task, dataset, items) if averages == "log-odds" else forest(dataset, items)


def mixed(
    task: Task,
    outputs: Tensor,
    forest: Tensor,
    weight: float,
    calibration: Calibration | None = None,
    averages: Averages = "probabilities",
) -> Tensor:
    """The outputs of a network [items, outputs] averaged with the words of a forest, as outputs of the network."""
    if not weight:
        return outputs
    if averages == "log-odds":
        values = outputs.double() if calibration is None else calibration(outputs.double())
        values = values.log_softmax(1) if task.kind == "multi-class" else values
        values = torch.lerp(values, forest.to(values), weight)
    else:
        values = to_probabilities(task, outputs.double(), calibration)
        values = torch.lerp(values, forest.to(values), weight)
        if task.kind != "regression":
            values = values.clamp(_LEAST, 1 - _LEAST)
            values = values.log() if task.kind == "multi-class" else values.logit()
    if calibration is not None:
        values = (values - torch.tensor(calibration.shift).to(values)) / torch.tensor(calibration.scale).to(values)
    return values.to(outputs.dtype)
