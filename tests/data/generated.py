"""Any dataset, drawn at random: every kind of task, of features and of shape."""

from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st

from deepergcn.data import Dataset, Task
from deepergcn.data.task import METRICS, Kind, Level

KINDS: tuple[Kind, ...] = ("binary", "multi-label", "multi-class", "regression")
LEVELS: tuple[Level, ...] = ("node", "graph")


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    """Datasets of 1 to 5 graphs, with at least three items, so that every part of the split has one."""
    level: Level = draw(st.sampled_from(LEVELS))
    kind: Kind = draw(st.sampled_from(KINDS))
    graphs = draw(st.integers(3 if level == "graph" else 1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    num_nodes = rng.integers(1 if level == "graph" else 3, 7, graphs)
    num_edges = rng.integers(0, 9, graphs) * draw(st.booleans())
    nodes, edges = int(num_nodes.sum()), int(num_edges.sum())
    items = nodes if level == "node" else graphs
    outputs = {"binary": 1, "multi-label": 3, "multi-class": 4, "regression": 2}[kind]
    features = draw(st.sampled_from(("none", "numbers", "categories", "many categories")))
    edge_features = draw(st.sampled_from(("none", "numbers", "categories")))
    x, x_categories = _features(rng, features, nodes)
    edge_attr, edge_categories = _features(rng, edge_features, edges)
    return Dataset(
        name=draw(st.text(min_size=1, max_size=5)),
        task=Task(level, kind, outputs, draw(st.sampled_from(METRICS[kind]))),
        node_ptr=_pointers(num_nodes),
        edge_ptr=_pointers(num_edges),
        edge_index=torch.from_numpy(
            rng.integers(0, np.repeat(num_nodes, num_edges), (2, edges)).astype(np.int32),
        ),
        symmetric=draw(st.booleans()),
        x=x,
        x_categories=x_categories,
        edge_attr=edge_attr,
        edge_categories=edge_categories,
        y=_labels(rng, kind, items, outputs),
        split=_split(rng, items),
        node_extra=_extra(rng, nodes) if draw(st.booleans()) else {},
        label_names=draw(st.sampled_from(((), tuple(f"label {i}" for i in range(outputs))))),
        ids=draw(st.sampled_from(((), tuple(f"item,{i}\n" for i in range(items))))),
        digest="generated",
    )


def _pointers(counts: Any) -> torch.Tensor:
    return torch.from_numpy(np.concatenate(([0], np.cumsum(counts))))


def _any_float32(rng: np.random.Generator, shape: tuple[int, ...]) -> torch.Tensor:
    """Any finite bit pattern: subnormal, negative zero and the largest included."""
    values = rng.integers(0, 2**32, shape, dtype=np.uint32).view(np.float32)
    return torch.from_numpy(np.where(np.isfinite(values), values, np.float32(-0.0)))


def _features(rng: np.random.Generator, kind: str, rows: int) -> tuple[torch.Tensor | None, tuple[int, ...] | None]:
    if kind == "none":
        return None, None
    if kind == "numbers":
        return _any_float32(rng, (rows, 2)), None
    categories = (2, 119, 256) if kind == "categories" else (2, 100_000, 256)
    dtype = np.uint8 if kind == "categories" else np.int64
    return torch.from_numpy(rng.integers(0, categories, (rows, 3)).astype(dtype)), categories


def _labels(rng: np.random.Generator, kind: Kind, items: int, outputs: int) -> torch.Tensor:
    if kind == "multi-class":
        return torch.from_numpy(rng.integers(-1, outputs, items))
    values = _any_float32(rng, (items, outputs))
    if kind != "regression":
        values = (values > 0).float()
    values[torch.from_numpy(rng.random((items, outputs)) < 0.2)] = float("nan")
    return values


def _split(rng: np.random.Generator, items: int) -> dict[str, torch.Tensor]:
    order = torch.from_numpy(rng.permutation(items))
    first, second = sorted(rng.choice(np.arange(1, items), 2, replace=False).tolist())
    end = int(rng.integers(second + 1, items + 1))
    return {"train": order[:first], "valid": order[first:second], "test": order[second:end]}


def _extra(rng: np.random.Generator, nodes: int) -> dict[str, torch.Tensor]:
    return {
        "year": torch.from_numpy(rng.integers(-(2**62), 2**62, nodes)),
        "weight": torch.from_numpy(rng.integers(0, 5, nodes).astype(np.float32)),
    }
