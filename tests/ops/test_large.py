"""Sums and products of large features are PyTorch's own, bit for bit, in memory that is used again; here small ones."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from deepergcn import ops
from deepergcn.nn import GENConv, ResGEN
from deepergcn.ops import large, product
from deepergcn.ops.kernels import recycled

GENERATOR = torch.Generator().manual_seed(0)
EDGES = torch.randint(30, (2, 200), generator=GENERATOR)


@pytest.fixture
def all_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recycled, "LEAST", 1)


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=GENERATOR, dtype=dtype).requires_grad_()


def twice_used(x: Tensor) -> Tensor:
    first, second = large.twice(x)
    return first.exp() * second


PAIRS: dict[str, tuple[Callable[..., Tensor], Callable[..., Tensor], list[tuple[int, ...]]]] = {
    "add": (large.add, lambda a, b: a + b, [(7, 3), (7, 3)]),
    "add rows": (large.add, lambda a, b: a + b, [(7, 3), (3,)]),
    "twice": (twice_used, lambda x: x.exp() * x, [(7, 3)]),
    "linear": (product.linear, F.linear, [(70, 30), (20, 30), (20,)]),
    "no bias": (lambda x, w: product.linear(x, w, None), F.linear, [(70, 30), (20, 30)]),
}


@pytest.mark.parametrize("name", PAIRS)
def test_values_and_gradients_are_those_of_pytorch(name: str, all_large: None) -> None:
    ours, pytorch, shapes = PAIRS[name]
    inputs = [numbers(*shape) for shape in shapes]
    found, expected = ours(*inputs), pytorch(*inputs)
    assert torch.equal(found, expected)
    g = torch.randn(found.shape, generator=GENERATOR)
    for dx, exact in zip(torch.autograd.grad(found, inputs, g), torch.autograd.grad(expected, inputs, g), strict=True):
        assert torch.equal(dx, exact)


@pytest.mark.parametrize("name", PAIRS)
def test_gradients_of_gradients(name: str, all_large: None) -> None:
    ours, _, shapes = PAIRS[name]
    inputs = [numbers(*(min(n, 4) for n in shape), dtype=torch.float64) for shape in shapes]
    assert torch.autograd.gradcheck(ours, inputs, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(ours, inputs)


def test_a_use_without_a_gradient(all_large: None) -> None:
    x = numbers(4, 3)
    first, _ = large.twice(x)
    first.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, torch.ones(4, 3))


def test_a_network_has_the_bits_of_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    network = ResGEN(5, 2, hidden_channels=16, num_layers=4, dropout=0.3, mlp_layers=2)
    network.recompute_segments((2, 1))
    x = torch.randn(30, 5, generator=GENERATOR)
    results = []
    for least in (1 << 40, 1):
        monkeypatch.setattr(recycled, "LEAST", least)
        torch.manual_seed(1)
        network.zero_grad()
        out = network(x, EDGES)
        out.square().sum().backward()
        results.append([out, *(parameter.grad for parameter in network.parameters())])
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


def test_the_last_product_of_layers_computed_again_is_left_out(
    all_large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    products: list[None] = []
    forward = product._Product.forward

    def counted(*arguments: Tensor) -> Tensor:
        products.append(None)
        return forward(*arguments)

    monkeypatch.setattr(product._Product, "forward", staticmethod(counted))
    network = ResGEN(5, 2, hidden_channels=16, num_layers=4, mlp_layers=1)
    network.recompute_segments((2, 1))
    network(torch.randn(30, 5), EDGES).sum().backward()
    assert len(products) == 4 + 1


def test_a_watched_layer_is_called(all_large: None) -> None:
    conv = GENConv(4, 4, mlp_layers=1)
    seen: list[nn.Module] = []
    conv.mlp[0].register_forward_hook(lambda module, *_: seen.append(module))
    adjacency = ops.Adjacency.from_edge_index(EDGES, 30)
    conv(torch.randn(30, 4), adjacency)
    assert seen == [conv.mlp[0]]


def test_autocast_and_traces_are_left_to_pytorch(all_large: None) -> None:
    x = torch.randn(4, 3)
    with torch.autocast("cpu", torch.bfloat16):
        assert not large.is_large(x)
    with ops.plain_path():
        assert not large.is_large(x)
    assert large.is_large(x)
