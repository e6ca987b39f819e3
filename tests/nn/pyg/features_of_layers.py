"""Rows of the table: graphs, layers and models as PyG users write them."""

import copy
from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import nn
from torch.testing import assert_close
from torch_geometric import EdgeIndex
from torch_geometric.data import Batch, Data
from torch_geometric.explain import Explainer, GNNExplainer

import deepergcn
from deepergcn.nn.pyg import fast_aggregation
from tests.nn.pyg.features import PYGS_ERROR, PYGS_WAY, agree, feature, graph, pair
from tests.nn.pyg.models import EDGES, features


def accelerated(model: nn.Module) -> Any:
    return deepergcn.accelerate(copy.deepcopy(model))


@feature("graphs", "`edge_index` of shape [2, edges]")
def _() -> None:
    agree(pair(), *graph())


@feature("graphs", "`EdgeIndex`, sorted or not, with its sparse size")
def _() -> None:
    order = EDGES[1].argsort(stable=True)
    for edge_index in (
        EdgeIndex(EDGES, sparse_size=(7, 7)),
        EdgeIndex(EDGES[:, order], sparse_size=(7, 7), sort_order="col"),
    ):
        agree(pair(), features(8), edge_index, features(3, rows=10))


@feature("graphs", "`adj_t` as a torch sparse tensor, COO or CSR")
def _() -> None:
    dense = torch.zeros(7, 7, dtype=torch.float64).index_put((EDGES[1], EDGES[0]), torch.ones(10).double())
    agree(pair(), features(8), dense.to_sparse_coo())
    agree(pair(), features(8), dense.to_sparse_csr())


@feature("graphs", "`adj_t` with edge features as its values", PYGS_WAY)
def _() -> None:
    order = (EDGES[1] * 7 + EDGES[0]).argsort()
    indices = EDGES.flip(0)[:, order]
    adj_t = torch.sparse_coo_tensor(indices, features(3, rows=10), (7, 7, 3), check_invariants=True).coalesce()
    agree(pair(), features(8), adj_t)


@feature("graphs", "bipartite `(x_source, x_target)` with `size=`")
def _() -> None:
    edge_index = torch.tensor([[0, 1, 6], [0, 2, 2]])
    models = pair()
    agree(models, (features(8), features(8, rows=3)), edge_index, features(3, rows=3))
    agree(models, (features(8), features(8, rows=3)), edge_index, size=(7, 3))


@feature("graphs", "`(x_source, None)`, with the number of targets from `size=`, `EdgeIndex` or `adj_t`")
def _() -> None:
    edge_index = torch.tensor([[0, 1, 6], [0, 2, 2]])
    _, fast = models = pair()
    agree(models, (features(8), None), edge_index, size=(7, 3))
    agree(models, (features(8), None), edge_index)
    agree(models, (features(8), None), EdgeIndex(edge_index, sparse_size=(7, 3)))
    adj_t = torch.sparse_coo_tensor(edge_index.flip(0), torch.ones(3), (3, 7), check_invariants=True).coalesce()
    agree(models, (features(8), None), adj_t)
    assert fast((features(8), None), adj_t).shape == (3, 8)


@feature("graphs", "batches of `NeighborLoader`, with fewer targets in every layer")
def _() -> None:
    theirs, fast = pair()
    for model in (theirs, fast):
        x = features(8, rows=9)
        for targets, edge_index in (
            (5, torch.tensor([[8, 7, 6, 0], [4, 0, 4, 3]])),
            (2, torch.tensor([[4, 3], [1, 0]])),
        ):
            x = model((x, x[:targets]), edge_index)
        model.result = x
    assert_close(fast.result, theirs.result)


@feature("graphs", "batches of `ClusterLoader` and `DataLoader`")
def _() -> None:
    batch = Batch.from_data_list([Data(*graph()), Data(*graph(5, 9))])
    theirs, fast = pair()
    for model in (theirs, fast):
        model.result = pyg.global_mean_pool(model(batch.x, batch.edge_index, batch.edge_attr), batch.batch)
    assert_close(fast.result, theirs.result)


@feature("graphs", "no edges, isolated vertices, several edges between two vertices")
def _() -> None:
    agree(pair(), features(8), torch.empty(2, 0, dtype=torch.int64))
    agree(pair(), features(8, rows=9), EDGES.repeat(1, 2), features(3, rows=10).repeat(2, 1))


@feature("graphs", "small graphs, for which PyG's code is faster", PYGS_WAY)
def _() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast_aggregation, "SMALL", 1024)
        patch.setattr(deepergcn.nn.pyg.fast_conv, "cached_adjacency", None)
        agree(pair(), *graph(50, 1023))


@feature("graphs", "an `edge_index` changed in place between calls, through `.data` too")
def _() -> None:
    models = pair()
    edge_index = EDGES.clone()
    for change in (edge_index, edge_index.data):
        agree(models, features(8), edge_index)
        change[1, :2] = change[1, :2].flip(0)
    agree(models, features(8), edge_index)


@feature("graphs", "node numbers out of range", PYGS_ERROR)
def _() -> None:
    _, fast = pair()
    with pytest.raises(IndexError, match="larger than 6"):
        fast(features(8), EDGES + 1)


@feature("graphs", "edge features of a wrong width", PYGS_ERROR)
def _() -> None:
    _, fast = pair()
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        fast(features(8), EDGES, features(4, rows=10))


@feature("layers", "softmax with `learn_t`, a `t` for each channel, or semi-gradients")
def _() -> None:
    for options in ({"learn_t": True}, {"aggr_kwargs": {"learn": True, "channels": 8}}, {"aggr": "softmax_sg"}):
        agree(pair(**options), *graph())


@feature("layers", "power mean without edge features, with `learn_p` and PyG's clamps")
def _() -> None:
    agree(pair(aggr="powermean", p=2.0, learn_p=True), features(8), EDGES)


@feature("layers", "power mean with edge features: messages by PyG's code, aggregation by the fast path", PYGS_WAY)
def _() -> None:
    _, fast = models = pair(aggr="powermean", p=2.0)
    agree(models, *graph())
    assert "PyG clamps the messages" in deepergcn.accelerated(fast).partly["GENConv"]


@feature("layers", "a list of aggregations, `MultiAggregation`", PYGS_WAY)
def _() -> None:
    agree(pair(aggr=["softmax", "mean", "std"]), *graph())


@feature("layers", "`msg_norm`, `bias`, `norm`, `num_layers`, `eps`")
def _() -> None:
    agree(pair(msg_norm=True, learn_msg_scale=True, bias=True, num_layers=3, eps=1e-3), *graph())


@feature("layers", "`flow='target_to_source'`", PYGS_WAY)
def _() -> None:
    agree(pair(flow="target_to_source"), *graph())


@feature("layers", "lazy widths: `GENConv(-1, 8, edge_dim=-1)`")
def _() -> None:
    theirs = pyg.GENConv(-1, 8, edge_dim=-1).double()
    fast = accelerated(theirs)
    for model in (theirs, fast):
        torch.manual_seed(0)
        model(features(5), EDGES, features(3, rows=10))
    agree((theirs, fast), features(5), EDGES, features(3, rows=10))


@feature("layers", "aggregations on their own, and in other convolutions")
def _() -> None:
    for aggr in ("softmax", "powermean", "sum", "mean", "max", "min"):
        theirs = pyg.SAGEConv(8, 8, aggr=aggr).double()
        agree((theirs, accelerated(theirs)), features(8), EDGES)


@feature("layers", "aggregation with `ptr`, along another dimension, or of tensors of three dimensions", PYGS_WAY)
def _() -> None:
    theirs = pyg.SoftmaxAggregation(t=0.5)
    models = (theirs, accelerated(theirs))
    agree(models, features(8, rows=10), ptr=torch.tensor([0, 4, 4, 10]))
    agree(models, features(10, rows=8), EDGES[1], dim=-1)
    agree(models, features(8, rows=10)[None], EDGES[1])


@feature("layers", "subclasses, and methods that you replaced", PYGS_WAY)
def _() -> None:
    models = pair()
    for model in models:
        model.message = lambda x_j, edge_attr: 2 * x_j
    agree(models, *graph())


@feature("layers", "PyG's hooks on messages, torch's hooks on modules", PYGS_WAY)
def _() -> None:
    models = pair()
    for model in models:
        model.register_message_forward_hook(lambda module, inputs, out: 2 * out)
        model.lin_edge.register_forward_hook(lambda module, inputs, out: -out)
    agree(models, *graph())


@feature("models", "`DeepGCNLayer` with every `block`, and with `ckpt_grad`")
def _() -> None:
    for block in ("res+", "res", "dense", "plain"):
        theirs = pyg.DeepGCNLayer(pair()[0], nn.LayerNorm(8).double(), nn.ReLU(), block, ckpt_grad=block == "res")
        agree((theirs, accelerated(theirs)), features(8).requires_grad_(), EDGES, features(3, rows=10))


@feature("models", "`GroupAddRev` (reversible layers)")
def _() -> None:
    theirs = pyg.GroupAddRev(pyg.GENConv(4, 4, norm="layer").double(), num_groups=2, disable=True)
    agree((theirs, accelerated(theirs)), features(8), EDGES)


@feature("models", "`pyg.nn.Sequential`, `JumpingKnowledge`, `global_*_pool`")
def _() -> None:
    layer = "x, edge_index -> x"
    theirs = pyg.Sequential("x, edge_index", [(pyg.GENConv(8, 8), layer), nn.ReLU(), (pyg.GENConv(8, 8), layer)])
    agree((theirs.double(), accelerated(theirs)), features(8), EDGES)


@feature("models", "`HeteroConv` and `to_hetero`")
def _() -> None:
    types = [("a", "to", "b"), ("b", "to", "a")]
    theirs = pyg.HeteroConv({edge_type: pair(edge_dim=None)[0] for edge_type in types})
    fast = accelerated(theirs)
    assert len(deepergcn.accelerated(fast).fast) == 4
    agree((theirs, fast), {"a": features(8), "b": features(8)}, dict.fromkeys(types, EDGES))


@feature("models", "`GNNExplainer`, with edge and node masks", PYGS_WAY)
def _() -> None:
    masks = []
    for model in pair():
        torch.manual_seed(0)
        explainer = Explainer(
            model,
            GNNExplainer(epochs=3),
            explanation_type="model",
            node_mask_type="attributes",
            edge_mask_type="object",
            model_config={"mode": "regression", "task_level": "node", "return_type": "raw"},
        )
        explained = explainer(*graph()[:2], edge_attr=features(3, rows=10))
        masks.append((explained.node_mask, explained.edge_mask))
    assert_close(masks[1], masks[0])


@feature("models", "`repr`, `str`, `isinstance`")
def _() -> None:
    theirs, fast = pair()
    assert repr(fast) == repr(theirs)
    assert isinstance(fast, pyg.GENConv)
    assert type(fast).__name__ == "GENConv"


@feature("models", "`reset_parameters`")
def _() -> None:
    models = pair(learn_t=True)
    for model in models:
        torch.manual_seed(3)
        model.reset_parameters()
    agree(models, *graph())
