"""Write datasets in OGB's layout."""

import re
from pathlib import Path

import numpy as np

from deepergcn.data.dataset import PARTS, Dataset
from deepergcn.data.ogb.description import DESCRIPTION, Description, write_description
from deepergcn.data.ogb.known import Settings
from deepergcn.data.ogb.numbers import write_numbers
from deepergcn.data.storage.files import make_folder
from deepergcn.errors import InputError

_SPLIT = "given"


def write_layout(dataset: Dataset, folder: Path) -> None:
    """Write the dataset to a new folder, atomically."""
    if dataset.task.level == "link":
        raise InputError(f"{dataset.name}: has links, which can be read from OGB's layout but not written in it")
    for part in PARTS:
        if not len(dataset.split[part]):
            raise InputError(f"{dataset.name}: the split {part!r} is empty, which OGB's layout cannot hold")
    for name in dataset.node_extra:
        if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
            raise InputError(f"{dataset.name}: node_extra {name!r} cannot be the name of a file")
    make_folder(folder, lambda place: _write(dataset, place))


def _write(dataset: Dataset, folder: Path) -> Path:
    raw, split = folder / "raw", folder / "split" / _SPLIT
    raw.mkdir(parents=True)
    split.mkdir(parents=True)
    y = dataset.y
    labels = y.numpy()
    if dataset.task.kind == "multi-class":
        labels = np.where(labels < 0, np.nan, labels.astype(np.float64))[:, None]  # float32 ends at 2^24
    tables = {
        "num-node-list": dataset.node_ptr.diff()[:, None].numpy(),
        "num-edge-list": dataset.edge_ptr.diff()[:, None].numpy(),
        "edge": dataset.edge_index.T.numpy(),
        f"{dataset.task.level}-label": labels,
    }
    if dataset.node_numbers:
        raise InputError(
            f"{dataset.name}: has numbers and categories as node features; expected it without transforms that add "
            "numbers"
        )
    if dataset.x is not None:
        tables["node-feat"] = dataset.x.numpy()
    if dataset.edge_attr is not None and dataset.num_edges:
        tables["edge-feat"] = dataset.edge_attr.numpy()
    for name, extra in dataset.node_extra.items():
        tables[f"node_{name}"] = extra[:, None].numpy()
    for name, values in tables.items():
        write_numbers(raw / f"{name}.csv.gz", values)
    for part in PARTS:
        write_numbers(split / f"{part}.csv.gz", dataset.split[part][:, None].numpy())
    settings = Settings(
        task=dataset.task,
        symmetric=dataset.symmetric,
        split=_SPLIT,
        x_categories=dataset.x_categories,
        edge_categories=dataset.edge_categories,
        label_names=dataset.label_names,
    )
    description = Description(
        name=dataset.name,
        settings=settings,
        edge_features=None if dataset.edge_attr is None else dataset.edge_attr.shape[1],
        node_extra={name: str(extra.dtype).removeprefix("torch.") for name, extra in dataset.node_extra.items()},
        ids=dataset.ids,
    )
    write_description(folder / DESCRIPTION, description)
    return folder
