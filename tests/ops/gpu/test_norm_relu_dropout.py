"""The GPU's normalization, ReLU and dropout against PyTorch's, and its mask against the CPU's."""

import pytest
import torch
from torch import nn

from deepergcn.nn.norm_relu_dropout import norm_relu_dropout
from deepergcn.ops import norm_relu_dropout as ops
from deepergcn.ops.operators import device
from tests.ops import test_extremes as extremes
from tests.ops import test_norm_relu_dropout as on_cpu
from tests.ops.gpu.conftest import ALL


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64] if ALL else [torch.float32])
@pytest.mark.parametrize("relu", [True, False] if ALL else [True])
@pytest.mark.parametrize("training", [True, False] if ALL else [True])
@pytest.mark.parametrize("name", on_cpu.NORMS if ALL else ["layer", "batch"])
def test_equals_pytorch(
    name: str, training: bool, relu: bool, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_cpu, "ROWS", 500 if ALL else 70)
    on_cpu.test_equals_pytorch(name, training, relu, dtype)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_moments_of_a_batch_far_from_zero(dtype: torch.dtype) -> None:
    extremes.test_moments_of_a_batch_far_from_zero(dtype)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("rows", [0, 1])
def test_next_to_no_rows(rows: int) -> None:
    on_cpu.test_next_to_no_rows(rows)


@pytest.mark.parametrize("dropout", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("seed", [0, 7, 2**31, 2**32 + 5, 2**63 - 2])
def test_the_same_seed_gives_the_same_mask_on_both_devices(
    seed: int, dropout: float, request: pytest.FixtureRequest
) -> None:
    x = torch.ones(70, 37)
    arguments = (None, None, None, None, torch.tensor(seed), "none", 1e-5, True, dropout)
    expected = ops._forward(x, *arguments)[0]
    request.getfixturevalue("interpreted")
    assert ops.passes_of(x) is device.gpu_kernels("norm_relu_dropout")
    assert torch.equal(ops._forward(x, *arguments)[0], expected)


@pytest.mark.parametrize("name", ["layer", "batch"])
def test_forward_and_backward_drop_the_same_on_both_devices(name: str, request: pytest.FixtureRequest) -> None:
    results = []
    for on_gpu in (False, True):
        if on_gpu:
            request.getfixturevalue("interpreted")
        norm, _ = on_cpu.pair(name, torch.float64)
        assert norm is not None
        x = torch.randn(70, 37, generator=torch.Generator().manual_seed(1), dtype=torch.float64).requires_grad_()
        torch.manual_seed(3)
        out = norm_relu_dropout(norm, x, 0.4, training=True)
        results.append((out, *torch.autograd.grad(out.square().sum(), (x, *norm.parameters()))))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("norm", [nn.LayerNorm(37), nn.BatchNorm1d(37)])
def test_16_bits_are_stored_and_32_summed(norm: nn.Module, dtype: torch.dtype) -> None:
    stored = torch.randn(20, 37, generator=torch.Generator().manual_seed(1)).to(dtype).requires_grad_()
    exact = stored.detach().float().requires_grad_()
    out = norm_relu_dropout(norm, stored, 0.0, training=True)
    expected = norm(exact).relu()
    assert out.dtype == dtype
    rounding = torch.finfo(dtype).eps
    torch.testing.assert_close(out.float(), expected, rtol=rounding, atol=rounding)
    ours, theirs = (torch.autograd.grad(y.sum(), x)[0].float() for y, x in ((out, stored), (expected, exact)))
    torch.testing.assert_close(ours, theirs, rtol=rounding, atol=4 * rounding)
