"""PyTorch Geometric's explainers, hooks and subclasses see the messages of our convolutions."""

import copy
import pickle
from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn
from torch.testing import assert_close
from torch_geometric.explain import Explainer, GNNExplainer
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
from torch_geometric.typing import OptTensor

from deepergcn import ops
from deepergcn.nn import NETWORKS, DeeperGCN, GENConv, from_pyg
from tests.nn.pyg.models import EDGES, features

AGGREGATORS: list[dict[str, Any]] = [
    {"aggr": "softmax", "t": 0.5},
    {"aggr": "softmax", "learn_t": True},
    {"aggr": "powermean", "p": 2.0},
    {"aggr": "mean"},
    {"aggr": "max"},
    {"aggr": ["softmax", "min"]},
]
MASK = torch.linspace(0.1, 0.9, 10, dtype=torch.float64)


def pair(**options: Any) -> tuple[nn.Module, nn.Module]:
    torch.manual_seed(0)
    theirs = pyg.GENConv(8, 8, norm="layer", edge_dim=3, **options).double()
    return theirs, from_pyg(theirs)


def masked(model: nn.Module, mask: Tensor, *arguments: Tensor) -> tuple[Tensor, Tensor]:
    """The output under an edge mask, and the gradient of the mask."""
    mask = mask.clone().requires_grad_()
    set_masks(model, mask, EDGES, apply_sigmoid=False)
    out = model(*arguments)
    (gradient,) = torch.autograd.grad(out.square().sum(), mask)
    clear_masks(model)
    return out.detach(), gradient


@pytest.mark.parametrize("options", AGGREGATORS, ids=str)
def test_edge_masks_and_their_gradients_are_pygs(options: dict[str, Any]) -> None:
    theirs, ours = pair(**options)
    arguments = (features(8, low=0.5), EDGES, features(3, rows=10, low=0.0, high=0.1))
    fast = ours(*arguments)
    assert_close(masked(ours, MASK, *arguments), masked(theirs, MASK, *arguments))
    assert_close(masked(ours, torch.ones_like(MASK), *arguments)[0], fast)
    assert_close(ours(*arguments), fast)


def test_a_power_mean_takes_messages_that_are_masked_out() -> None:
    conv: nn.Module = GENConv(8, 8, aggr="power_mean", p=-1.0, norm="layer").double()
    out, gradient = masked(conv, torch.zeros(10, dtype=torch.float64), features(8), EDGES)
    assert out.isfinite().all()
    assert gradient.isfinite().all()


@pytest.mark.parametrize("again", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_is_explained_too(again: Any) -> None:
    _, ours = pair()
    arguments = (features(8), EDGES, features(3, rows=10))
    assert_close(masked(again(ours), MASK, *arguments), masked(ours, MASK, *arguments))


@pytest.mark.parametrize("name", ["DeeperGCN", "DyResGEN", "PlainGCN", "RevGEN", "GIN", "GaAN"])
def test_gnn_explainer_gives_node_and_edge_masks(name: str) -> None:
    torch.manual_seed(0)
    depth = 1 if name == "RevGEN" else 2  # a reversible layer is two convolutions in a row
    model = NETWORKS[name](3, 4, hidden_channels=8, num_layers=depth, norm="layer")
    x = features(3).float()
    before = model.eval()(x, EDGES)
    explainer = Explainer(
        model,
        GNNExplainer(epochs=10),
        explanation_type="model",
        node_mask_type="attributes",
        edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
    )
    explanation = explainer(x, EDGES, index=1)
    assert explanation.node_mask.shape == (7, 3)
    reach = {0, 1, 2, 9}  # edges within two hops of vertex 1: those into it, and into their sources 0 and 2
    assert set(explanation.edge_mask.nonzero().flatten().tolist()) <= reach | {5}
    assert explanation.edge_mask[[0, 2]].gt(0).all()
    assert_close(model(x, EDGES), before)


def test_edge_features_of_every_kind_are_explained() -> None:
    torch.manual_seed(0)
    x, categories = features(3).float(), torch.randint(0, 2, (10, 2))
    model = DeeperGCN(3, 4, hidden_channels=8, num_layers=2, layer_edge_encoder=(2, 2), norm="layer").eval()
    out, gradient = masked(model, torch.ones(10), x, EDGES, categories)
    assert_close(out, model(x, EDGES, categories))
    assert gradient.abs().min() > 0


def test_masks_that_are_taken_away_before_backward() -> None:
    """As Captum's explainers do."""
    found = []
    for checkpoint in (False, True):
        torch.manual_seed(0)
        model = DeeperGCN(8, 2, hidden_channels=8, num_layers=3, checkpoint=checkpoint).double().eval()
        mask = MASK.clone().requires_grad_()
        set_masks(model, mask, EDGES, apply_sigmoid=False)
        out = model(features(8), EDGES)
        clear_masks(model)
        found.append(torch.autograd.grad(out.square().sum(), mask)[0])
    assert_close(found[0], found[1], rtol=0, atol=0)


def test_reversible_layers_have_gradients_of_any_mask() -> None:
    torch.manual_seed(0)
    x = features(3).float()
    model = NETWORKS["RevGEN"](3, 4, hidden_channels=8, num_layers=3).eval()
    kept = copy.deepcopy(model)
    kept.rebuild = False
    assert_close(masked(model, MASK.float(), x, EDGES), masked(kept, MASK.float(), x, EDGES))


def test_hooks_fire_and_change_the_messages() -> None:
    _, ours = pair()
    arguments = (features(8), EDGES, features(3, rows=10))
    fast = ours(*arguments)
    seen: list[tuple[int, ...]] = []
    conv: Any = ours
    handles = [
        conv.register_message_forward_hook(lambda module, args, m: seen.append(tuple(m.shape))),
        conv.register_propagate_forward_hook(lambda module, args, m: 0 * m),
    ]
    assert_close(ours(*arguments), conv.mlp(arguments[0]))
    assert seen == [(10, 8)]
    for handle in handles:
        handle.remove()
    assert_close(ours(*arguments), fast)


class Louder(GENConv):
    def message(self, x_j: Tensor, edge: OptTensor) -> Tensor:
        return 2 * super().message(x_j, edge)


def test_a_subclass_with_its_own_message_is_heard() -> None:
    torch.manual_seed(0)
    louder = Louder(8, 8, aggr="sum", norm="layer")
    x = features(8).float()
    m = ops.sum(x, ops.Adjacency.from_edge_index(EDGES, len(x)))
    assert_close(louder(x, EDGES), louder.mlp(x + 2 * m))
