"""Estimators in the style of scikit-learn whose samples are the nodes of a graph."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from deepergcn.api.estimator import ClassifierPart, NetworkEstimator, RegressorPart, same_length
from deepergcn.errors import InputError, quote
from deepergcn.inference.predictions import Predictions


class NodeEstimator(NetworkEstimator):
    """Base class of the estimators for nodes; samples are node ids, so that folds and searches can select any nodes.

    ``fit`` uses only the labels of the nodes it is given. Messages pass over the whole graph, including the nodes
    without a label.

    Args:
        graph: The graph, as in :func:`deepergcn.train`: PyTorch Geometric's ``Data``, whose node ids are numbers from
            0; a networkx graph; or a pair of data frames of nodes and edges. All columns except the ids are features:
            leave the labels out, or name them in ``drop``.
        features: The columns or attributes to use as features; by default all that qualify.
        drop: The columns or attributes not to use as features.
        id_column, source_column, target_column: The columns of ids and of the two ends of edges in data frames.
        directed: Whether edges go from source to target only; by default as in the graph.
        parameters: The parameters of :class:`NetworkEstimator`.
    """

    def __init__(
        self,
        graph: Any = None,
        *,
        features: Sequence[str] | None = None,
        drop: str | Sequence[str] | None = None,
        id_column: str | None = None,
        source_column: str | None = None,
        target_column: str | None = None,
        directed: bool | None = None,
        recipe: Any = None,
        num_layers: int | None = None,
        hidden_channels: int | None = None,
        dropout: float | None = None,
        lr: float | None = None,
        batch_size: int | None = None,
        epochs: int | None = None,
        metric: Any = None,
        validation_fraction: float = 0.1,
        settings: Any = (),
        random_state: Any = None,
        out: Any = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            recipe=recipe,
            num_layers=num_layers,
            hidden_channels=hidden_channels,
            dropout=dropout,
            lr=lr,
            batch_size=batch_size,
            epochs=epochs,
            metric=metric,
            validation_fraction=validation_fraction,
            settings=settings,
            random_state=random_state,
            out=out,
            verbose=verbose,
        )
        self.graph = graph
        self.features = features
        self.drop = drop
        self.id_column = id_column
        self.source_column = source_column
        self.target_column = target_column
        self.directed = directed

    def __sklearn_clone__(self) -> Any:
        """A clone shares the graph, which no fit changes."""
        bare = copy.copy(self)
        bare.graph = None
        cloned = super(NodeEstimator, bare).__sklearn_clone__()
        cloned.graph = self.graph
        return cloned

    def _train_nodes(self, task: Any, ids: list[str], labels: Any) -> None:
        if self.graph is None:
            raise InputError("graph is None; expected the graph of the nodes, as an argument of the estimator")
        columns = ("features", "drop", "id_column", "source_column", "target_column", "directed")
        options = {name: getattr(self, name) for name in columns}
        values = dict(zip(ids, labels, strict=True))
        if len(values) < len(ids):
            raise InputError("X names a node twice; expected every node once")
        self._train(task, graph=self.graph, label=values, **options)

    def _predictions(self, X: Any) -> Predictions:
        samples = _ids(X)
        found = self.model_.predict(self.graph)
        return found.take(_rows(found.ids, samples))


class NodeClassifier(ClassifierPart, NodeEstimator):
    """A deep graph network that classifies the nodes of a graph.

    Examples:
        >>> import networkx
        >>> from deepergcn import NodeClassifier
        >>> graph = networkx.karate_club_graph()
        >>> club = [graph.nodes[node].pop("club") for node in graph]
        >>> for node in graph: graph.nodes[node]["degree"] = graph.degree[node]
        >>> model = NodeClassifier(graph, num_layers=2, epochs=1, random_state=0)
        >>> model = model.fit(list(graph), club)
        >>> model.classes_.tolist(), model.predict([0, 33]).shape
        (['Mr. Hi', 'Officer'], (2,))

    The parameters are those of :class:`NodeEstimator`.
    """

    def fit(self, X: Any, y: Any) -> "NodeClassifier":
        """Train on the nodes with these ids and their classes, which may be of any type."""
        samples = _ids(X)
        same_length(samples, y)
        task, names = self._encoded(y)
        self._train_nodes(task, samples, names)
        return self


class NodeRegressor(RegressorPart, NodeEstimator):
    """A deep graph network that predicts a number for each node of a graph.

    The parameters are those of :class:`NodeEstimator`; samples are node ids, as for :class:`NodeClassifier`.
    """

    def fit(self, X: Any, y: Any) -> "NodeRegressor":
        """Train on the nodes with these ids and their numbers."""
        samples = _ids(X)
        same_length(samples, y)
        numbers = self._numbers_of(y)
        if numbers.ndim > 1 and numbers.shape[1] > 1:
            raise InputError(f"y has shape {list(numbers.shape)}; expected one number for every node")
        self._train_nodes("regression", samples, numbers.ravel())
        return self


def _ids(X: Any) -> list[str]:
    """The ids of nodes as texts."""
    if isinstance(X, Tensor):
        X = X.numpy(force=True)
    shape = np.shape(X) if isinstance(X, np.ndarray) or hasattr(X, "iloc") else None
    if shape is not None and len(shape) == 2 and shape[1] == 1:
        X = np.asarray(X)[:, 0]
    elif shape is not None and len(shape) != 1:
        raise InputError(f"X has shape {list(shape)}; expected node ids [samples], or one column")
    if X is None or isinstance(X, str | bytes):
        raise InputError(f"X is {quote(X)}; expected a list of node ids")
    samples = list(X)
    strange = next((one for one in samples if isinstance(one, float | np.floating) or np.ndim(one)), None)
    if strange is not None:
        raise InputError(f"X has {quote(strange)}; expected node ids")
    return [str(one) for one in samples]


def _rows(ids: Sequence[str], samples: Sequence[str]) -> list[int]:
    rows = {name: row for row, name in enumerate(ids)}
    strange = next((name for name in samples if name not in rows), None)
    if strange is not None:
        raise InputError(f"X: {quote(strange)} is not the id of a node of the graph")
    return [rows[name] for name in samples]
