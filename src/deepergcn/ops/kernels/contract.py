"""What a kernel is: the one contract that the kernels of every device keep, ``kernels.cpu`` and ``kernels.gpu`` alike.

An aggregation is a forward and a backward. Forward takes

    x          [sources, channels]
    parameter  [channels], beta or p; unused by the others
    graph      the six index tensors of the ``Adjacency``, int32 or int64: rowptr, source and place by target, then
               rowptr, target and place by source
    edge       [] for none, [features] dense, [codes, table], or [features, weight, bias] affine
    eps        the constant of equation (4), or None for messages as they are
    option     one number of the aggregation's own: a mode of softmax below, 1 for a learned p, for mean, for min

and gives [out, *kept]: out is [targets, channels] in the type of x, 0 for a target without in-neighbours, and ``kept``
what this device's backward wants beside the inputs. ``shapes`` gives empty tensors of the same shapes and types.
Backward takes g, the gradient of out, then forward's arguments and ``kept``; it gives the gradients of x, of what is
learnable in the edge term (``[features]``, ``[table]``, ``[weight, bias]``) and of the parameter, in their types.

Every device keeps these promises:

    - values and gradients are those of ``ops.reference``, as exact as the precision allows, for any finite beta and p;
    - nothing is made that has edges times channels numbers, but the gradient of a dense edge term;
    - two runs give the same bits: no two workers add to the same place, and partial sums are added in a fixed order;
    - what is not finite is not hidden; messages that tie for max or min share its gradient evenly;
    - sums are taken in float32 for 16-bit numbers and float32, in float64 for float64.

The devices differ in two things. The CPU takes float32 and float64 (16-bit features are converted before) and refuses
codes beyond a table; a GPU takes 16-bit features as they are stored, and as it must not be waited for, a code beyond
the table gives NaN there.

``norm_relu_dropout`` draws its mask by ``mixed``, Wellons' hash lowbias32, from the seed, the row and the channel:

    key(row) = mixed(mixed(mixed(low ^ row) ^ high) ^ (row >> 32)),   low and high the halves of the 64-bit seed
    kept(row, channel) = mixed(key(row) + channel) >= dropout 2^32,   all in unsigned 32-bit arithmetic

so that the same seed gives the same mask on every device.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

Tensors = Sequence[Tensor]
Gradients = tuple[Tensor, list[Tensor], Tensor]
Forward = Callable[[Tensor, Tensor, Tensors, Tensors, float | None, int], list[Tensor]]
Backward = Callable[[Tensor, Tensor, Tensor, Tensors, Tensors, float | None, int, Tensors], Gradients]


class Kernels(NamedTuple):
    """One aggregation on one device."""

    forward: Forward
    backward: Backward
    shapes: Forward


FIXED, LEARNED, SEMI_GRADIENT = range(3)
"""The modes of softmax: beta has no gradient, has one, or the weights are held constant in backward."""

_GEOMETRIC = 1e-20
"""A p nearer 0 than this gives the geometric mean to the last digit, and this p gives it too."""


def nonzero_power(p: Tensor) -> Tensor:
    """p without 0, by which a power mean would divide."""
    return torch.where(p.abs() < _GEOMETRIC, _GEOMETRIC, p)
