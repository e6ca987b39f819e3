"""Networks in PyTorch's modes: tensors without numbers, and hooks on every module."""

from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from deepergcn.nn import DeeperGCN, DyResGEN, RevGEN


@pytest.mark.parametrize("cls", [DyResGEN, RevGEN])
@pytest.mark.parametrize("place", [FakeTensorMode, lambda: torch.device("meta")], ids=["fake", "meta"])
def test_tensors_without_numbers(place: Any, cls: Any) -> None:
    with place():
        model = cls(4, 3, hidden_channels=8, num_layers=2)
        out = model(torch.randn(7, 4), torch.zeros(2, 20, dtype=torch.int64))
        out.sum().backward()
    assert out.shape == (7, 3)
    assert all(p.grad is not None and p.grad.shape == p.shape for p in model.parameters())


@pytest.mark.parametrize("block", ["res+", "res", "plain"])
@pytest.mark.parametrize("level", ["node", "graph"])
def test_a_hook_on_a_layer_or_a_norm_is_called_with_and_without_virtual_nodes(level: Any, block: str) -> None:
    torch.manual_seed(0)
    options: dict[str, Any] = {"level": level, "virtual_node": level == "graph", "block": block}
    model = DeeperGCN(4, 3, hidden_channels=8, num_layers=3, norm="batch", **options).eval()
    x, edge_index = torch.randn(7, 4), torch.randint(7, (2, 20))
    expected = model(x, edge_index)
    called = []
    for name, module in model.named_modules():
        module.register_forward_hook(lambda *_, name=name: called.append(name))
    torch.testing.assert_close(model(x, edge_index), expected)
    lists = {name for name, module in model.named_modules() if isinstance(module, torch.nn.ModuleList)}
    assert set(called) == {name for name, _ in model.named_modules()} - lists
