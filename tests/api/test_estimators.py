"""The estimators in the hands of scikit-learn: searches, pipelines, clones, pickles, and its own checks."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from rdkit import Chem
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from deepergcn import MoleculeClassifier, MoleculeRegressor, NodeClassifier, NodeRegressor
from deepergcn.errors import InputError
from tests.api.samples import ACTIVE, ROWS, SMILES, network, pyg

SMALL: dict[str, Any] = {"num_layers": 2, "hidden_channels": 8, "epochs": 1, "random_state": 0}
ALL = (MoleculeClassifier, MoleculeRegressor, NodeClassifier, NodeRegressor)


@pytest.fixture(scope="module")
def classifier() -> MoleculeClassifier:
    return MoleculeClassifier(**SMALL).fit(SMILES, ACTIVE)


@pytest.fixture(scope="module")
def of_nodes() -> NodeClassifier:
    return NodeClassifier(pyg(), **SMALL).fit(np.arange(40), np.arange(40) % 3)


def test_classes_probabilities_and_score(classifier: MoleculeClassifier) -> None:
    assert classifier.classes_.tolist() == ["active", "inactive"]
    found = classifier.predict_proba(SMILES)
    assert found.shape == (ROWS, 2)
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-6)
    np.testing.assert_allclose(found[:, 0], classifier.model_.predict(SMILES).values[:, 0], atol=1e-6)
    assert set(classifier.predict(SMILES)) <= {"active", "inactive"}
    assert classifier.score(SMILES, ACTIVE) == np.mean(classifier.predict(SMILES) == ACTIVE)
    assert classifier.report_ is not None
    assert classifier.report_.split.sizes == {"train": 54, "valid": 6, "test": 0}


def test_samples_of_any_kind_in_any_order_give_the_same(classifier: MoleculeClassifier) -> None:
    expected = classifier.predict_proba(SMILES[:4])
    samples = np.array(SMILES[:4], dtype=object)
    for X in (samples, samples[:, None], pd.Series(samples), pd.DataFrame({"smiles": samples, "other": 1})):
        np.testing.assert_array_equal(classifier.predict_proba(X), expected)
    np.testing.assert_array_equal(classifier.predict_proba([Chem.MolFromSmiles(text) for text in samples]), expected)
    np.testing.assert_allclose(classifier.predict_proba(samples[::-1]), expected[::-1], rtol=1e-5)
    np.testing.assert_allclose(classifier.predict_proba(samples[1:2]), expected[1:2], rtol=1e-5)


def test_a_second_fit_and_a_pickle_predict_alike(classifier: MoleculeClassifier) -> None:
    expected = classifier.predict_proba(SMILES)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(classifier)).predict_proba(SMILES), expected)
    again = clone(classifier)
    assert again.get_params() == classifier.get_params()
    assert not hasattr(again, "model_")
    np.testing.assert_array_equal(again.fit(SMILES, ACTIVE).predict_proba(SMILES), expected)


def test_a_search_over_a_pipeline() -> None:
    flat = FunctionTransformer(lambda X: np.asarray(X, dtype=object))
    search = GridSearchCV(
        make_pipeline(flat, MoleculeClassifier(**SMALL)), {"moleculeclassifier__lr": [0.01, 0.02]}, cv=2
    )
    search.fit(SMILES, ACTIVE)
    assert set(search.best_params_) == {"moleculeclassifier__lr"}
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_numbers_of_molecules(tmp_path: Path) -> None:
    y = np.stack((np.arange(ROWS), -np.arange(ROWS)), axis=1)
    model = MoleculeRegressor(**SMALL, descriptors="maccs", blend="none", out=tmp_path / "run").fit(SMILES, y)
    assert model.model_.info.inputs.fingerprints or model.model_.info.inputs.descriptors
    assert model.predict(SMILES[:3]).shape == (3, 2)
    assert (tmp_path / "run" / "summary.json").is_file()
    alone = MoleculeRegressor(**SMALL, validation_fraction=0.5).fit(SMILES, y[:, 0])
    assert alone.predict(SMILES[:3]).shape == (3,)
    assert alone.report_ is not None
    assert alone.report_.split.sizes == {"train": 30, "valid": 30, "test": 0}
    with pytest.raises(InputError, match="validation_fraction is 0; expected above 0 and below 1"):
        alone.set_params(validation_fraction=0).fit(SMILES, y[:, 0])


def test_nodes_are_samples_by_their_ids(of_nodes: NodeClassifier) -> None:
    assert of_nodes.predict_proba([50, 3]).shape == (2, 3)
    np.testing.assert_array_equal(of_nodes.predict_proba([50, 3])[::-1], of_nodes.predict_proba(["3", "50"]))
    np.testing.assert_array_equal(of_nodes.predict([50, 3]), of_nodes.predict(torch.tensor([50, 3])))
    assert of_nodes.report_ is not None
    assert (of_nodes.report_.rows, of_nodes.report_.targets[0].missing) == (ROWS, 20)
    assert of_nodes.classes_.tolist() == [0, 1, 2]


def test_clones_share_the_graph_and_folds_take_nodes() -> None:
    graph = network()
    roles = np.array([graph.nodes[node].pop("role") for node in graph])
    model = NodeClassifier(graph, **SMALL)
    assert clone(model).graph is graph
    assert clone(model).get_params() == model.get_params()
    assert len(cross_val_score(model, np.array(list(graph)), roles, cv=2)) == 2
    numbers = NodeRegressor(graph, **SMALL).fit(list(graph), np.arange(ROWS) / 3)
    assert numbers.predict(["n3", "n1"]).shape == (2,)


def test_molecules_that_cannot_be_read(classifier: MoleculeClassifier) -> None:
    with pytest.raises(InputError, match=r"X: row 2 is 'C\(C'.*expected a molecule, or strict=False"):
        classifier.predict(["CCO", "C(C"])
    lenient = clone(classifier).set_params(strict=False)
    lenient.fit([*SMILES, "C(C"], [*ACTIVE, "active"])
    assert lenient.report_ is not None
    assert sum(lenient.report_.skipped.values()) == 1
    assert lenient.predict(["CCO", "C(C"])[1] is None
    assert np.isnan(lenient.predict_proba(["CCO", "C(C"])[1]).all()


@pytest.mark.parametrize(
    ("X", "y", "problem"),
    [
        (SMILES, ["a"] * ROWS, "y has one class only, 'a'"),
        (SMILES, ACTIVE[1:], "inconsistent numbers of samples"),
        (SMILES, None, "y is None"),
        (SMILES, [*ACTIVE[1:], None], "y has a missing value"),
        (SMILES, pd.Series([*ACTIVE[1:], pd.NA], dtype="string"), "y has a missing value"),
        (SMILES, np.arange(ROWS) / 7, "Unknown label type"),
        (np.zeros((ROWS, 3)), ACTIVE, r"X has shape \[60, 3\]; expected SMILES"),
        (np.zeros(ROWS), ACTIVE, "row 1 is .*; expected SMILES"),
        ("CCO", ACTIVE, "X is 'CCO'; expected a list"),
    ],
)
def test_what_a_classifier_refuses(X: Any, y: Any, problem: str) -> None:
    model = MoleculeClassifier(**SMALL)
    with pytest.raises(ValueError, match=problem):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(SMILES)


def test_what_nodes_refuse(of_nodes: NodeClassifier) -> None:
    with pytest.raises(InputError, match="graph is None"):
        NodeClassifier(**SMALL).fit([0, 1], ["a", "b"])
    with pytest.raises(InputError, match="X: '99' is not the id of a node"):
        of_nodes.predict([99])
    with pytest.raises(InputError, match="X: '' is not the id of a node"):
        of_nodes.predict([""])
    with pytest.raises(InputError, match=r"X has .*0\.0.*; expected node ids"):
        of_nodes.predict([0.0, 1])
    with pytest.raises(InputError, match="label: '' is not the id of a node"):
        NodeClassifier(pyg(), **SMALL).fit([0, ""], ["a", "b"])
    with pytest.raises(InputError, match="label: '99' is not the id of a node"):
        NodeClassifier(pyg(), **SMALL).fit([0, 99], ["a", "b"])
    with pytest.raises(InputError, match="X names a node twice"):
        NodeClassifier(pyg(), **SMALL).fit([0, 0], ["a", "b"])


# What scikit-learn's checks hand to ``fit`` are matrices of numbers, where these estimators take molecules or the ids
# of nodes: all checks that fit are expected to fail, and their subjects are tested above on samples that fit.
_NUMBERS = "fits a matrix of numbers; samples are molecules, or ids of nodes of the graph"
FITTING = (
    *("check_fit_score_takes_y", "check_estimators_overwrite_params", "check_dont_overwrite_parameters"),
    *("check_estimators_fit_returns_self", "check_readonly_memmap_input", "check_n_features_in_after_fitting"),
    *("check_positive_only_tag_during_fit", "check_estimators_dtypes", "check_complex_data", "check_dtype_object"),
    *("check_estimators_empty_data_messages", "check_pipeline_consistency", "check_estimators_nan_inf"),
    *("check_estimator_sparse_tag", "check_estimator_sparse_array", "check_estimator_sparse_matrix"),
    *("check_estimators_pickle", "check_array_api_input", "check_f_contiguous_array_estimator"),
    *("check_classifier_data_not_an_array", "check_classifiers_one_label", "check_classifiers_classes"),
    *("check_classifiers_train", "check_classifiers_regression_target", "check_supervised_y_no_nan"),
    *("check_supervised_y_2d", "check_regressors_train", "check_regressor_data_not_an_array", "check_regressors_int"),
    *("check_regressors_no_decision_function", "check_methods_sample_order_invariance"),
    *("check_methods_subset_invariance", "check_fit2d_1sample", "check_fit2d_1feature", "check_dict_unchanged"),
    *("check_fit_idempotent", "check_fit_check_is_fitted", "check_n_features_in", "check_fit1d"),
    *("check_fit2d_predict1d", "check_requires_y_none", "check_estimators_unfitted"),
    *(
        "check_non_transformer_estimators_n_iter",
        "check_regressor_multioutput",
        "check_classifiers_one_label_sample_weights",
    ),
)


@pytest.mark.parametrize("estimator", ALL, ids=lambda estimator: estimator.__name__)
def test_the_checks_of_scikit_learn_that_need_no_matrix_of_numbers(estimator: Any) -> None:
    """The tag says that matrices are not taken, and all checks would be skipped: here it says that they are."""

    class Checked(estimator):
        def __sklearn_tags__(self) -> Any:
            tags = super().__sklearn_tags__()
            tags.input_tags.two_d_array = True
            return tags

    results = check_estimator(
        Checked(), expected_failed_checks=dict.fromkeys(FITTING, _NUMBERS), on_fail=None, on_skip=None
    )
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed == set()
    passed = {result["check_name"] for result in results if result["status"] == "passed"}
    assert passed >= {
        "check_estimator_cloneable",
        "check_no_attributes_set_in_init",
        "check_do_not_raise_errors_in_init_or_set_params",
        "check_mixin_order",
        "check_parameters_default_constructible",
        "check_get_params_invariance",
        "check_set_params",
        "check_estimator_repr",
    }


def test_tags_say_what_samples_are() -> None:
    assert [is_classifier(one()) for one in ALL] == [True, False, True, False]
    assert [is_regressor(one()) for one in ALL] == [False, True, False, True]
    for one in ALL:
        tags = one().__sklearn_tags__()
        assert (tags.input_tags.one_d_array, tags.input_tags.two_d_array) == (True, False)
        assert tags.target_tags.required
