"""A random forest as arrays: stored in a model file beside the weights of the network, and evaluated without pickle."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from deepergcn.data.dataset import Dataset
from deepergcn.data.descriptors import descriptor_values
from deepergcn.data.task import Task
from deepergcn.errors import InputError
from deepergcn.runs.model.calibration import Calibration
from deepergcn.runs.model.trees import add_leaves

PREFIX = "forest."
"""How the names of its tensors begin in a model file."""

_DTYPES = {
    "feature": torch.int32,
    "threshold": torch.float32,
    "right": torch.int32,
    "value": torch.float64,
    "roots": torch.int64,
    "fill": torch.float32,
    "class_weight": torch.float64,
}
_MATRICES = ("value", "roots", "class_weight")
Array = npt.NDArray[np.float64]

_ROWS = 4096  # at a time, each with as many floats as there are descriptors


@dataclass(frozen=True, eq=False)
class Forest:
    """Random forests, of which every target has one; the classes of a multi-class task share one.

    The nodes of all trees lie end to end, each before those below it: the left child of a node is the next one.

    Attributes:
        feature: int32 [nodes], the descriptor that a node asks for; -1 at a leaf.
        threshold: float32 [nodes]; descriptors above it go to the right child.
        right: int32 [nodes], the number of the right child.
        value: float64 [nodes, width], what a leaf says: the probability of every class of a multi-class task, else one
            number, the probability of the positive class or the target itself.
        roots: int64 [targets, trees], the number of the first node of every tree.
        fill: float32 [descriptors], what stands for an unknown descriptor: its mean in the train part.
        class_weight: float64 [targets, width], the weight of every class of a multi-class task when the trees were
            grown, otherwise that of the positive class beside 1 of the negative; 1 for numbers.
        calibration: from :meth:`log_odds` to those of calibrated probabilities; None where probabilities are taken as
            the trees say them.
    """

    feature: Tensor
    threshold: Tensor
    right: Tensor
    value: Tensor
    roots: Tensor
    fill: Tensor
    class_weight: Tensor
    calibration: Calibration | None = None

    @property
    def trees(self) -> int:
        """The number of trees of a target."""
        return self.roots.shape[1]

    def tensors(self) -> dict[str, Tensor]:
        """The arrays by their names in a model file."""
        return {f"{PREFIX}{name}": getattr(self, name) for name in _DTYPES}

    @classmethod
    def from_tensors(
        cls, tensors: Mapping[str, Tensor], task: Task, origin: str, calibration: Calibration | None = None
    ) -> "Forest":
        """The forest of these arrays; what could not have been fitted to such a task is refused."""
        arrays: dict[str, Tensor] = {}
        for name, dtype in _DTYPES.items():
            found = tensors.get(f"{PREFIX}{name}")
            if name == "class_weight" and found is None:  # a file of before there were weights
                found = torch.ones(len(arrays["roots"]), arrays["value"].shape[1], dtype=dtype)
            dimensions = 2 if name in _MATRICES else 1
            if found is None or found.dtype != dtype or found.dim() != dimensions or not found.numel():
                raise InputError(f"{origin}: {PREFIX}{name} is damaged; expected {dtype} of {dimensions} dimensions")
            if found.is_floating_point() and not bool(found.isfinite().all()):
                raise InputError(f"{origin}: {PREFIX}{name} has values that are not finite")
            arrays[name] = found
        forest = cls(**arrays, calibration=calibration)
        forest._check(task, origin)
        return forest

    def __call__(self, dataset: Dataset, items: Tensor) -> Tensor:
        """float64 [items, outputs]: what the trees say about these graphs, on average; see :func:`unweighted`."""
        if self.calibration is None:
            return self._of_items(dataset, items, unweighted)
        outputs = self.calibration(self.log_odds(dataset, items))
        return outputs.sigmoid() if self.value.shape[1] == 1 else outputs.softmax(1)

    def log_odds(self, dataset: Dataset, items: Tensor) -> Tensor:
        """float64 [items, outputs]: the log-odds of positive classes, or the logarithms of probabilities of classes.

        They are finite: to what the trees say, half a tree is added for every class.
        """

        def finite(shares: Array, weight: Array) -> Array:
            classes = max(shares.shape[1], 2)
            return unweighted((shares * self.trees + 0.5) / (self.trees + classes / 2), weight)

        found = self._of_items(dataset, items, finite)
        return found.logit() if self.value.shape[1] == 1 else found.log()

    def outputs(self, task: Task, dataset: Dataset, items: Tensor) -> Tensor:
        """float64 [items, outputs]: calibrated :meth:`log_odds`, or the numbers of a regression."""
        if task.kind == "regression":
            return self(dataset, items)
        found = self.log_odds(dataset, items)
        return found if self.calibration is None else self.calibration(found)

    def _of_items(self, dataset: Dataset, items: Tensor, corrected: Callable[[Array, Array], Array]) -> Tensor:
        found = [self._of_rows(dataset, rows, corrected) for rows in items.split(_ROWS)]
        return torch.cat(found) if found else self.value.new_zeros(0, self._outputs)

    @property
    def _outputs(self) -> int:
        return self.value.shape[1] * len(self.roots)

    def _of_rows(self, dataset: Dataset, rows: Tensor, corrected: Callable[[Array, Array], Array]) -> Tensor:
        values = filled(dataset, rows, self.fill)
        targets = [
            corrected(self._mean(values, roots), weight)
            for roots, weight in zip(self.roots.numpy(), self.class_weight.numpy(), strict=True)
        ]
        return torch.from_numpy(np.concatenate(targets, axis=1))

    def _mean(self, values: npt.NDArray[np.float32], roots: npt.NDArray[np.int64]) -> Array:
        total = np.zeros((len(values), self.value.shape[1]))
        feature, threshold, right, value = (a.numpy() for a in (self.feature, self.threshold, self.right, self.value))
        add_leaves(values, feature, threshold, right, value, roots, total)
        return total / len(roots)

    def _check(self, task: Task, origin: str) -> None:
        nodes = len(self.feature)
        inner = (self.feature >= 0).nonzero()[:, 0]
        sizes = len(self.threshold) == len(self.right) == len(self.value) == nodes
        # A child comes after its parent, so that every walk ends.
        if not (
            sizes
            and self._outputs == task.outputs
            and (self.value.shape[1] == 1 or task.kind == "multi-class")
            and self.class_weight.shape == (len(self.roots), self.value.shape[1])
            and bool((self.class_weight > 0).all())
            and int(self.feature.max()) < len(self.fill)
            and bool((inner + 1 < nodes).all())
            and bool((self.right[inner] > inner).all())
            and bool((self.right[inner] < nodes).all())
            and bool(((self.roots >= 0) & (self.roots < nodes)).all())
        ):
            raise InputError(f"{origin}: its forest is damaged, or is not one for {task.outputs} outputs")


def unweighted(shares: Array, weight: Array) -> Array:
    r"""The probabilities [items, width] at the true frequencies of classes, of those learned with weights [width].

    Labels of class c that count :math:`w_c` times are labels whose classes are :math:`w_c` times as frequent, so that
    :math:`q_c \propto w_c \, p_c` is learned instead of the probability :math:`p_c`. Hence :math:`p_c = (q_c / w_c) /
    \sum_k q_k / w_k`, and :math:`p = q / (q + w (1 - q))` where the positive class alone has a weight (Elkan, *The
    Foundations of Cost-Sensitive Learning*, 2001). The order of items by the probability of a positive class stays.
    """
    if bool((weight == 1).all()):
        return shares
    if shares.shape[1] == 1:
        return shares / (shares + weight * (1 - shares))
    fewer = shares / weight
    probabilities: Array = fewer / fewer.sum(axis=1, keepdims=True)
    return probabilities


def filled(dataset: Dataset, items: Tensor, fill: Tensor) -> npt.NDArray[np.float32]:
    """[items, descriptors] of these graphs, without gaps."""
    values = descriptor_values(dataset, items)
    if values is None or values.shape[1] != len(fill):
        found = 0 if values is None else values.shape[1]
        raise InputError(f"{dataset.name}: has {found} descriptors; the forest was trained on {len(fill)}")
    whole: npt.NDArray[np.float32] = torch.where(values.isnan(), fill, values).numpy()
    return whole
