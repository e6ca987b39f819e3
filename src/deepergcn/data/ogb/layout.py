"""OGB's layout: a folder of gzipped CSV files without headers.

``raw/`` holds ``num-node-list``, ``num-edge-list`` (one row per graph), ``edge`` (source, target), ``node-feat``
and ``edge-feat`` (both optional), ``node-label`` or ``graph-label``, and extra node columns as ``node_<name>``;
``split/<kind>/`` holds ``train``, ``valid`` and ``test``, and ``folds/`` a table of further splits. All end in
``.csv.gz`` (or ``.csv``). An optional ``dataset.json`` beside them says what the files do not.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deepergcn.data.dataset import Dataset
from deepergcn.data.ogb.description import DESCRIPTION, Description, read_description
from deepergcn.data.ogb.descriptors import with_descriptors
from deepergcn.data.ogb.files import SUFFIXES, find_table, need_table
from deepergcn.data.ogb.known import KNOWN, Settings
from deepergcn.data.ogb.labels import infer_task, targets
from deepergcn.data.ogb.numbers import Numbers, read_numbers
from deepergcn.data.ogb.splits import read_split, split_files
from deepergcn.data.storage.cache import cache_file, cached
from deepergcn.data.storage.digest import source_digest, text_digest
from deepergcn.data.storage.source_files import check_file
from deepergcn.data.task import Level, Task
from deepergcn.errors import InputError
from deepergcn.user_cache import real_path

MOST_NODES = (1 << 31) - 1  # edges hold node numbers as int32
MOST_EDGES = 1 << 40


def load_known(name: str, *, root: Path, descriptors: Sequence[str] = ()) -> Dataset:
    """Load one of OGB's datasets from its folder under ``root``; ``descriptors`` are those of molecules."""
    folder = root / KNOWN[name].folder
    if not folder.is_dir():
        raise InputError(f"{name} is not in {root}; `deepergcn datasets get {name}` downloads it")
    return load_layout(folder, root=root, descriptors=descriptors)


def load_layout(
    path: Path,
    *,
    root: Path,
    task: Task | None = None,
    symmetric: bool | None = None,
    split: str | None = None,
    x_categories: tuple[int, ...] | None = None,
    edge_categories: tuple[int, ...] | None = None,
    descriptors: Sequence[str] = (),
) -> Dataset:
    """Load the dataset in a folder, from the cache under ``root`` unless a file has changed.

    Settings that are not given come from the folder's ``dataset.json``, else from OGB's settings if the folder has the
    name of one of its datasets, else from the defaults of :class:`Settings`. The ``descriptors`` of molecules, as for
    :func:`deepergcn.data.read_molecules`, are made from the SMILES in ``mapping/mol.csv.gz``.
    """
    folder = real_path(path)
    description = describe(folder)
    given = {
        "task": task,
        "symmetric": symmetric,
        "split": split,
        "x_categories": x_categories,
        "edge_categories": edge_categories,
    }
    description = description.with_settings(**{name: value for name, value in given.items() if value is not None})
    files = _files(folder, description.settings)
    digest = source_digest(files, folder)
    key = text_digest(digest, asdict(description))
    place = cache_file(root, description.name, str(folder), asdict(description.settings))
    dataset = cached(place, key, lambda: read_layout(folder, description, digest))
    return with_descriptors(dataset, folder, descriptors, root) if descriptors else dataset


def read_layout(folder: Path, description: Description, digest: str) -> Dataset:
    """Read all files of the folder and check every number."""
    settings = description.settings
    num_nodes = read_counts(need_table(folder, "raw/num-node-list"), least=1, most=MOST_NODES)
    edge_list = need_table(folder, "raw/num-edge-list")
    num_edges = read_counts(edge_list, least=0, most=MOST_EDGES, graphs=len(num_nodes))
    edge_count = int(num_edges.sum())
    nodes = (int(num_nodes.sum()), "the sum of num-node-list")
    edges = (edge_count, "the sum of num-edge-list")

    level, labels_path = _labels(folder)
    items = nodes if level == "node" else (len(num_nodes), "one for each graph")
    values = read_numbers(labels_path, np.float64, rows=items[0], why=items[1], missing=True)
    task = settings.task or infer_task(values, level, labels_path)
    if task.level != level:
        raise InputError(f"{labels_path}: has labels of {level}s; expected labels of {task.level}s, as the task says")

    return Dataset(
        name=description.name,
        task=task,
        node_ptr=pointers(num_nodes),
        edge_ptr=pointers(num_edges),
        edge_index=read_edges(need_table(folder, "raw/edge"), edges, num_nodes, num_edges),
        symmetric=settings.symmetric,
        x=read_features(find_table(folder, "raw/node-feat"), nodes, settings.x_categories),
        x_categories=settings.x_categories,
        edge_attr=read_features(
            find_table(folder, "raw/edge-feat"), edges, settings.edge_categories, description.edge_features
        ),
        edge_categories=settings.edge_categories,
        y=targets(values, task, labels_path),
        split=read_split(folder, settings.split, items[0], level),
        node_extra={
            name: _extra(path, nodes, description.node_extra.get(name)) for name, path in _extras(folder).items()
        },
        label_names=settings.label_names,
        ids=description.ids,
        digest=digest,
    )


def describe(folder: Path) -> Description:
    if (folder / DESCRIPTION).is_file():
        return read_description(folder / DESCRIPTION)
    for known in KNOWN.values():
        if known.folder == folder.name:
            return Description(name=known.name, settings=known.settings)
    return Description(name=folder.name, settings=Settings())


def _files(folder: Path, settings: Settings) -> list[Path]:
    """All files of the dataset."""
    needed = [need_table(folder, f"raw/{name}") for name in ("num-node-list", "num-edge-list", "edge")]
    optional = [find_table(folder, f"raw/{name}") for name in ("node-feat", "edge-feat")]
    description = folder / DESCRIPTION
    return [
        *needed,
        *(path for path in optional if path is not None),
        _labels(folder)[1],
        *split_files(folder, settings.split),
        *_extras(folder).values(),
        *([description] if description.is_file() else []),
    ]


def _labels(folder: Path) -> tuple[Level, Path]:
    levels: tuple[Level, ...] = ("node", "graph")
    found = [(level, path) for level in levels if (path := find_table(folder, f"raw/{level}-label")) is not None]
    if len(found) != 1:
        raise InputError(
            f"{folder}: has {'both' if found else 'neither'} raw/node-label.csv.gz {'and' if found else 'nor'} "
            "raw/graph-label.csv.gz; expected one of them"
        )
    return found[0]


def _extras(folder: Path) -> dict[str, Path]:
    """The extra node columns by name."""
    extras = {
        path.name.removesuffix(suffix).removeprefix("node_"): path
        for suffix in reversed(SUFFIXES)
        for path in sorted(folder.glob(f"raw/node_*{suffix}"))
    }
    for path in extras.values():
        check_file(path)
    return extras


def read_counts(path: Path, *, least: int, most: int, graphs: int | None = None) -> Numbers:
    counts = read_numbers(path, np.int64, rows=graphs, why="one for each row of num-node-list", columns=1)[:, 0]
    wrong = np.flatnonzero(counts < least)
    if len(wrong):
        raise InputError(f"{path}, row {wrong[0] + 1}: the count is {counts[wrong[0]]}; expected at least {least}")
    total = np.cumsum(counts, dtype=np.float64)  # which does not overflow
    if total[-1] > most:
        row = int((total > most).argmax())
        raise InputError(f"{path}, row {row + 1}: the counts add up to {int(total[row])}; expected at most {most}")
    return counts


def pointers(counts: Numbers) -> Tensor:
    return torch.from_numpy(np.concatenate(([0], np.cumsum(counts))))


def read_edges(path: Path, rows: tuple[int, str], num_nodes: Numbers, num_edges: Numbers) -> Tensor:
    edges = read_numbers(path, np.int32, rows=rows[0], why=rows[1], columns=2)
    limits = num_nodes.astype(np.int32)
    limit = limits[0] if len(limits) == 1 else np.repeat(limits, num_edges)[:, None]
    if len(edges) and (int(edges.min()) < 0 or bool((edges >= limit).any())):
        row, column = np.argwhere((edges < 0) | (edges >= limit))[0]
        graph = int(np.searchsorted(np.cumsum(num_edges), row, side="right"))
        raise InputError(
            f"{path}, row {row + 1}: the edge names node {edges[row, column]}; "
            f"graph {graph} has nodes 0 to {num_nodes[graph] - 1}"
        )
    return torch.from_numpy(np.ascontiguousarray(edges.T))


def read_features(
    path: Path | None, rows: tuple[int, str], categories: tuple[int, ...] | None, columns: int | None = None
) -> Tensor | None:
    if path is None:
        if rows[0] == 0 and columns is not None:
            return torch.zeros(0, columns, dtype=torch.float32 if categories is None else torch.uint8)
        return None
    if categories is None:
        values = read_numbers(path, np.float32, rows=rows[0], why=rows[1], columns=columns)
        if len(values) and not np.isfinite((values.min(), values.max())).all():
            row, column = np.argwhere(~np.isfinite(values))[0]
            raise InputError(
                f"{path}, row {row + 1}, column {column + 1}: has {values[row, column]}; expected a finite number"
            )
        return torch.from_numpy(values)
    dtype = np.uint8 if max(categories) <= 256 else np.int64
    values = read_numbers(path, dtype, rows=rows[0], why=rows[1], columns=len(categories))
    for column, count in enumerate(categories):
        wrong = np.flatnonzero((values[:, column] < 0) | (values[:, column] >= count))
        if len(wrong):
            found = values[wrong[0], column]
            raise InputError(
                f"{path}, row {wrong[0] + 1}, column {column + 1}: has {found}; expected a category 0 to {count - 1}"
            )
    return torch.from_numpy(values)


def _extra(path: Path, rows: tuple[int, str], dtype: str | None) -> Tensor:
    options: dict[str, Any] = {"rows": rows[0], "why": rows[1], "columns": 1}
    if dtype != "float32":
        try:
            return torch.from_numpy(read_numbers(path, np.int64, **options)[:, 0].copy())
        except InputError:
            if dtype is not None:
                raise
    return torch.from_numpy(read_numbers(path, np.float32, missing=True, **options)[:, 0].copy())
