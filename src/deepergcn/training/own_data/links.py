"""A user's own links, with tables of nodes and edges where there are any."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deepergcn.data.dataset import PARTS, Dataset
from deepergcn.data.links.read import read_links
from deepergcn.data.provenance import LinkProvenance
from deepergcn.data.tables.columns import Columns, read_columns
from deepergcn.data.tables.kinds import class_names, number_name
from deepergcn.data.tables.positive import is_meaningful, positive_last
from deepergcn.errors import InputError
from deepergcn.recipes.schema import DataSection
from deepergcn.runs.data_report import Column, DataReport, SplitReport
from deepergcn.training.own_data.cautions import alike_ids
from deepergcn.training.own_data.choices import Choices
from deepergcn.training.own_data.columns import default_column, usable_features
from deepergcn.training.own_data.found import OwnData, own_data
from deepergcn.training.own_data.report import feature_columns
from deepergcn.training.own_data.split_choice import own_split, split_columns
from deepergcn.user_cache import real_path

_STEPS = 8  # of an epoch: each hides its own links from the messages, so that one step would hide all
_LINKS_IN_STEP = 1 << 16  # at most
_LABEL_NAMES = {"label", "labels", "link", "is_link", "linked", "edge", "is_edge", "exists", "y", "class", "positive"}


def own_links(
    links: str | Path,
    nodes: str | Path | None = None,
    edges: str | Path | None = None,
    *,
    id_column: str = "id",
    source_column: str = "source",
    target_column: str = "target",
    split: str | None = None,
    directed: bool = False,
    negatives: int = 1,
    metrics: Sequence[str] = (),
    root: str | Path | None = None,
) -> OwnData:
    """The settings that turn the recipe ``own-links`` into one for these tables, and the dataset in them.

    The report says what was found, and what was removed from the messages.

    Args:
        links: The table of links; see :func:`deepergcn.data.read_links` for this and the other arguments.
        nodes: The table of nodes.
        edges: The table of edges that messages pass over; the train links without one.
        id_column: The column of ``nodes`` with a name for every node.
        source_column: The column of ``links`` and ``edges`` with the name of one end.
        target_column: The column of the other end.
        split: ``"random"``, or the column of ``links`` with train, valid or test; if not given, the column
            "split" if there is one, else ``"random"``.
        directed: Whether messages go from source to target only.
        negatives: The number of pairs without a link for every link of valid and test.
        metrics: The metrics, the first of which chooses the epoch; ROC-AUC when not given.
        root: The folder of the cache.
    """
    tables = {name: read_columns(Path(file)) for name, file in _given(links=links, nodes=nodes, edges=edges).items()}
    source_column, target_column = (default_column(tables["links"], name) for name in (source_column, target_column))
    ends = {source_column, target_column}
    named, reason = Choices(metrics=metrics).metric_names("binary", "link")
    split = split or (own_split(tables["links"]) or ["random"])[0]
    dropped = _not_used(tables["links"], {*ends, split})
    options: dict[str, Any] = {
        "id_column": id_column,
        "source_column": source_column,
        "target_column": target_column,
        "features": _features(tables.get("nodes"), {id_column}, dropped),
        "edge_features": _features(tables.get("edges"), ends, dropped, "edge "),
        "standardize": True,
        "negatives": negatives,
        **({} if split == "random" else {"split_column": split}),
        **({"directed": True} if directed else {}),
        "metric": named[0],
    }
    dataset = read_links(tables["links"], tables.get("nodes"), tables.get("edges"), root=root, **options)
    for part in PARTS:
        if not len(dataset.split[part]):
            count = sum(int((dataset.y[index] == 1).sum()) for index in dataset.split.values())
            raise InputError(f"{links}: has {count} links, which leaves none for {part}; expected at least 10")
    counts = {part: int((dataset.y[dataset.split[part]] == 1).sum()) for part in PARTS}
    known = dataset.provenance
    assert isinstance(known, LinkProvenance)
    columns = (
        *feature_columns(tables.get("nodes"), known.features or ()),
        *feature_columns(tables.get("edges"), known.edge_features, "edge "),
    )
    report = DataReport(
        files=tuple(table.path.name for table in tables.values()),
        rows=len(tables["links"]),
        task="binary",
        targets=(),
        split=SplitReport(source="random" if split == "random" else f"column {split!r}", sizes=counts),
        metrics=named,
        metric_reason=reason,
        features=columns,
        dropped=tuple(dropped),
        notes=tuple(findings(dataset)),
        cautions=alike_ids(dataset.node_ids),
    )
    data = DataSection(
        source=str(real_path(links)),
        reader="links",
        nodes=None if nodes is None else str(real_path(nodes)),
        edges=None if edges is None else str(real_path(edges)),
        options=options,
    )
    size = min(math.ceil(len(dataset.split["train"]) / _STEPS), _LINKS_IN_STEP)
    return own_data(data, dataset, {"training.batch_size": size, "evaluation.metrics": list(named)}, report)


def findings(dataset: Dataset) -> list[str]:
    """What was found in the tables, and what was removed from the messages, a line each."""
    known = dataset.provenance
    assert isinstance(known, LinkProvenance)
    links = {part: int((dataset.y[dataset.split[part]] == 1).sum()) for part in PARTS}
    others = [int((dataset.y[dataset.split[part]] == 0).sum()) for part in ("valid", "test")]
    lines = [
        f"{sum(links.values())} links between {dataset.num_nodes} nodes; {others[0]} and {others[1]} pairs without a "
        "link drawn to score valid and test"
    ]
    if known.repeated:
        lines.append(f"repeated rows, counted once: {known.repeated}")
    if known.from_edges:
        over = f"the {dataset.num_edges} edges ({known.removed} that join a valid or test link were removed)"
    else:
        over = f"the {links['train']} train links alone"
    lines.append(f"messages pass over {over}; each training step hides its own links from them")
    if known.features is None:
        lines.append("nodes have no features: each has a learned embedding")
    return lines


def _given(**tables: str | Path | None) -> dict[str, str | Path]:
    return {name: file for name, file in tables.items() if file is not None}


def _not_used(links: Columns, used: set[str]) -> list[Column]:
    """The columns of links that have no role; one that says of some rows that they are no links is an error."""
    others = [name for name in links.names if name not in used]
    for name in others:
        classes = class_names(links, name) if name.lower() in _LABEL_NAMES else ()
        if len(classes) == 2 and is_meaningful(pair := positive_last(classes)):
            number = links.is_numeric(name)
            cells = links.labels(name).drop_null().unique().to_pylist()
            cell = next(cell for cell in cells if (number_name(cell) if number else cell) == pair[0])
            raise InputError(
                f"{links.path}: column {name!r} has {links.where(name, cell)}, which may mean that the row is no "
                "link; expected links only (pairs without one are drawn at random), and no such column"
            )
    return [Column(name=f"link {name}", text="links have no features") for name in others]


def _features(table: Columns | None, taken: set[str], dropped: list[Column], of: str = "") -> list[str]:
    """The columns that are features; those that are not are added to ``dropped``, with the reason."""
    if table is None:
        return []
    usable, left_out = usable_features(table, taken | set(split_columns(table)))
    dropped += [Column(name=f"{of}{column.name}", text=column.text) for column in left_out]
    return usable
