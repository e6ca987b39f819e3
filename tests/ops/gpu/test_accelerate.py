"""``deepergcn.accelerate`` on a GPU: PyG's models by the GPU's kernels, with PyG's results."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.nn import GENConv, PowerMeanAggregation

import deepergcn
from deepergcn.nn.pyg import fast_aggregation
from deepergcn.nn.pyg.adjacency_cache import cached_adjacency
from deepergcn.ops.operators import device


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("options", [{"aggr": "softmax", "learn_t": True}, {"aggr": "max"}])
def test_a_model_of_pyg_runs_on_the_kernels(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_aggregation, "SMALL", 1)
    launch = device.gpu_kernels("launch")
    launched: list[Any] = []
    run = launch.launch

    def note(kernel: Any, *arguments: Any, **constants: Any) -> None:
        launched.append(kernel)
        run(kernel, *arguments, **constants)

    monkeypatch.setattr(launch, "launch", note)
    torch.manual_seed(0)
    theirs = GENConv(3, 4, edge_dim=2, **options).double()
    ours = deepergcn.accelerate(GENConv(3, 4, edge_dim=2, **options).double())
    ours.load_state_dict(theirs.state_dict())
    x, edge_index = torch.randn(5, 3, dtype=torch.float64), torch.randint(4, (2, 20))
    edge_attr = torch.rand(20, 2, dtype=torch.float64)
    results: list[list[Tensor]] = []
    for model in (theirs, ours):
        out = model(x, edge_index, edge_attr)
        results.append([out.detach(), *torch.autograd.grad(out.square().sum(), list(model.parameters()))])
        assert bool(launched) == (model is ours)
    for got, expected in zip(*reversed(results), strict=True):
        torch.testing.assert_close(got, expected)


@pytest.mark.usefixtures("fake_gpu")
@pytest.mark.parametrize("options", [{"aggr": "softmax", "learn_t": True}, {"aggr": "powermean", "learn_p": True}])
def test_no_layer_of_an_accelerated_model_is_waited_for(options: dict[str, Any]) -> None:
    """The device meta cannot be read: a layer that compares edges, or looks at p, would fail."""
    with torch.device("meta"):
        layers = [deepergcn.accelerate(GENConv(4, 4, **options)) for _ in range(2)]
        x, edge_index = torch.empty(30, 4), torch.empty(2, 2000, dtype=torch.int64)
    known = [cached_adjacency(edge_index, 30, 30)]
    for layer in layers:
        x = layer(x, edge_index)
        known.append(cached_adjacency(edge_index, 30, 30))
    x.sum().backward()
    assert all(adjacency is known[0] for adjacency in known)
    edge_index[0] = 0  # the version counter tells
    assert cached_adjacency(edge_index, 30, 30) is not known[0]
    edge_index.data = torch.empty(2, 2001, dtype=torch.int64, device="meta")
    assert cached_adjacency(edge_index, 30, 30).num_edges == 2001


def test_a_power_of_zero_gives_what_pyg_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU nobody looks whether p is 0, so that the fast path has to be right there too."""
    theirs = PowerMeanAggregation(p=0.0, learn=True)
    adjacency = cached_adjacency(torch.tensor([[0, 1, 2], [1, 1, 0]]), 3, 3)
    m = torch.rand(3, 4) + 0.5
    expected = theirs(m[[0, 1, 2]], torch.tensor([1, 1, 0]), dim_size=3)
    assert expected.unique().tolist() == [0.0, 1.0]
    monkeypatch.setattr(fast_aggregation, "_is_unread", lambda p: True)
    found = fast_aggregation._power_mean(theirs, m, adjacency)
    assert found is not None
    assert torch.equal(found, expected)


def test_a_gpu_without_triton_is_left_to_pyg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "find_spec", lambda name: None)
    assert not device._has_triton(0)


def test_a_gpu_of_amd_is_left_to_plain_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "hip", "6.4")
    assert not device._has_triton(0)


@pytest.mark.parametrize(("capability", "fits"), [((6, 1), False), ((7, 0), True), ((9, 0), True)])
def test_an_old_gpu_is_left_to_plain_pytorch(
    capability: tuple[int, int], fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("triton")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda index: capability)
    assert device._has_triton(0) == fits
