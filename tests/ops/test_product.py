"""Products by oneDNN have the values and gradients of PyTorch's, up to rounding, and step aside for what it cannot do.

They are switched on here on every processor that has them, also where they are no faster.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import pytest
import torch
from llvmlite import binding
from torch import Tensor, nn
from torch.nn import functional as F

from deepergcn import ops
from deepergcn.nn import GENConv
from deepergcn.ops import product

GENERATOR = torch.Generator().manual_seed(0)
ROWS = [256, 300, 1024, 1024 + 64, 3000]


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes that oneDNN multiplied."""
    if not torch.backends.mkldnn.is_available() or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        pytest.skip("PyTorch has no oneDNN here")
    shapes: list[tuple[int, ...]] = []
    onednn = product._onednn

    def noted(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
        shapes.append((*a.shape, b.shape[1]))
        return onednn(a, b, bias)

    monkeypatch.setattr(product, "_is_faster_here", lambda: True)
    monkeypatch.setattr(product, "_LEAST", 1)
    monkeypatch.setattr(product, "_onednn", noted)
    return shapes


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=GENERATOR, dtype=dtype).requires_grad_()


def bound(a: Tensor, b: Tensor) -> Tensor:
    """The largest error of a b in float32, in whatever order its n terms are added: n eps |a| |b|, and a digit."""
    n = a.shape[1] + 2
    return n * torch.finfo(torch.float32).eps * (a.double().abs() @ b.double().abs() + 1)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("channels", [(64, 64), (96, 200)])
@pytest.mark.parametrize("has_bias", [True, False])
def test_values_and_gradients(
    rows: int, channels: tuple[int, int], has_bias: bool, taken: list[tuple[int, ...]]
) -> None:
    n_in, n_out = channels
    x, w, b = numbers(rows, n_in), numbers(n_out, n_in), numbers(n_out) if has_bias else None
    inputs = [x, w] if b is None else [x, w, b]
    out = product.linear(x, w, b)
    g = torch.randn(rows, n_out, generator=GENERATOR)
    dx, dw, *db = torch.autograd.grad(out, inputs, g)
    forward = [shape for shape in taken if shape[1:] == (n_in, n_out)]
    assert sum(rows for rows, *_ in forward) >= rows
    exact = [tensor.detach().double() for tensor in inputs]
    expected = exact[0] @ exact[1].t() + (exact[2] if has_bias else 0.0)
    assert ((out - expected).abs() <= bound(x, w.t()) + (1e-6 * b.abs() if b is not None else 0.0)).all()
    assert ((dx - g.double() @ exact[1]).abs() <= bound(g, w)).all()
    assert ((dw - g.double().t() @ exact[0]).abs() <= bound(g.t(), x)).all()
    for gradient in db:
        assert torch.equal(gradient, g.sum(0))


@pytest.mark.parametrize("rows", [1, 63, 64, 255, 256, 300, 1023, 1024, 1025, 1088, 2048, 5000])
def test_blocks_are_all_rows_once_in_few_sizes(rows: int) -> None:
    blocks = product._blocks(rows)
    assert [row for block in blocks for row in range(rows)[block]] == list(range(rows))
    for block in blocks:
        size = block.stop - block.start
        assert size == 1024 or size < 64 or (size < 1024 and size % 64 == 0)


def test_gradients_that_are_spread_or_turned(taken: list[tuple[int, ...]]) -> None:
    """Gradients come as one number for all, and features as a transposed matrix or every other row."""
    w = numbers(64, 64)
    for x in (numbers(64, 300).t(), numbers(600, 64)[::2]):
        out = product.linear(x, w, None)
        expected = x.detach().double() @ w.detach().double().t()
        assert ((out - expected).abs() <= bound(x, w.t())).all()
        (dw,) = torch.autograd.grad(out.sum(), w)
        exact = torch.ones(64, 300, dtype=torch.float64) @ x.detach().double()
        assert ((dw - exact).abs() <= bound(torch.ones(64, 300), x)).all()
    assert taken


def test_rows_are_the_same_in_every_call(taken: list[tuple[int, ...]]) -> None:
    x, w = numbers(700, 128), numbers(128, 128)
    assert torch.equal(product.linear(x, w, None), product.linear(x.clone(), w.clone(), None))


def test_gradients_of_gradients(taken: list[tuple[int, ...]]) -> None:
    x, w = numbers(256, 64), numbers(64, 64)

    def penalty(linear: Callable[[Tensor, Tensor, Tensor | None], Tensor], x: Tensor, w: Tensor) -> list[Tensor]:
        (dx,) = torch.autograd.grad(linear(x, w, None).square().sum(), x, create_graph=True)
        return list(torch.autograd.grad(dx.square().sum(), (x, w)))

    exact = penalty(F.linear, x.detach().double().requires_grad_(), w.detach().double().requires_grad_())
    for found, expected in zip(penalty(product.linear, x, w), exact, strict=True):
        assert torch.allclose(found.double(), expected, rtol=1e-3, atol=1e-5 * float(expected.abs().max()))
    assert taken


def test_only_what_is_asked_for_is_computed(taken: list[tuple[int, ...]]) -> None:
    x, w = numbers(256, 64).detach(), numbers(64, 64)
    product.linear(x, w, None).sum().backward()
    assert taken == [(256, 64, 64), (64, 256, 64)]


def steps_aside(change: str) -> tuple[Tensor, Tensor]:
    x, w = numbers(256, 64), numbers(64, 64)
    if change == "float64":
        return x.double(), w.double()
    if change == "few rows":
        return x[:255], w
    if change == "few channels":
        return x[:, :63], w[:, :63]
    return x, w


@pytest.mark.filterwarnings("ignore:TF32 acceleration")  # of the switch itself
@pytest.mark.parametrize("change", ["float64", "few rows", "few channels", "plain path", "autocast", "off"])
def test_steps_aside(change: str, taken: list[tuple[int, ...]]) -> None:
    x, w = steps_aside(change)
    contexts: dict[str, AbstractContextManager[object]] = {
        "plain path": ops.plain_path(),
        "autocast": torch.autocast("cpu", torch.bfloat16),
        "off": torch.backends.mkldnn.flags(enabled=False),
    }
    with contexts.get(change, nullcontext()):
        assert torch.equal(product.linear(x, w, None), F.linear(x, w))
    assert not taken


def test_under_a_transform_pytorch_multiplies(taken: list[tuple[int, ...]]) -> None:
    x, w = numbers(2, 256, 64), numbers(64, 64)
    found = torch.func.vmap(lambda rows: product.linear(rows, w, None))(x)
    assert torch.allclose(found, F.linear(x, w), atol=1e-4)
    assert not taken


def test_a_convolution_uses_it_unless_its_layer_is_watched(taken: list[tuple[int, ...]]) -> None:
    conv = GENConv(64, 64, mlp_layers=1)
    adjacency = ops.Adjacency.from_edge_index(torch.randint(256, (2, 900), generator=GENERATOR), 256)
    x = numbers(256, 64)
    out = conv(x, adjacency)
    assert (256, 64, 64) in taken
    taken.clear()
    seen: list[nn.Module] = []
    conv.mlp[0].register_forward_hook(lambda module, *_: seen.append(module))
    assert torch.allclose(conv(x, adjacency), out, atol=1e-4)
    assert seen == [conv.mlp[0]]
    assert not taken


@pytest.mark.parametrize("default", ["meta", "float64"])
def test_the_users_defaults_change_nothing(default: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked once, perhaps where a model is built on another device or with other numbers."""
    if not torch.backends.mkldnn.is_available() or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        pytest.skip("PyTorch has no oneDNN here")
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    monkeypatch.setattr(binding, "get_host_cpu_name", lambda: "znver4")
    try:
        if default == "meta":
            torch.set_default_device("meta")
        else:
            torch.set_default_dtype(torch.float64)
        assert product._is_faster_here.__wrapped__()
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)


def test_an_operator_that_changed_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an internal one of PyTorch: without it, or with other numbers, PyTorch multiplies."""

    def gone(*_: object) -> Tensor:
        raise AttributeError("no such operator")

    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    monkeypatch.setattr(binding, "get_host_cpu_name", lambda: "znver4")
    for other in (gone, lambda a, b, bias=None: a @ b):
        monkeypatch.setattr(product, "_onednn", other)
        assert not product._is_faster_here.__wrapped__()
