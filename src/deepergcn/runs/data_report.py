"""``data.json``: what was found in a user's own files before training, and how it is used."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, NonNegativeInt

from deepergcn.data.provenance import EdgeCounts, MoleculeCounts
from deepergcn.data.tables.columns import GAPS
from deepergcn.data.task import Kind
from deepergcn.errors import quote

_MOST = 8  # names in a line; data.json has all


class _Report(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class TargetReport(_Report):
    """A column to predict.

    Attributes:
        name: the name of the column.
        kind: the kind of a task with this target alone.
        reason: why it is of this kind.
        classes: the classes and their counts; empty for numbers.
        positive: the positive one of two classes.
        positive_reason: why this class is the positive one.
        lowest, highest, mean: the range and the mean of numbers.
        missing: the number of rows without a label.
        missing_texts: the different texts in these rows that mark a missing label.
    """

    name: str
    kind: Kind
    reason: str
    classes: dict[str, NonNegativeInt] = {}
    positive: str | None = None
    positive_reason: str = ""
    lowest: float | None = None
    highest: float | None = None
    mean: float | None = None
    missing: NonNegativeInt = 0
    missing_texts: tuple[str, ...] = ()


class SplitReport(_Report):
    """The split.

    Attributes:
        source: where it comes from.
        sizes: the sizes of its parts.
        classes: the classes of the first target in each.
        unused: the number of rows with a label that are in no part.
    """

    source: str
    sizes: dict[str, NonNegativeInt]
    classes: dict[str, dict[str, NonNegativeInt]] = {}
    unused: NonNegativeInt = 0


class Column(_Report):
    """A column, and how it is used or why it is not."""

    name: str
    text: str


class GraphReport(_Report):
    """A graph of tables.

    Attributes:
        nodes, isolated: the number of nodes, and of those without an edge.
        edges: what was found in the table of edges.
        directed: whether edges go one way.
        partitions: the number of partitions in training.
        edges_seen: the expected share of the edges in a training step.
    """

    nodes: NonNegativeInt
    isolated: NonNegativeInt
    edges: EdgeCounts
    directed: bool
    partitions: NonNegativeInt = 1
    edges_seen: float = 1.0


class DataReport(_Report):
    """What was found in a user's files.

    Attributes:
        files: their names.
        rows: the rows of molecules or nodes.
        skipped: the number of rows that could not be read, by reason.
        delimiter: the delimiter between cells, if it is not a comma.
        task: the kind of the task.
        targets: the columns to predict; empty if links are predicted.
        split: the split.
        metrics: the metrics; the first selects the best epoch.
        metric_reason: why these metrics are used.
        balance: whether rare classes have a higher weight in the loss.
        features, dropped: the columns that are features, and those that are not.
        encoding: the features made from the structure of the graph, and why.
        known_labels: whether the labels of train nodes are inputs too.
        graph, molecules: further findings about a graph or about molecules.
        fragments: which fragments of molecules are kept.
        notes: other findings, one line each.
        cautions: possible mistakes in the files, one line each.
        descriptors: the descriptors of whole molecules that the network uses beside their graphs.
        blend: the model that is averaged with the network, and its inputs.
    """

    files: tuple[str, ...]
    rows: NonNegativeInt
    skipped: dict[str, NonNegativeInt] = {}
    delimiter: str | None = None
    task: Kind
    targets: tuple[TargetReport, ...]
    split: SplitReport
    metrics: tuple[str, ...]
    metric_reason: str
    balance: bool = False
    features: tuple[Column, ...] = ()
    dropped: tuple[Column, ...] = ()
    encoding: str = ""
    known_labels: bool = False
    graph: GraphReport | None = None
    molecules: MoleculeCounts | None = None
    fragments: str = "all"
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    descriptors: tuple[str, ...] = ()
    blend: str | None = None

    def lines(self) -> list[tuple[str, str]]:
        """The report as readable lines: a topic and a text each."""
        lines = [("data", self._data())]
        lines += [("target", _target(target)) for target in self.targets[:_MOST]]
        if len(self.targets) > _MOST:
            lines.append(("target", f"{len(self.targets) - _MOST} more, in data.json"))
        lines += [("split", self._split()), ("metric", f"{', '.join(self.metrics)} ({self.metric_reason})")]
        if self.features or (self.dropped and self.molecules is None):
            lines.append(("features", _names(self.features) or "none"))
        if self.encoding:
            lines.append(("encoding", self.encoding))
        if self.known_labels:
            lines.append(("labels", "those of train nodes are inputs too; each step hides some of them to predict"))
        if self.dropped:
            lines.append(("left out", _names(self.dropped)))
        if self.graph is not None:
            lines.append(("graph", _graph(self.graph)))
        if self.molecules is not None and (found := _molecules(self.molecules, self.fragments)):
            lines.append(("molecules", found))
        if self.descriptors:
            lines.append(
                (
                    "features",
                    f"the graph, and the descriptors {', '.join(self.descriptors)}; change them with --descriptors",
                )
            )
        if self.blend is not None:
            lines.append(("blend", f"a {self.blend}; its weight is chosen by validation; --blend none turns it off"))
        lines += [("graph", note) for note in self.notes]
        return [*lines, *(("caution", caution) for caution in self.cautions)]

    def _data(self) -> str:
        text = f"{', '.join(self.files)}: {self.rows:,} rows"
        if self.delimiter is not None:
            text += f", delimiter {self.delimiter}"
        if self.skipped:
            reasons = sorted(self.skipped.items(), key=lambda entry: -entry[1])
            shown = ", ".join(f"{reason} ({count})" for reason, count in reasons[:3])
            text += f"; {sum(self.skipped.values()):,} skipped: {shown}{', ...' if len(reasons) > 3 else ''}"
        return text + ("; rare classes have a higher weight in the loss" if self.balance else "")

    def _split(self) -> str:
        sizes = ", ".join(f"{part} {size:,}" for part, size in self.split.sizes.items())
        text = f"{self.split.source}: {sizes}{f', unused {self.split.unused:,}' if self.split.unused else ''}"
        first = self.targets[0] if self.targets else None
        if first is not None and first.positive is not None and self.split.classes:
            shares = (_share(counts, first.positive) for counts in self.split.classes.values())
            of = f" ({first.name})" if len(self.targets) > 1 else ""
            text += f"; {_one_line(first.positive)}{of} {', '.join(shares)}"
        return text


def _one_line(name: str) -> str:
    """The name of a class, which may hold line breaks in an SDF file."""
    return " ".join(name.split())


def _share(counts: Mapping[str, int], name: str) -> str:
    total = sum(counts.values())
    return f"{counts.get(name, 0) / total:.1%}" if total else "none"


def _target(target: TargetReport) -> str:
    parts = [f"{target.name}: {target.kind}, {target.reason}"]
    if target.classes:
        counts = sorted(target.classes.items(), key=lambda entry: -entry[1])
        shown = ", ".join(f"{_one_line(name)} {count:,}" for name, count in counts[:_MOST])
        parts.append(shown + (f" and {len(counts) - _MOST} more" if len(counts) > _MOST else ""))
    if target.positive is not None:
        parts.append(f"positive is {_one_line(target.positive)} ({target.positive_reason})")
    if target.mean is not None:
        parts.append(f"{target.lowest:g} to {target.highest:g}, mean {target.mean:.4g}")
    if target.missing:
        texts = ", ".join(target.missing_texts)
        if target.classes and not {quote(word) for word in GAPS}.isdisjoint(target.missing_texts):
            texts += "; --missing '' for empty cells only"
        parts.append(f"{target.missing:,} missing{f' (empty or {texts})' if texts else ''}")
    return "; ".join(parts)


def _names(columns: tuple[Column, ...]) -> str:
    shown = ", ".join(f"{column.name or repr('')} ({column.text})" for column in columns[:_MOST])
    return shown + (f" and {len(columns) - _MOST} more" if len(columns) > _MOST else "")


def _graph(graph: GraphReport) -> str:
    edges = graph.edges
    kind = "directed" if graph.directed else "undirected"
    parts = [f"{graph.nodes:,} nodes, {edges.rows - edges.repeated:,} {kind} edges"]
    counts = {
        "self-loops": edges.loops,
        "repeated rows left out": edges.repeated,
        "parallel edges with different features, kept": edges.parallel,
        "isolated nodes": graph.isolated,
    }
    parts += [f"{count:,} {name}" for name, count in counts.items() if count]
    if graph.partitions > 1:
        parts.append(f"trained in {graph.partitions} partitions: a step sees {graph.edges_seen:.1%} of the edges")
    return "; ".join(parts)


def _molecules(counts: MoleculeCounts, fragments: str) -> str:
    parts = []
    if counts.several_fragments:
        kept = "all are kept; --fragments largest keeps one" if fragments == "all" else "the largest is kept"
        parts.append(f"{counts.several_fragments:,} with several fragments, such as salts ({kept})")
    if counts.dummies:
        parts.append(f"{counts.dummies:,} with dummy atoms, such as * (treated as an element of its own)")
    if counts.repeated:
        parts.append(f"{counts.repeated:,} repeated from an earlier row")
    if counts.conflicting:
        parts.append(f"{counts.conflicting:,} with different labels in different rows")
    if counts.crossing:
        parts.append(f"{counts.crossing:,} of valid and test also in train")
    return "; ".join(parts)
