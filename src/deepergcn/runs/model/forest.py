"""A random forest as arrays: stored in a model file beside the weights of the network, and evaluated without pickle."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from deepergcn.data.dataset import Dataset
from deepergcn.data.descriptors import descriptor_values
from deepergcn.data.task import Task
from deepergcn.errors import InputError
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
}
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
    """

    feature: Tensor
    threshold: Tensor
    right: Tensor
    value: Tensor
    roots: Tensor
    fill: Tensor

    @property
    def trees(self) -> int:
        """The number of trees of a target."""
        return self.roots.shape[1]

    def tensors(self) -> dict[str, Tensor]:
        """The arrays by their names in a model file."""
        return {f"{PREFIX}{name}": getattr(self, name) for name in _DTYPES}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], task: Task, origin: str) -> "Forest":
        """The forest of these arrays; what could not have been fitted to such a task is refused."""
        arrays = {}
        for name, dtype in _DTYPES.items():
            found = tensors.get(f"{PREFIX}{name}")
            dimensions = 2 if name in ("value", "roots") else 1
            if found is None or found.dtype != dtype or found.dim() != dimensions or not found.numel():
                raise InputError(f"{origin}: {PREFIX}{name} is damaged; expected {dtype} of {dimensions} dimensions")
            if found.is_floating_point() and not bool(found.isfinite().all()):
                raise InputError(f"{origin}: {PREFIX}{name} has values that are not finite")
            arrays[name] = found
        forest = cls(**arrays)
        forest._check(task, origin)
        return forest

    def __call__(self, dataset: Dataset, items: Tensor) -> Tensor:
        """float64 [items, outputs]: the mean of what the trees say about these graphs."""
        found = [self._of_rows(dataset, rows) for rows in items.split(_ROWS)]
        return torch.cat(found) if found else self.value.new_zeros(0, self._outputs)

    @property
    def _outputs(self) -> int:
        return self.value.shape[1] * len(self.roots)

    def _of_rows(self, dataset: Dataset, rows: Tensor) -> Tensor:
        values = filled(dataset, rows, self.fill)
        targets = [self._mean(values, roots) for roots in self.roots.numpy()]
        return torch.from_numpy(np.concatenate(targets, axis=1))

    def _mean(self, values: npt.NDArray[np.float32], roots: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
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
            and int(self.feature.max()) < len(self.fill)
            and bool((inner + 1 < nodes).all())
            and bool((self.right[inner] > inner).all())
            and bool((self.right[inner] < nodes).all())
            and bool(((self.roots >= 0) & (self.roots < nodes)).all())
        ):
            raise InputError(f"{origin}: its forest is damaged, or is not one for {task.outputs} outputs")


def filled(dataset: Dataset, items: Tensor, fill: Tensor) -> npt.NDArray[np.float32]:
    """[items, descriptors] of these graphs, without gaps."""
    values = descriptor_values(dataset, items)
    if values is None or values.shape[1] != len(fill):
        found = 0 if values is None else values.shape[1]
        raise InputError(f"{dataset.name}: has {found} descriptors; the forest was trained on {len(fill)}")
    whole: npt.NDArray[np.float32] = torch.where(values.isnan(), fill, values).numpy()
    return whole
