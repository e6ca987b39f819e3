"""Copies stay accelerated, pickles are PyG's own, and neither changes anything for other models."""

import copy
import io
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import nn
from torch.testing import assert_close
from torch_geometric.explain import CaptumExplainer, Explainer, GNNExplainer

import deepergcn
from tests.nn.pyg.models import EDGES, DeeperGCN, features


def models() -> tuple[Any, Any]:
    torch.manual_seed(0)
    theirs = DeeperGCN(num_layers=2).double().eval()
    return theirs, deepergcn.accelerate(copy.deepcopy(theirs))


def explanation(model: nn.Module, algorithm: Any) -> Any:
    torch.manual_seed(0)
    explainer = Explainer(
        model,
        algorithm,
        explanation_type="model",
        node_mask_type="attributes",
        edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
    )
    return explainer(features(3), EDGES, index=1, edge_attr=features(2, rows=10))


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy], ids=["deepcopy", "copy"])
def test_a_copy_is_accelerated_and_independent_of_its_model(copied: Any) -> None:
    theirs, fast = models()
    twin = copied(fast)
    assert deepergcn.accelerated(twin) == deepergcn.accelerated(fast)
    assert str(twin) == str(theirs)
    arguments = (features(3), EDGES, features(2, rows=10))
    assert_close(twin(*arguments), theirs(*arguments))
    if copied is copy.deepcopy:
        assert twin.layers[0].conv.mlp[0].weight is not fast.layers[0].conv.mlp[0].weight
    deepergcn.deaccelerate(twin)
    assert bool(deepergcn.accelerated(fast).fast) == (copied is copy.deepcopy)  # copy.copy shares the layers


def test_a_pickle_holds_pygs_own_classes(tmp_path: Path) -> None:
    theirs, fast = models()
    loaded = pickle.loads(pickle.dumps(fast))
    assert {type(m) for m in loaded.modules()} == {type(m) for m in theirs.modules()}
    arguments = (features(3), EDGES, features(2, rows=10))
    assert_close(loaded(*arguments), theirs(*arguments))
    assert set(deepergcn.accelerated(loaded).left.values()) == {"not accelerated"}
    assert deepergcn.accelerated(deepergcn.accelerate(loaded)) == deepergcn.accelerated(fast)

    torch.save(fast, tmp_path / "model.pt")  # a zip file without compression
    for content in (pickle.dumps(fast), (tmp_path / "model.pt").read_bytes()):
        assert b"GENConv" in content
        assert b"deepergcn" not in content  # so that it loads where this package is not installed


@pytest.mark.filterwarnings("ignore:Input Tensor . did not already require gradients")
@pytest.mark.parametrize(
    "algorithm",
    [lambda: GNNExplainer(epochs=5), *(partial(CaptumExplainer, name) for name in ("Saliency", "IntegratedGradients"))],
)
def test_explanations_are_pygs_before_and_after_copies(algorithm: Any) -> None:
    theirs, fast = models()
    expected = explanation(theirs, algorithm())
    for model in (fast, copy.deepcopy(fast), pickle.loads(pickle.dumps(fast)), theirs):
        found = explanation(model, algorithm())
        assert_close(found.node_mask, expected.node_mask)
        assert_close(found.edge_mask, expected.edge_mask)
    assert expected.edge_mask.std() > 0


@pytest.mark.filterwarnings("ignore:Input Tensor . did not already require gradients")
@pytest.mark.parametrize("name", ["Saliency", "IntegratedGradients"])
def test_captum_explains_our_own_modules_as_pygs(name: str) -> None:
    theirs, _ = models()
    expected, found = (explanation(model, CaptumExplainer(name)) for model in (theirs, deepergcn.nn.from_pyg(theirs)))
    assert_close(found.node_mask, expected.node_mask)
    assert_close(found.edge_mask, expected.edge_mask)


def test_an_explained_model_is_accelerated_again_and_can_be_undone() -> None:
    theirs, fast = models()
    before = deepergcn.accelerated(fast)
    explanation(fast, GNNExplainer(epochs=1))
    assert deepergcn.accelerated(fast) == before
    explanation(theirs, GNNExplainer(epochs=1))
    assert deepergcn.accelerated(deepergcn.accelerate(copy.deepcopy(theirs))) == before
    deepergcn.deaccelerate(fast)
    assert {type(m) for m in fast.modules()} == {type(m) for m in theirs.modules()}
    assert all(m.__dict__.keys() <= n.__dict__.keys() for m, n in zip(fast.modules(), theirs.modules(), strict=True))
    assert_close(fast(features(3), EDGES, features(2, rows=10)), theirs(features(3), EDGES, features(2, rows=10)))


def test_to_hetero_of_an_accelerated_model() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = pyg.GENConv((-1, -1), 8), pyg.GENConv(8, 8, learn_t=True)

        def forward(self, x: Any, edge_index: Any) -> Any:
            return self.second(self.first(x, edge_index).relu(), edge_index)

    metadata = (["a", "b"], [("a", "to", "b"), ("b", "from", "a")])
    theirs = pyg.to_hetero(Net(), metadata).double()
    fast = pyg.to_hetero(deepergcn.accelerate(Net()), metadata).double()
    x = {"a": features(3), "b": features(5)}
    edges = {("a", "to", "b"): EDGES, ("b", "from", "a"): EDGES.flip(0)}
    theirs(x, edges)
    fast(x, edges)
    fast.load_state_dict(theirs.state_dict())
    assert_close(fast(x, edges), theirs(x, edges))
    assert len(deepergcn.accelerated(fast).fast) == 8


def test_state_dicts_fit_both_ways() -> None:
    theirs, fast = models()
    theirs.load_state_dict(fast.state_dict())
    buffer = io.BytesIO()
    torch.save(theirs.state_dict(), buffer)
    buffer.seek(0)
    fast.load_state_dict(torch.load(buffer, weights_only=True))
