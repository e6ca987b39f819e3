"""A 112-layer DyResGEN with MsgNorm trains: the cells that the paper leaves empty for numerical reasons."""

import pytest
import torch
from torch.nn import functional as F

from deepergcn.nn import DyResGEN

LAYERS, STEPS = 112, 30


@pytest.mark.parametrize(("aggr", "learned"), [("softmax", "beta"), ("power_mean", "p")])
def test_112_layers_with_msg_norm_train_and_stay_finite(aggr: str, learned: str) -> None:
    torch.manual_seed(0)
    edge_index = torch.randint(24, (2, 72))
    x, edge_attr = torch.randn(24, 6), torch.rand(72, 4)
    # Labels that depend on the neighbours: whether the mean of their first feature is positive.
    heard = torch.zeros(24).index_add(0, edge_index[1], x[edge_index[0], 0])
    labels = (heard > 0).long()
    model = DyResGEN(
        6,
        2,
        hidden_channels=16,
        num_layers=LAYERS,
        aggr=aggr,
        msg_norm=True,
        dropout=0.1,
        layer_edge_encoder=4,
        mlp_layers=1,
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    start = model.dynamics()
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x, edge_index, edge_attr), labels)
        loss.backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
        optimizer.step()
        losses.append(loss.item())
    assert all(p.isfinite().all() for p in model.parameters())
    assert torch.tensor(losses).isfinite().all()
    assert sum(losses[-10:]) < 0.8 * sum(losses[:10])
    for before, after in zip(start, model.dynamics(), strict=True):
        assert after[learned] != before[learned]
        assert after["s"] != before["s"]
