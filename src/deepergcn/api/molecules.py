"""Estimators in the style of scikit-learn whose samples are molecules."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from deepergcn.api.estimator import ClassifierPart, NetworkEstimator, RegressorPart, same_length
from deepergcn.data.memory.frames import is_frame
from deepergcn.data.molecules.fragments import Fragments
from deepergcn.data.task import Kind
from deepergcn.errors import InputError, quote
from deepergcn.inference.predictions import Predictions


class MoleculeEstimator(NetworkEstimator):
    """Base class of the estimators for molecules; samples are SMILES or RDKit molecules.

    Args:
        fragments: ``"largest"`` keeps only the largest fragment of each molecule; ``"all"`` keeps every fragment.
        descriptors: Descriptors to use with the graph of each molecule, as in :func:`deepergcn.train`.
        blend: ``"forest"`` averages the network with a random forest on these descriptors; ``"none"`` turns it off.
        strict: Whether to raise an error if a molecule cannot be read. Otherwise ``fit`` skips it and reports it in
            ``report_``, and its prediction is None or NaN.
        parameters: The parameters of :class:`NetworkEstimator`.
    """

    def __init__(
        self,
        *,
        fragments: Fragments = "all",
        descriptors: str | Sequence[str] | None = None,
        blend: str | None = None,
        strict: bool = True,
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
        self.fragments = fragments
        self.descriptors = descriptors
        self.blend = blend
        self.strict = strict

    def _train_molecules(self, task: Kind, samples: list[Any], labels: Any) -> None:
        options = {name: getattr(self, name) for name in ("fragments", "descriptors", "blend", "strict")}
        self._train(task, molecules=samples, target=labels, **options)

    def _predictions(self, X: Any) -> Predictions:
        found = self.model_.predict(_molecules(X))
        if found.skipped and self.strict:
            first = found.skipped[0]
            raise InputError(
                f"X: row {first.row} is {quote(first.molecule)}: {first.reason}; expected a molecule, or strict=False"
            )
        return found


class MoleculeClassifier(ClassifierPart, MoleculeEstimator):
    """A deep graph network that classifies molecules.

    Examples:
        >>> from deepergcn import MoleculeClassifier
        >>> alcohols = ["C" * carbons + "O" for carbons in range(1, 41)]
        >>> soluble = ["yes" if carbons < 20 else "no" for carbons in range(1, 41)]
        >>> model = MoleculeClassifier(num_layers=2, epochs=1, random_state=0)
        >>> model = model.fit(alcohols, soluble)
        >>> model.classes_.tolist(), model.predict_proba(["CCO"]).shape
        (['no', 'yes'], (1, 2))

    The parameters are those of :class:`MoleculeEstimator`.
    """

    def fit(self, X: Any, y: Any) -> "MoleculeClassifier":
        """Train on molecules and their classes.

        Args:
            X: A list, array or series of SMILES or RDKit molecules; or a data frame with one column of them, or with
                a column called "smiles".
            y: The class of each molecule, of any type.
        """
        samples = _molecules(X)
        same_length(samples, y)
        task, names = self._encoded(y)
        self._train_molecules(task, samples, names)
        return self


class MoleculeRegressor(RegressorPart, MoleculeEstimator):
    """A deep graph network that predicts numeric properties of molecules.

    Examples:
        >>> from deepergcn import MoleculeRegressor
        >>> alcohols = ["C" * carbons + "O" for carbons in range(1, 41)]
        >>> model = MoleculeRegressor(num_layers=2, epochs=1, random_state=0)
        >>> model = model.fit(alcohols, range(1, 41))
        >>> model.predict(["CCO"]).shape
        (1,)

    The parameters are those of :class:`MoleculeEstimator`.
    """

    def fit(self, X: Any, y: Any) -> "MoleculeRegressor":
        """Train on molecules, as for :class:`MoleculeClassifier`, and their numbers [samples] or [samples, targets]."""
        samples = _molecules(X)
        same_length(samples, y)
        self._train_molecules("regression", samples, self._numbers_of(y))
        return self


def _molecules(X: Any) -> list[Any]:
    """The samples as a list."""
    if is_frame(X):
        names = list(X.column_names if hasattr(X, "column_names") else X.columns)
        found = [name for name in names if str(name).strip().lower() == "smiles"] or names
        if len(found) != 1:
            raise InputError(f"X has {len(names)} columns; expected one, or one called 'smiles'")
        column = X[found[0]]
        return column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    shape = np.shape(X) if isinstance(X, np.ndarray) else None
    if shape is not None and len(shape) == 2 and shape[1] == 1:
        X = X[:, 0]
    elif shape is not None and len(shape) != 1:
        raise InputError(f"X has shape {list(shape)}; expected SMILES or RDKit molecules [samples], or one column")
    if X is None or isinstance(X, str | bytes):
        raise InputError(f"X is {quote(X)}; expected a list of SMILES or RDKit molecules")
    return list(X)
