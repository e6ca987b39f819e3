"""``explain``: the contributions of atoms and bonds, or nodes and edges, to predictions."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from deepergcn.data.batching.batch import GraphBatch
from deepergcn.data.batching.sources import batch_source
from deepergcn.data.dataset import Dataset
from deepergcn.data.molecules.descriptor_names import columns_of
from deepergcn.data.provenance import MoleculeProvenance
from deepergcn.data.storage.csv_text import csv_text
from deepergcn.data.storage.files import write_text
from deepergcn.errors import InputError, quote
from deepergcn.inference.attribution import Attribution, attribute
from deepergcn.inference.domain import TrainingDomain
from deepergcn.inference.inputs import Edges, Input
from deepergcn.inference.predictor import Predictor
from deepergcn.nn.networks.graph_network import GraphNetwork
from deepergcn.report.explanations import ExplainedItem, ExplanationsPage
from deepergcn.report.page import render
from deepergcn.runs.model.outputs import two_classes

_log = logging.getLogger(__name__)

_BATCH_SIZE = 64  # graphs at a time: their contributions are separate


@dataclass(frozen=True)
class Explanation:
    """The contributions to one output for one row.

    Attributes:
        id: the row's id.
        output: the name of the output: a target, a class, or a label and its positive class (``activity=active``).
        value: the output before it becomes a probability: in the target's unit, or as log-odds (a logit for classes).
        baseline: the output without features and messages; contributions add up to ``value - baseline``.
        residual: the difference between ``value - baseline`` and the sum of the contributions.
        nodes: the contribution of each node by name: an atom's number from 0, or a node's id. The contribution of a
            Morgan count is shared by the atoms that it counts, if the molecule is a SMILES.
        edges: the contribution of each edge, both directions together, by the names of its ends.
        descriptors: the contribution of all other descriptors of the molecule; None if the network uses none.
        nearest: the ids and distances of the nearest training items by embedding; empty if unknown.
        outside: whether the row is outside the training domain; None if unknown.
        smiles: the SMILES of a molecule; None for other rows.
    """

    id: str
    output: str
    value: float
    baseline: float
    residual: float
    nodes: tuple[tuple[str, float], ...]
    edges: tuple[tuple[str, str, float], ...]
    descriptors: float | None = None
    nearest: tuple[tuple[str, float], ...] = ()
    outside: bool | None = None
    smiles: str | None = None


def explain(
    model: Predictor,
    data: Input,
    edges: Edges = None,
    *,
    output: str | None = None,
    items: Sequence[str] = (),
    smiles_column: str | None = None,
    id_column: str | None = None,
    most: int = 20,
    neighbours: bool = True,
) -> list[Explanation]:
    """Explain predictions by integrated gradients; see :func:`deepergcn.inference.attribution.attribute`.

    Args:
        model: the trained network, from :func:`deepergcn.load`.
        data, edges, smiles_column, id_column: the data to predict, as in :meth:`Predictor.predict`.
        output: the target, class or label to explain; by default the predicted class of a multi-class task, or the
            first target or label.
        items: the ids to explain; by default the first ``most`` rows.
        most: the maximum number of rows to explain.
        neighbours: whether to look up the nearest training items, which needs the training data.
    """
    if most < 1:
        raise InputError(f"most is {most}; expected at least 1")
    network = model.network
    if not isinstance(network, GraphNetwork) or model.task.level == "link":
        kind = "links" if model.task.level == "link" else "typed tables"
        raise InputError(f"a network for {kind} cannot be explained; expected one for molecules or plain tables")
    if model.blend is not None:
        _log.warning("only the network is explained, but predictions are %s", model.blend.described())
    rows = model.rows(data, edges, smiles_column=smiles_column, id_column=id_column)
    if rows.skipped:
        first = rows.skipped[0]
        _log.warning(
            "%d of %d rows cannot be read and are not explained; row %d is %s: %s",
            *(len(rows.skipped), len(rows.ids), first.row, quote(first.molecule), first.reason),
        )
    dataset = rows.dataset
    positions = {rows.ids[row]: number for number, row in reversed(list(enumerate(rows.positions.tolist())))}
    chosen = _chosen(positions, items, most)
    names = model.output_names()
    if output is not None and output not in names:
        raise InputError(f"output (--of) is {output!r}; expected one of {', '.join(names)}")
    with torch.no_grad():
        outputs, embeddings = model.outputs(dataset), model.embeddings(dataset)
    number = _number(model, outputs, None if output is None else names.index(output))
    smiles = {item: rows.smiles[int(rows.positions[item])] for item in chosen} if rows.smiles else {}
    found = (
        _graphs(network, dataset, chosen, number)
        if model.task.level == "graph"
        else _nodes(network, dataset, chosen, number)
    )
    if network.descriptors is not None and "morgan" in model.recipe.data.descriptors:
        found |= {item: _on_atoms(model, found[item], text) for item, text in smiles.items()}
    near = _neighbours(model, embeddings[torch.tensor(chosen)]) if neighbours else {}
    ids = {item: name for name, item in positions.items()}
    positive = [f"={pair[1]}" for pair in two_classes(model.info)]
    shown = [name + which for name, which in zip(names, positive or [""] * len(names), strict=True)]
    explanations = []
    for place, item in enumerate(chosen):
        nearest, outside = near.get(place, ((), None))
        one = found[item]
        explanations.append(
            Explanation(
                id=ids[item],
                output=shown[int(number[item])],
                value=one.value,
                baseline=one.baseline,
                residual=one.residual,
                nodes=one.nodes,
                edges=one.edges,
                descriptors=None if network.descriptors is None else float(one.descriptors.sum()),
                nearest=nearest,
                outside=outside,
                smiles=smiles.get(item),
            )
        )
    return explanations


def write_contributions(path: Path, explanations: Sequence[Explanation]) -> None:
    """Write all contributions as CSV: id, output, part, node, other, contribution.

    A part is a node, an edge, the baseline, all descriptors except Morgan counts, or the residual.
    """
    rows: list[list[object]] = []
    for one in explanations:
        rows.append([one.id, one.output, "baseline", "", "", one.baseline])
        rows += [[one.id, one.output, "node", name, "", value] for name, value in one.nodes]
        rows += [[one.id, one.output, "edge", name, other, value] for name, other, value in one.edges]
        if one.descriptors is not None:
            rows.append([one.id, one.output, "descriptors", "", "", one.descriptors])
        rows.append([one.id, one.output, "missing", "", "", one.residual])
    header = ["id", "output", "part", "node", "other", "contribution"]
    write_text(path, csv_text([header, *([*names, f"{value:.7g}"] for *names, value in rows)]))


def write_page(path: Path, explanations: Sequence[Explanation], title: str) -> None:
    """Write the explanations as one HTML page."""
    items = [
        ExplainedItem(
            title=f"{one.id}: {one.output}",
            value=one.value,
            baseline=one.baseline,
            residual=one.residual,
            nodes=one.nodes,
            edges=one.edges,
            descriptors=one.descriptors,
            nearest=one.nearest,
            outside=one.outside,
            smiles=one.smiles,
        )
        for one in explanations
    ]
    write_text(path, render([ExplanationsPage("explanations", f"Explanations, {title}", items)]))


@dataclass(frozen=True)
class _Contributions:
    value: float
    baseline: float
    residual: float
    nodes: tuple[tuple[str, float], ...]
    edges: tuple[tuple[str, str, float], ...]
    descriptors: Tensor


def _on_atoms(model: Predictor, one: _Contributions, smiles: str) -> _Contributions:
    """The contributions with those of Morgan counts as contributions of atoms."""
    from deepergcn.data.molecules.descriptors import morgan_shares  # here, as RDKit is slow

    known = model.info.provenance
    shares = morgan_shares(smiles, known.fragments if isinstance(known, MoleculeProvenance) else "all")
    if shares is None or len(shares) != len(one.nodes):
        return one
    counts = torch.from_numpy(columns_of(model.recipe.data.descriptors)["morgan"])
    values = torch.from_numpy(shares) @ one.descriptors[counts].double()
    rest = one.descriptors.clone()
    rest[counts] = 0.0
    nodes = tuple((name, value + more) for (name, value), more in zip(one.nodes, values.tolist(), strict=True))
    return replace(one, nodes=nodes, descriptors=rest)


def _chosen(positions: dict[str, int], items: Sequence[str], most: int) -> list[int]:
    """The items to explain."""
    if not items:
        return sorted(positions.values())[:most]
    if len(items) > most:
        raise InputError(f"--item: {len(items)} ids were given; expected at most {most} (--most)")
    unknown = next((item for item in items if item not in positions), None)
    if unknown is not None:
        raise InputError(f"--item is {unknown!r}; expected the id of a row that can be read")
    return [positions[item] for item in items]


def _number(model: Predictor, outputs: Tensor, asked: int | None) -> Tensor:
    """The output that is explained for every item."""
    if asked is None and model.task.kind == "multi-class":
        return outputs.nan_to_num().argmax(1)
    return torch.full((len(outputs),), asked or 0, dtype=torch.int64)


def _graphs(network: GraphNetwork, dataset: Dataset, items: Sequence[int], number: Tensor) -> dict[int, _Contributions]:
    source = batch_source(dataset, seed=0, graphs=torch.tensor(items), batch_size=_BATCH_SIZE)
    found = {}
    for batch in source.batches():
        names = [str(node) for count in batch.ptr.diff().tolist() for node in range(count)]
        result = attribute(network, batch, number[batch.item])
        for place, item in enumerate(batch.item.tolist()):
            found[item] = _of(result, place, batch, batch.batch == place, names)
    return found


def _nodes(network: GraphNetwork, dataset: Dataset, items: Sequence[int], number: Tensor) -> dict[int, _Contributions]:
    batch = next(batch_source(dataset, seed=0, graphs=torch.empty(0, dtype=torch.int64), batch_size=1).batches())
    everything = torch.ones(len(batch.item), dtype=torch.bool)
    ids = dataset.ids or tuple(map(str, range(dataset.num_nodes)))
    names = [ids[node] for node in batch.item.tolist()]
    found = {}
    for item in items:
        place = int((batch.item == item).nonzero()[0, 0])
        result = attribute(network, batch, number[[item]], place)
        found[item] = _of(result, 0, batch, everything, names)
    return found


def _of(result: Attribution, place: int, batch: GraphBatch, mine: Tensor, names: Sequence[str]) -> _Contributions:
    """The contributions to one item, the directions of an edge added up."""
    edges: dict[tuple[int, int], float] = {}
    inside = mine[batch.edge_index[1]]
    for (u, v), value in zip(batch.edge_index[:, inside].T.tolist(), result.edges[inside].tolist(), strict=True):
        ends = (min(u, v), max(u, v))
        edges[ends] = edges.get(ends, 0.0) + value
    return _Contributions(
        value=float(result.output[place]),
        baseline=float(result.baseline[place]),
        residual=float(result.residual[place]),
        nodes=tuple((names[node], float(result.nodes[node])) for node in mine.nonzero()[:, 0].tolist()),
        edges=tuple((names[u], names[v], value) for (u, v), value in edges.items()),
        descriptors=result.descriptors[place],
    )


def _neighbours(model: Predictor, embeddings: Tensor) -> dict[int, tuple[tuple[tuple[str, float], ...], bool]]:
    """The nearest training items; none if the training data cannot be read."""
    try:
        training = model.dataset()
    except InputError as error:
        _log.warning("the nearest training examples are left out: %s", error)
        return {}
    items = training.split["train"]
    if len(items) < 2:
        return {}
    known = model.embeddings(training)[items]
    near = TrainingDomain(known).neighbours(embeddings)
    names = training.ids or tuple(map(str, range(training.num_items)))
    found = {}
    for place in range(len(embeddings)):
        pairs = zip(near.numbers[place].tolist(), near.distances[place].tolist(), strict=True)
        nearest = tuple((names[int(items[number])], distance) for number, distance in pairs)
        found[place] = nearest, bool(near.outside[place])
    return found
