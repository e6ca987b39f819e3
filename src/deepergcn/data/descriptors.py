"""Numbers about whole graphs beside their nodes and edges, such as the fingerprints of molecules."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from deepergcn.errors import InputError

if TYPE_CHECKING:
    from deepergcn.data.dataset import Dataset


def check_descriptors(dataset: "Dataset") -> None:
    """Check the fields ``fingerprints`` and ``descriptors`` of a dataset."""
    for name, values, dtype in (
        ("fingerprints", dataset.fingerprints, torch.uint8),
        ("descriptors", dataset.descriptors, torch.float32),
    ):
        if values is None:
            continue
        if dataset.task.level != "graph":
            raise InputError(
                f"dataset field {name} describes whole graphs; expected a task on graphs, not on {dataset.task.level}s"
            )
        if values.dtype != dtype or values.ndim != 2 or len(values) != len(dataset) or values.shape[1] < 1:
            raise InputError(
                f"dataset field {name} has {values.dtype} {list(values.shape)}; expected {dtype} "
                f"[{len(dataset)}, at least 1]"
            )
        if dtype == torch.float32 and bool(values.isinf().any()):
            raise InputError(f"dataset field {name} has an infinite value; expected numbers, or NaN where unknown")


def descriptor_values(dataset: "Dataset", graphs: Tensor) -> Tensor | None:
    """float32 [graphs, counts + numbers]: the fingerprints of these graphs, then their descriptors; None without any.

    Numbers are NaN where they are unknown.
    """
    found = [values[graphs].float() for values in (dataset.fingerprints, dataset.descriptors) if values is not None]
    return torch.cat(found, dim=1) if found else None
