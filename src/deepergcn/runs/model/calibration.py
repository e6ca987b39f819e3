"""From the outputs of a network that was trained with a balanced loss to those of calibrated probabilities."""

from typing import Annotated

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

Finite = Annotated[float, Field(allow_inf_nan=False)]


class Calibration(BaseModel):
    """``outputs * scale + shift``, fitted to the validation part; the order of the items stays as it is.

    Attributes:
        scale: of every label; of a multi-class task one for all classes.
        shift: of every label or class.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    scale: tuple[Annotated[float, Field(gt=0, allow_inf_nan=False)], ...]
    shift: tuple[Finite, ...]

    def __call__(self, outputs: Tensor) -> Tensor:
        """The calibrated outputs [items, outputs]."""
        return outputs * torch.tensor(self.scale).to(outputs) + torch.tensor(self.shift).to(outputs)
