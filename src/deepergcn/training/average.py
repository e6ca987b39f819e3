"""The average of a network's weights over the steps of training, which generalizes better than the last of them."""

from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel


def weight_average(model: nn.Module, decay: float) -> AveragedModel:
    r"""An exponential moving average of the weights that starts as their plain mean:

    .. math:: a_t = d_t\, a_{t-1} + (1 - d_t)\, w_t, \qquad d_t = \min\left(d, \frac{t - 1}{t}\right)

    The average of the first :math:`1 / (1 - d)` steps is their mean, so that the initial weights have no part in it
    (Polyak and Juditsky, 1992; Izmailov et al., *Averaging Weights Leads to Wider Optima and Better Generalization*,
    2018). Running statistics of batch normalization are averaged as weights are; counters are copied.

    Args:
        model: the network, on its device.
        decay: :math:`d`, in (0, 1).

    Returns:
        Torch's ``AveragedModel``: call ``update_parameters(model)`` after every step; ``module`` is the average.
    """

    def take_in(
        average: tuple[Tensor, ...] | list[Tensor], new: tuple[Tensor, ...] | list[Tensor], steps: Tensor | int
    ) -> None:
        weight = 1 - min(decay, int(steps) / (int(steps) + 1))
        for old, now in zip(average, new, strict=True):
            if old.is_floating_point():
                old.lerp_(now, weight)
            else:
                old.copy_(now)

    return AveragedModel(model, multi_avg_fn=take_in, use_buffers=True)
