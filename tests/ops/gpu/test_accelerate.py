"""``deepergcn.accelerate`` on a GPU: PyG's models by the GPU's kernels, with PyG's results."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.nn import GENConv

import deepergcn
from deepergcn.nn.pyg import fast_aggregation
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


def test_a_gpu_without_triton_is_left_to_pyg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "find_spec", lambda name: None)
    assert not device._has_triton(0)


@pytest.mark.parametrize(("capability", "fits"), [((6, 1), False), ((7, 0), True), ((9, 0), True)])
def test_an_old_gpu_is_left_to_plain_pytorch(
    capability: tuple[int, int], fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("triton")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda index: capability)
    assert device._has_triton(0) == fits
