"""The average of a network's weights over the steps of training, which generalizes better than the last of them."""

from itertools import chain

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel


class WeightAverage(AveragedModel):
    r"""An exponential moving average of the weights that starts as their plain mean:

    .. math:: a_t = d_t\, a_{t-1} + (1 - d_t)\, w_t, \qquad d_t = \min\left(d, \frac{t - 1}{t}\right)

    The average of the first :math:`1 / (1 - d)` steps is their mean, so that the initial weights have no part in it
    (Polyak and Juditsky, 1992; Izmailov et al., *Averaging Weights Leads to Wider Optima and Better Generalization*,
    2018). Running statistics of batch normalization are averaged as weights are; counters are copied.

    Args:
        model: the network, on its device.
        decay: :math:`d`, in (0, 1).

    It is torch's ``AveragedModel``: ``module`` is the average.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        super().__init__(model, use_buffers=True)
        self.decay = decay

    @torch.no_grad()
    def update_parameters(self, model: nn.Module) -> None:
        """Take in the weights after a step. Steps are counted on the host, so that no GPU is waited for."""
        steps = int(self.n_averaged)
        weight = 1 - min(self.decay, steps / (steps + 1))
        averages = chain(self.module.parameters(), self.module.buffers())
        for average, new in zip(averages, chain(model.parameters(), model.buffers()), strict=True):
            if average.is_floating_point():
                average.lerp_(new, weight)
            else:
                average.copy_(new)
        self.n_averaged += 1
