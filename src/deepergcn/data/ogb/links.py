"""OGB's layout of links: ``raw/`` as for other graphs, and a ``.pt`` file for each part in ``split/<kind>/``.

Each of the three has an array ``edge`` [links, 2]; those of valid and test have ``edge_neg`` too, pairs without a link.
Messages pass over the edges in ``raw/``.
"""

import logging
from dataclasses import asdict
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from deepergcn.data.dataset import PARTS, Dataset
from deepergcn.data.links.graph import node_features
from deepergcn.data.links.pairs import Ints, is_in, pair_keys
from deepergcn.data.ogb.description import DESCRIPTION, Description
from deepergcn.data.ogb.files import find_table, need_table
from deepergcn.data.ogb.known import KNOWN
from deepergcn.data.ogb.layout import MOST_EDGES, MOST_NODES, describe, read_counts, read_edges, read_features
from deepergcn.data.ogb.pt_file import read_arrays
from deepergcn.data.ogb.splits import split_folder
from deepergcn.data.storage.cache import cache_file, cached
from deepergcn.data.storage.digest import source_digest, text_digest
from deepergcn.data.task import LINK_METRICS, Metric, Task
from deepergcn.errors import InputError
from deepergcn.user_cache import real_path

_log = logging.getLogger(__name__)


def load_known_links(name: str, *, root: Path, remove_evaluated: bool = True, metric: Metric | None = None) -> Dataset:
    """Load one of OGB's datasets of links from its folder under ``root``; see :func:`load_link_layout`."""
    folder = root / KNOWN[name].folder
    if not folder.is_dir():
        raise InputError(f"{name} is not in {root}; `deepergcn datasets get {name}` downloads it")
    return load_link_layout(folder, root=root, remove_evaluated=remove_evaluated, metric=metric)


def load_link_layout(
    path: Path,
    *,
    root: Path,
    symmetric: bool | None = None,
    split: str | None = None,
    remove_evaluated: bool = True,
    metric: Metric | None = None,
) -> Dataset:
    """Load the links in a folder, from the cache under ``root`` unless one of its files has changed.

    Args:
        path: the folder.
        root: the folder of the cache.
        symmetric: whether every stored edge stands for both directions; as OGB has it, else True, if None.
        split: the folder within ``split/``; not needed where there is only one.
        remove_evaluated: whether edges that join the nodes of a valid or test link are removed. OGB keeps those of
            ogbl-collab, where two authors may work together again.
        metric: the metric; OGB's if None.
    """
    folder = real_path(path)
    description = describe(folder)
    given = {"symmetric": symmetric, "split": split}
    description = description.with_settings(**{name: value for name, value in given.items() if value is not None})
    files = _files(folder, description.settings.split)
    digest = source_digest(files, folder)
    key = text_digest(digest, asdict(description), remove_evaluated, "links")
    place = cache_file(root, description.name, str(folder), asdict(description.settings), remove_evaluated, "links")
    dataset = cached(place, key, lambda: read_link_layout(folder, description, digest, remove_evaluated))
    _say_overlap(dataset, folder, remove_evaluated)
    return dataset.with_metric(metric)


def read_link_layout(folder: Path, description: Description, digest: str, remove_evaluated: bool) -> Dataset:
    """Read all files of the folder and check every number in them."""
    settings = description.settings
    counts = read_counts(need_table(folder, "raw/num-node-list"), least=1, most=MOST_NODES)
    if len(counts) != 1:
        raise InputError(f"{folder}: has {len(counts)} graphs; a task on links has one")
    nodes = int(counts[0])
    edge_counts = read_counts(need_table(folder, "raw/num-edge-list"), least=0, most=MOST_EDGES, graphs=1)
    rows = (int(edge_counts[0]), "the sum of num-edge-list")
    edges = read_edges(need_table(folder, "raw/edge"), rows, counts, edge_counts)
    task = settings.task or Task("link", "binary", 1, LINK_METRICS[0])
    if task.level != "link":
        raise InputError(f"{folder}: has links; expected a task on links, not on {task.level}s")
    x = read_features(find_table(folder, "raw/node-feat"), (nodes, "the sum of num-node-list"), settings.x_categories)
    x_categories = settings.x_categories
    if x is None:
        x, x_categories = node_features(None, None, nodes)
    pairs, labels, split = _pairs(split_folder(folder, settings.split), nodes)
    if remove_evaluated:
        evaluated = _evaluated(pairs, labels, split, nodes)
        edges = edges[:, torch.from_numpy(~is_in(pair_keys(edges.numpy(), nodes), evaluated))]
    return Dataset(
        name=description.name,
        task=task,
        node_ptr=torch.tensor([0, nodes]),
        edge_ptr=torch.tensor([0, edges.shape[1]]),
        edge_index=edges,
        symmetric=settings.symmetric,
        x=x,
        x_categories=x_categories,
        y=torch.from_numpy(labels)[:, None],
        split={part: torch.from_numpy(index) for part, index in split.items()},
        label_names=settings.label_names or ("link",),
        pairs=torch.from_numpy(pairs),
        digest=digest,
    )


def _files(folder: Path, kind: str | None) -> list[Path]:
    needed = [need_table(folder, f"raw/{name}") for name in ("num-node-list", "num-edge-list", "edge")]
    optional = [find_table(folder, "raw/node-feat"), folder / DESCRIPTION]
    split = split_folder(folder, kind)
    parts = [split / f"{part}.pt" for part in PARTS]
    for file in parts:
        if not file.is_file():
            raise InputError(f"{split}: has no {file.name}, which OGB's layout of links needs")
    return [*needed, *(file for file in optional if file is not None and file.is_file()), *parts]


def _pairs(folder: Path, nodes: int) -> tuple[Ints, npt.NDArray[np.float32], dict[str, Ints]]:
    """The links and the pairs without one of all parts, [2, items], their labels, and the items of each part."""
    found, labels, split, start = [], [], {}, 0
    for part in PARTS:
        path = folder / f"{part}.pt"
        arrays = read_arrays(path)
        items = 0
        for name, label in (("edge", 1.0), ("edge_neg", 0.0)) if part != "train" else (("edge", 1.0),):
            pairs = _checked(path, name, arrays, nodes)
            found.append(pairs.T)
            labels.append(np.full(len(pairs), label, dtype=np.float32))
            items += len(pairs)
        split[part] = np.arange(start, start + items)
        start += items
    return np.ascontiguousarray(np.concatenate(found, axis=1)), np.concatenate(labels), split


def _checked(path: Path, name: str, arrays: dict[str, Ints], nodes: int) -> Ints:
    """The pairs [pairs, 2] of this name."""
    pairs = arrays.get(name)
    if pairs is None:
        raise InputError(f"{path}: has no array {name!r} of whole numbers; its arrays: {', '.join(arrays) or 'none'}")
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not len(pairs):
        raise InputError(f"{path}: the array {name!r} has the shape {list(pairs.shape)}; expected [pairs, 2]")
    outside = np.flatnonzero(((pairs < 0) | (pairs >= nodes)).any(1))
    if len(outside):
        row = int(outside[0])
        raise InputError(f"{path}: {name} {row} joins nodes {pairs[row].tolist()}; expected 0 to {nodes - 1}")
    return pairs


def _evaluated(pairs: Ints, labels: npt.NDArray[np.float32], split: dict[str, Ints], nodes: int) -> Ints:
    """The keys of the links of valid and test, sorted."""
    items = np.concatenate((split["valid"], split["test"]))
    return np.unique(pair_keys(pairs[:, items[labels[items] == 1]], nodes))


def _say_overlap(dataset: Dataset, folder: Path, removed: bool) -> None:
    """Say what became of edges that join the nodes of valid and test links."""
    assert dataset.pairs is not None
    split = {part: index.numpy() for part, index in dataset.split.items()}
    evaluated = _evaluated(dataset.pairs.numpy(), dataset.y[:, 0].numpy(), split, dataset.num_nodes)
    if removed:
        published = read_counts(need_table(folder, "raw/num-edge-list"), least=0, most=MOST_EDGES)
        count = int(published[0]) - dataset.num_edges
        _log.warning("%s: %d edges that join a valid or test link were removed from the messages", dataset.name, count)
        return
    shared = is_in(pair_keys(dataset.edge_index.numpy(), dataset.num_nodes), evaluated)
    _log.warning(
        "%s: %d edges that join a valid or test link stay among the messages, as OGB publishes them",
        dataset.name,
        int(shared.sum()),
    )
