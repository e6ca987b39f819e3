"""What the pairs of nodes of a dataset must be, where its task is about links."""

from typing import TYPE_CHECKING

import torch

from deepergcn.errors import InputError

if TYPE_CHECKING:
    from deepergcn.data.dataset import Dataset


def check_pairs(dataset: "Dataset") -> None:
    """Check that a dataset has pairs if and only if its task labels them, and that their node numbers are valid."""
    pairs, level = dataset.pairs, dataset.task.level
    if (pairs is None) != (level != "link"):
        found = "no pairs" if pairs is None else "pairs"
        raise InputError(
            f"dataset {dataset.name}: has {found} and a task on {level}s; expected pairs for a task on links only"
        )
    if dataset.node_ids and len(dataset.node_ids) != dataset.num_nodes:
        raise InputError(
            f"dataset field node_ids has {len(dataset.node_ids)} ids; expected {dataset.num_nodes}, one for each node"
        )
    if pairs is None:
        return
    if len(dataset) != 1:
        raise InputError(f"dataset {dataset.name}: has {len(dataset)} graphs; a task on links has one")
    if pairs.dtype != torch.int64 or pairs.ndim != 2 or len(pairs) != 2 or not pairs.shape[1]:
        raise InputError(
            f"dataset field pairs has {pairs.dtype} {list(pairs.shape)}; expected int64 [2, items] with at least one"
        )
    low, high = pairs.aminmax()
    if int(low) < 0 or int(high) >= dataset.num_nodes:
        raise InputError(
            f"dataset field pairs has numbers from {int(low)} to {int(high)}; expected 0 to {dataset.num_nodes - 1}"
        )


def check_link_parts(dataset: "Dataset") -> None:
    """Check that train has links only, and that the others have the pairs that their metric ranks links among."""
    if dataset.pairs is None:
        return
    if not bool((dataset.y[dataset.split["train"]] == 1).all()):
        raise InputError(
            f"dataset {dataset.name}: train has pairs without a link; expected links, since training draws the others"
        )
    name, _, number = dataset.task.metric.partition("@")
    if name != "hits":
        return
    for part in ("valid", "test"):
        labels = dataset.y[dataset.split[part]]
        negatives = int((labels == 0).sum())
        if bool((labels == 1).any()) and negatives < int(number):
            raise InputError(
                f"{dataset.name}: metric {dataset.task.metric} needs at least {number} pairs without a link; "
                f"{part} has {negatives}; expected another metric, or more negatives"
            )
