"""The base of the scikit-learn estimators: their parameters, the training behind ``fit``, and classes."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_consistent_length, check_is_fitted, column_or_1d

from deepergcn.api.train import Settings, as_settings, train
from deepergcn.api.trained import Trained
from deepergcn.data.tables.columns import GAPS
from deepergcn.data.task import Kind
from deepergcn.errors import InputError
from deepergcn.inference.predictions import Predictions
from deepergcn.runs.data_report import DataReport

Array = npt.NDArray[Any]

_SETTINGS = {
    "num_layers": "model.num_layers",
    "hidden_channels": "model.hidden_channels",
    "dropout": "model.dropout",
    "lr": "optimizer.lr",
    "batch_size": "training.batch_size",
}
_PLAIN = re.compile(r"\S(?:.*\S)?", re.DOTALL)
_NUMBER = re.compile(r"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?|[+-]?(?:nan|inf|infinity)", re.IGNORECASE)


class NetworkEstimator(BaseEstimator):
    """Base class of all estimators, which fits a network and keeps it as ``model_``.

    The parameters ``num_layers`` to ``epochs`` are by default those of the recipe.

    Args:
        recipe: The recipe; by default the one for this kind of data.
        num_layers: The number of layers.
        hidden_channels: The width of the network.
        dropout: The probability that dropout zeroes a value.
        lr: The learning rate.
        batch_size: The number of molecules in a step.
        epochs: The number of epochs.
        metric: The metric on the validation part that selects the best epoch; by default that of the task.
        validation_fraction: The fraction of the samples of ``fit`` to hold out as the validation part.
        settings: Further changes to the recipe, such as ``{"model.aggr": "max"}``.
        random_state: The seed of the split and of training: an integer, a numpy generator, or None for a new seed in
            every fit.
        out: The run directory, which must be new in every fit; by default a temporary one.
        verbose: Whether to print the data report and the progress.

    Attributes:
        model_: The result of :func:`deepergcn.train`, with named predictions, embeddings and the run directory.
        report_: The data report.
    """

    model_: Trained
    report_: DataReport | None

    def __init__(
        self,
        *,
        recipe: str | Path | None = None,
        num_layers: int | None = None,
        hidden_channels: int | None = None,
        dropout: float | None = None,
        lr: float | None = None,
        batch_size: int | None = None,
        epochs: int | None = None,
        metric: str | Sequence[str] | None = None,
        validation_fraction: float = 0.1,
        settings: Settings = (),
        random_state: Any = None,
        out: str | Path | None = None,
        verbose: bool = False,
    ) -> None:
        self.recipe = recipe
        self.num_layers = num_layers
        self.hidden_channels = hidden_channels
        self.dropout = dropout
        self.lr = lr
        self.batch_size = batch_size
        self.epochs = epochs
        self.metric = metric
        self.validation_fraction = validation_fraction
        self.settings = settings
        self.random_state = random_state
        self.out = out
        self.verbose = verbose

    def _train(self, task: Kind, **data: Any) -> None:
        if not 0 < self.validation_fraction < 1:
            raise InputError(f"validation_fraction is {self.validation_fraction}; expected above 0 and below 1")
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        own = {key: getattr(self, name) for name, key in _SETTINGS.items() if getattr(self, name) is not None}
        self.model_ = train(
            self.recipe,
            task=task,
            metric=self.metric,
            split="random" if task == "regression" else "stratified",
            split_fractions=(1 - self.validation_fraction, self.validation_fraction, 0),
            split_seed=seed,
            settings=(*as_settings(own), *as_settings(self.settings)),
            seed=seed,
            epochs=self.epochs,
            out=self.out,
            verbose=self.verbose,
            **data,
        )
        self.report_ = self.model_.report

    def _predictions(self, X: Any) -> Predictions:
        """The predictions for samples, in their order."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array = True, False
        tags.input_tags.string = True
        tags.target_tags.required = True
        return tags


class ClassifierPart(ClassifierMixin):
    """Labels that are classes of any type, encoded for the network.

    Attributes:
        classes_: The classes.
    """

    classes_: Array
    _numbers: dict[str, int]
    _predictions: Any

    def _encoded(self, y: Any) -> tuple[Kind, Array]:
        """The task, and the name of the class of every sample."""
        y = _checked(y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(f"y has one class only, {str(self.classes_[0])!r}; expected at least two")
        names = _class_names(self.classes_.tolist())
        self._numbers = {name: number for number, name in enumerate(names)}
        return ("binary" if len(names) == 2 else "multi-class"), np.array(names, dtype=object)[codes]

    def predict(self, X: Any) -> Array:
        """The class of every sample, as in ``deepergcn predict``.

        If training used a balanced loss, because a class is rare, this is not always the most probable class.
        """
        check_is_fitted(self, "model_")
        found = [self._numbers.get(name, -1) for name in self._predictions(X).columns()["class"]]
        if -1 in found:  # a molecule that cannot be read has no class
            return np.array([None if number < 0 else self.classes_[number] for number in found], dtype=object)
        classes: Array = self.classes_[np.array(found, dtype=np.int64)]
        return classes

    def predict_proba(self, X: Any) -> Array:
        """The probabilities [samples, classes], in the order of ``classes_``."""
        check_is_fitted(self, "model_")
        found = self._predictions(X)
        values = found.values.astype(np.float64)
        if found.task.kind == "binary":
            names, values = found.classes[0], np.concatenate((1 - values, values), axis=1)
        else:
            names = found.names
        order = np.argsort([self._numbers[name] for name in names])
        probabilities: Array = values[:, order] / values.sum(1, keepdims=True)
        return probabilities


class RegressorPart(RegressorMixin):
    """Labels that are one or several numbers for each sample."""

    _predictions: Any

    def _numbers_of(self, y: Any) -> Array:
        if y is None:
            raise InputError("y is None; expected a number, or several, for every sample")
        array = np.asarray(y)
        if array.ndim not in (1, 2) or array.dtype.kind not in "biufO":
            raise InputError(
                f"y is {array.dtype} {list(array.shape)}; expected numbers [samples] or [samples, targets]"
            )
        try:
            numbers: Array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"y cannot be read as numbers: {error}") from error
        assert_all_finite(numbers, input_name="y")
        return numbers

    def predict(self, X: Any) -> Array:
        """The predicted numbers [samples], or [samples, targets] for several targets."""
        check_is_fitted(self, "model_")
        values: Array = self._predictions(X).values.astype(np.float64)
        return values[:, 0] if values.shape[1] == 1 else values


def same_length(X: Sequence[Any], y: Any) -> None:
    """Check that there is a label for every sample."""
    if y is None:
        raise InputError("y is None; expected a label for every sample")
    check_consistent_length(X, y)


def _checked(y: Any) -> Array:
    if y is None:
        raise InputError("y is None; expected a class for every sample")
    array: Array = column_or_1d(y, warn=True)
    if array.dtype.kind == "O":
        if any(map(_is_missing, array)):
            raise InputError("y has a missing value; expected a class for every sample")
        if len({isinstance(value, str) for value in array}) > 1:
            raise InputError("y mixes texts and numbers; expected classes of one type")
    elif array.dtype.kind == "f":
        assert_all_finite(array, input_name="y")
    return array


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA is neither equal to itself nor not
        return True


def _class_names(classes: Sequence[Any]) -> list[str]:
    """The classes themselves where they are plain texts that cannot be taken for anything else; else their numbers."""
    plain = all(
        isinstance(name, str) and _PLAIN.fullmatch(name) and not _NUMBER.fullmatch(name) and name not in GAPS
        for name in classes
    )
    return list(classes) if plain else list(map(str, range(len(classes))))
