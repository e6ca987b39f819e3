"""A trained network that reads files as in training: evaluate, predict and embed."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from deepergcn.data.batching.batch import GraphBatch
from deepergcn.data.dataset import PARTS, Dataset
from deepergcn.data.provenance import label_schema
from deepergcn.data.storage.progress import ProgressHook
from deepergcn.data.tables.features import Unseen
from deepergcn.data.task import Metric
from deepergcn.errors import InputError
from deepergcn.inference.evaluate import evaluate_parts, evaluate_rows
from deepergcn.inference.inputs import Edges, Input, Reading, Rows, read_rows_to_predict
from deepergcn.inference.links import embed_nodes, predict_pairs
from deepergcn.inference.predictions import Embeddings, Predictions, at_rows, probabilities
from deepergcn.inference.trained import load_trained
from deepergcn.inference.trained_data import Files, is_trained_on, trained_data
from deepergcn.nn.networks.hetero import HeteroDeeperGCN
from deepergcn.runs.folders import member_folders
from deepergcn.runs.model.model_file import TrainedModel
from deepergcn.runs.model.network import AnyNetwork
from deepergcn.runs.model.outputs import output_names, two_classes
from deepergcn.runs.run import MetricScore
from deepergcn.training.scoring.evaluation import Evaluation

_BATCH_SIZE = 256  # graphs at a time, at least: what is seen together changes nothing but the speed


def load(run: str | Path) -> "Predictor":
    """Load the trained network of a run directory, of a folder with ``model.safetensors``, or of that file alone.

    The folder of several seeds or folds is an ensemble: its predictions are means with standard deviations.

    Example::

        model = deepergcn.load("runs/solubility")
        model.predict(["CCO", "c1ccccc1"]).columns()
    """
    path = Path(run)
    if path.is_dir() and (members := member_folders(path)):
        from deepergcn.inference.ensemble import Ensemble, warn_of_absent  # here, since it is a Predictor itself

        begun = [folder for folder in members.values() if (folder / "model.safetensors").is_file()]
        warn_of_absent(path, begun)
        return Ensemble(path, [load(folder) for folder in begun])
    return Predictor(*load_trained(path))


class Predictor:
    """A trained network that reads files as in training.

    Attributes:
        network: The network, in evaluation mode; it can be called with PyG's ``Data``.
        recipe: The recipe of its training.
        info: The record of its run: dataset, seed, versions and provenance.
        task: The task.
        calibration: The calibration of its probabilities, if its loss was balanced; otherwise None.
        blend: The forest that is averaged with the network, or None.
        own_run: Whether it was loaded from its run directory, so that :meth:`evaluate` may read the files that the
            recipe names. A model file alone may come from anyone, and reads only files that the user names.
    """

    def __init__(self, trained: TrainedModel, own_run: bool = False) -> None:
        self.network: AnyNetwork = trained.model
        self.recipe = trained.recipe
        self.info = trained.info
        self.epoch = trained.epoch
        self.calibration = trained.calibration
        self.blend = trained.blend
        self.own_run = own_run
        self.task = trained.info.inputs.task.task()

    def predict(
        self,
        data: Input,
        edges: Edges = None,
        *,
        smiles_column: str | None = None,
        id_column: str | None = None,
        delimiter: str | None = None,
        unseen: Unseen = "error",
        skipped_file: str | Path | None = None,
        progress: ProgressHook | None = None,
        nodes: str | Path | None = None,
        node_features: str | Path | None = None,
    ) -> Predictions:
        """Predict every row.

        Args:
            data: The data to predict; see :data:`Input`.
            edges: The table of edges if ``data`` is a table of nodes, or a mapping by edge type.
            smiles_column: The column of SMILES; by default as in training.
            id_column: The column of the molecules' ids; by default their SMILES, or the titles of an SDF file.
            delimiter: The delimiter between the cells of a text file; by default as in training.
            unseen: What to do with a category not seen in training: ``"error"``, or ``"other"``, which treats it as
                none of the known ones.
            skipped_file: The CSV file to write the rows that cannot be read to.
            progress: Called with the number of molecules read and their total number.
            nodes: For links, the table of nodes of a graph other than that of training, whose edges are in ``edges``.
            node_features: The file of sparse features of the nodes, if the network was trained with them.
        """
        if self.task.level == "link" and not isinstance(data, Dataset):
            data, edges = _untyped(data, edges)
            return predict_pairs(self, data, nodes, edges, unseen)
        how = Reading(smiles_column, id_column, delimiter, unseen, skipped_file, progress, node_features)
        return self.predict_rows(self._rows(data, edges, how))

    def predict_rows(self, rows: Rows) -> Predictions:
        """Predict these rows."""
        values = probabilities(self.task, self.outputs(rows.dataset), self.calibration)
        return Predictions(
            self.task,
            output_names(self.info),
            two_classes(self.info),
            rows.ids,
            at_rows(values, rows.positions, len(rows.ids)),
            rows.skipped,
            self.calibration,
            rows.table,
            made_of="" if self.blend is None else self.blend.described(),
        )

    def embed(
        self,
        data: Input,
        edges: Edges = None,
        *,
        smiles_column: str | None = None,
        id_column: str | None = None,
        delimiter: str | None = None,
        unseen: Unseen = "error",
        skipped_file: str | Path | None = None,
        progress: ProgressHook | None = None,
        nodes: str | Path | None = None,
        node_features: str | Path | None = None,
    ) -> Embeddings:
        """The embedding of each row's node or graph: its features before the head of the network.

        The arguments are those of :meth:`predict`. For a network that predicts links, ``data`` is a table or a list of
        node ids.
        """
        if self.task.level == "link" and not isinstance(data, Dataset):
            data, edges = _untyped(data, edges)
            return embed_nodes(self, data, nodes, edges, id_column, unseen)
        how = Reading(smiles_column, id_column, delimiter, unseen, skipped_file, progress, node_features)
        return self.embed_rows(self._rows(data, edges, how))

    def embed_rows(self, rows: Rows) -> Embeddings:
        """The embeddings of these rows."""
        values = self._run(rows.dataset, self.embedding)
        return Embeddings(rows.ids, at_rows(values, rows.positions, len(rows.ids)), rows.skipped)

    def rows(
        self,
        data: Input,
        edges: Edges = None,
        *,
        smiles_column: str | None = None,
        id_column: str | None = None,
    ) -> Rows:
        """The rows to predict, as inputs of the network; the arguments are those of :meth:`predict`."""
        return self._rows(data, edges, Reading(smiles_column, id_column))

    def outputs(self, dataset: Dataset) -> Tensor:
        """The outputs [items, outputs] for the items of a dataset, before they become probabilities."""
        return self.blended(dataset, self._run(dataset, self.network), torch.arange(dataset.num_items))

    def blended(self, dataset: Dataset, outputs: Tensor, items: Tensor) -> Tensor:
        """The outputs of the network for these items [items, outputs], averaged with those of the forest if any.

        They are on the scale of the network's outputs.
        """
        return outputs if self.blend is None else self.blend(self.task, outputs, dataset, items, self.calibration)

    def embeddings(self, dataset: Dataset) -> Tensor:
        """The embeddings [items, channels] of the items of a dataset."""
        return self._run(dataset, self.embedding)

    def evaluate(
        self,
        parts: Sequence[str] = PARTS,
        data: Files = None,
        edges: Edges = None,
        nodes: str | Path | None = None,
    ) -> dict[str, float | None]:
        """The score of each part of the training dataset; None for a part without labels.

        Args:
            parts: The parts to score, of train, valid and test.
            data: The location of the dataset, if it has moved since training. A model file without its run directory
                needs it, unless the dataset has a name.
            edges: The table of edges, if ``data`` is a table of nodes or of links.
            nodes: The table of nodes, if ``data`` is a table of links.
        """
        return {
            part: scores[self.task.metric].score
            for part, scores in self.evaluate_all(parts, data, edges, (self.task.metric,), nodes).items()
        }

    def evaluate_all(
        self,
        parts: Sequence[str] = PARTS,
        data: Files = None,
        edges: Edges = None,
        metrics: Sequence[Metric] = (),
        nodes: str | Path | None = None,
        node_features: str | Path | None = None,
    ) -> dict[str, dict[str, MetricScore]]:
        """The scores of each part by several metrics, by default those of the recipe, and of each target."""
        for part in parts:
            if part not in PARTS:
                raise InputError(f"split is {part!r}; expected one of {', '.join(PARTS)}")
        return evaluate_parts(self, self.dataset(data, edges, nodes, node_features), parts, metrics)

    def evaluate_file(
        self,
        data: Input,
        edges: Edges = None,
        *,
        metrics: Sequence[Metric] = (),
        unseen: Unseen = "error",
        progress: ProgressHook | None = None,
        node_features: str | Path | None = None,
        smiles_column: str | None = None,
        delimiter: str | None = None,
    ) -> tuple[int, dict[str, MetricScore]]:
        """The number of rows with a label in other data with the label columns of training, and the scores on them.

        Args:
            data: A table, as for :meth:`predict`, with the label columns of training.
            edges: The table of edges, if ``data`` is a table of nodes.
            metrics: The metrics; by default those of the recipe.
            unseen: As for :meth:`predict`.
            progress: As for :meth:`predict`.
            node_features: As for :meth:`predict`.
            smiles_column: As for :meth:`predict`.
            delimiter: As for :meth:`predict`.
        """
        schema = label_schema(self.info.provenance)
        if schema is None:
            raise InputError(
                f"{data}: the network was trained on a named dataset; expected one trained on your own data"
            )
        # A label that is to be scored is not given to the network.
        how = Reading(smiles_column, None, delimiter, unseen, None, progress, node_features, known_labels=False)
        return evaluate_rows(self, self._rows(data, edges, how), schema, metrics)

    def is_trained_on(
        self, data: str | Path, edges: str | Path | None = None, node_features: str | Path | None = None
    ) -> bool:
        """Whether the network was trained on this file or these tables."""
        return is_trained_on(self, data, edges, node_features)

    def dataset(
        self,
        data: Files = None,
        edges: Edges = None,
        nodes: str | Path | None = None,
        node_features: str | Path | None = None,
    ) -> Dataset:
        """The dataset that the network was trained on; the arguments are those of :meth:`evaluate_all`."""
        return trained_data(self, data, edges, nodes, node_features)

    def _rows(self, data: Input, edges: Edges, how: Reading) -> Rows:
        return read_rows_to_predict(data, edges, self.recipe, self.info, how)

    def embedding(self, batch: GraphBatch) -> Tensor:
        """The embeddings of a batch; in a graph with types, those of the predicted node type."""
        if isinstance(self.network, HeteroDeeperGCN):
            return self.network.embed(batch)[self.network.target]
        return self.network.embed(batch)

    def _run(self, dataset: Dataset, forward: Callable[..., Tensor]) -> Tensor:
        section = self.recipe.evaluation
        changes = {
            "batch_size": max(section.batch_size or self.recipe.training.batch_size, _BATCH_SIZE),
            "partitions": section.partitions and min(section.partitions, dataset.num_nodes),
        }
        recipe = self.recipe.model_copy(update={"evaluation": section.model_copy(update=changes)})
        return Evaluation(dataset, recipe, self.info.seed).outputs(forward)

    def output_names(self) -> tuple[str, ...]:
        """The names of the targets, classes or labels; their numbers if they have no names."""
        return output_names(self.info)


def _untyped(data: Input, edges: Edges) -> tuple[str | Path | Sequence[Any], str | Path | None]:
    """The input of a network for links, which has no types."""
    if isinstance(data, Mapping) or isinstance(edges, Mapping):
        raise InputError("tables by type cannot be predicted: the network was trained on links")
    return data, edges
