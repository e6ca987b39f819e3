"""The fused normalization, ReLU and dropout against PyTorch's own three, and the properties of its mask."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from deepergcn.nn.norm_relu_dropout import norm_relu_dropout
from tests.bounds import assert_sums_equal

ROWS = 500

NORMS: dict[str, Callable[[], nn.Module | None]] = {
    "none": lambda: None,
    "layer": lambda: nn.LayerNorm(37),
    "layer, no affine": lambda: nn.LayerNorm(37, elementwise_affine=False),
    "batch": lambda: nn.BatchNorm1d(37),
    "batch, no affine": lambda: nn.BatchNorm1d(37, affine=False),
    "batch, cumulative": lambda: nn.BatchNorm1d(37, momentum=None),
    "batch, no running": lambda: nn.BatchNorm1d(37, track_running_stats=False),
}


def pair(name: str, dtype: torch.dtype) -> tuple[nn.Module | None, nn.Module | None]:
    """Two equal norms with weights of their own."""
    norms = []
    for _ in range(2):
        torch.manual_seed(5)
        norm = NORMS[name]()
        if norm is not None:
            norm = norm.to(dtype)
            for parameter in norm.parameters():
                nn.init.normal_(parameter)
        norms.append(norm)
    return norms[0], norms[1]


def close(got: Tensor | None, expected: Tensor | None, magnitude: float = 16.0) -> None:
    """Equal to the rounding of sums over 500 rows; values and gradients of x are of size 16 at most."""
    assert got is not None
    assert expected is not None
    assert_sums_equal(got, expected, magnitude, ROWS)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("relu", [True, False])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", NORMS)
def test_equals_pytorch(name: str, training: bool, relu: bool, dtype: torch.dtype) -> None:
    ours, theirs = pair(name, dtype)
    generator = torch.Generator().manual_seed(1)
    for _ in range(3):
        data = torch.randn(ROWS, 37, generator=generator, dtype=dtype) * 3 + 1
        weight = torch.randn(ROWS, 37, generator=generator, dtype=dtype)
        x, y = data.clone().requires_grad_(), data.clone().requires_grad_()
        for norm in (ours, theirs):
            if norm is not None:
                norm.train(training)
        out = norm_relu_dropout(ours, x, 0.5 if not training else 0.0, training, relu)
        expected = y if theirs is None else theirs(y)
        expected = F.relu(expected) if relu else expected
        close(out, expected)
        (out * weight).sum().backward()
        (expected * weight).sum().backward()
        close(x.grad, y.grad)
    if ours is not None and theirs is not None:
        for mine, its in zip(ours.parameters(), theirs.parameters(), strict=True):
            close(mine.grad, its.grad, magnitude=4.0 * ROWS)
        for kept, known in zip(ours.buffers(), theirs.buffers(), strict=True):
            if kept.is_floating_point():
                close(kept, known)
            else:
                assert torch.equal(kept, known)


@pytest.mark.parametrize("name", ["none", "layer", "batch"])
def test_gradients_through_the_mask(name: str) -> None:
    norm, _ = pair(name, torch.float64)
    x = torch.randn(9, 37, dtype=torch.float64, requires_grad=True)

    def same_mask(x: Tensor, *parameters: Tensor) -> Tensor:
        torch.manual_seed(0)
        return norm_relu_dropout(norm, x, 0.4, True)

    parameters = [] if norm is None else list(norm.parameters())
    assert torch.autograd.gradcheck(same_mask, (x, *parameters))


def mask(rows: int, channels: int, p: float, seed: int) -> Tensor:
    torch.manual_seed(seed)
    return norm_relu_dropout(None, torch.ones(rows, channels), p, True)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_the_mask_keeps_the_right_share_and_scales_it(p: float) -> None:
    out = mask(4000, 256, p, seed=2)
    kept = out != 0
    torch.testing.assert_close(out[kept], torch.full_like(out[kept], 1 / (1 - p)))
    spread = (p * (1 - p)) ** 0.5
    assert abs(kept.float().mean() - (1 - p)) < 5 * spread / kept.numel() ** 0.5
    # rows, columns and neighbours vary as independent draws do
    assert kept.float().mean(dim=1).std() == pytest.approx(spread / 256**0.5, rel=0.1)
    assert kept.float().mean(dim=0).std() == pytest.approx(spread / 4000**0.5, rel=0.2)
    for a, b in ((kept[:, 1:], kept[:, :-1]), (kept[1:], kept[:-1])):
        pairs = torch.stack([a.flatten(), b.flatten()]).double()
        assert torch.corrcoef(pairs)[0, 1].abs() < 0.005


def test_same_seed_same_mask_for_any_number_of_threads() -> None:
    threads = torch.get_num_threads()
    try:
        masks = []
        for count in (1, 2):
            torch.set_num_threads(count)
            masks.append(mask(3000, 64, 0.5, seed=7))
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(masks[0], masks[1])
    other = mask(3000, 64, 0.5, seed=8)
    assert not torch.equal(masks[0], other)
    assert ((masks[0] != 0) == (other != 0)).float().mean() == pytest.approx(0.5, abs=0.01)


def test_each_call_draws_a_mask_of_its_own() -> None:
    torch.manual_seed(0)
    first, second = (norm_relu_dropout(None, torch.ones(50, 50), 0.5, True) for _ in range(2))
    assert not torch.equal(first, second)


def test_bfloat16_comes_back_as_it_went_in() -> None:
    norm = nn.LayerNorm(37)
    x = torch.randn(20, 37)
    out = norm_relu_dropout(norm, x.bfloat16(), 0.0, True)
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out.float(), F.relu(norm(x.bfloat16().float())), rtol=2**-7, atol=2**-7)


@pytest.mark.parametrize("rows", [0, 1])
def test_next_to_no_rows(rows: int) -> None:
    norm = nn.BatchNorm1d(4)
    before = norm.running_mean.clone() if norm.running_mean is not None else None
    x = torch.randn(rows, 4, requires_grad=True)
    out = norm_relu_dropout(norm, x, 0.5, True)
    assert out.shape == (rows, 4)
    out.sum().backward()
    assert torch.equal(norm.running_mean, before)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["none", "batch"])
@pytest.mark.parametrize("value", [torch.inf, -torch.inf, torch.nan])
def test_a_value_that_is_not_finite_has_the_gradient_of_relu(value: float, name: str) -> None:
    x, (norm, same) = torch.randn(ROWS, 37), pair(name, torch.float32)
    x[2, 1] = value
    grads = []
    for make in (
        lambda h: norm_relu_dropout(norm and norm.eval(), h, 0.5, False),
        same.eval() if same else nn.Identity(),
    ):
        leaf = x.clone().requires_grad_()
        F.relu(make(leaf)).sum().backward()
        grads.append(leaf.grad)
    torch.testing.assert_close(grads[0], grads[1])
