"""Batch normalization over processes: in one process the same as torch's, with one exchange in each direction."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from deepergcn.nn.norm_relu_dropout import norm_relu_dropout
from deepergcn.nn.norms import BatchNorm
from deepergcn.training.processes.batch_norm import SynchronizedBatchNorm


@pytest.fixture
def exchanges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A group of this process alone; the names of the exchanges in it."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/group", rank=0, world_size=1)
    names: list[str] = []
    for name in ("all_gather", "all_reduce"):
        original = getattr(torch.distributed, name)

        def counted(*args: Any, name: str = name, original: Any = original) -> Any:
            names.append(name)
            return original(*args)

        monkeypatch.setattr(torch.distributed, name, counted)
    yield names
    torch.distributed.destroy_process_group()


def test_values_gradients_and_statistics_are_those_of_one_process(exchanges: list[str]) -> None:
    torch.manual_seed(0)
    plain = BatchNorm(3).double()
    with torch.no_grad():
        plain.weight.uniform_(0.5, 2)
        plain.bias.uniform_(-1, 1)
    torch.manual_seed(1)
    x = 100 + torch.randn(50, 3, dtype=torch.float64)
    direction = torch.randn(50, 3, dtype=torch.float64)
    copy = BatchNorm(3).double()
    copy.load_state_dict(plain.state_dict())
    results = []
    for norm in (plain, SynchronizedBatchNorm(copy)):
        given = x.clone().requires_grad_()
        out = norm(given)
        (out * direction).sum().backward()
        grads = [p.grad for p in norm.parameters()]
        results.append((out, given.grad, grads, norm.running_mean, norm.running_var, norm.num_batches_tracked))
    assert_close(results[1], results[0], rtol=1e-9, atol=1e-9)
    assert exchanges == ["all_gather", "all_gather"]


def test_gradcheck(exchanges: list[str]) -> None:
    norm = SynchronizedBatchNorm(BatchNorm(2).double())
    x = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(norm, (x,), fast_mode=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("relu", [True, False])
def test_with_relu_and_dropout_it_is_the_operator_of_one_process(
    dtype: torch.dtype, relu: bool, exchanges: list[str]
) -> None:
    torch.manual_seed(0)
    plain, copy = BatchNorm(5).to(dtype), BatchNorm(5).to(dtype)
    with torch.no_grad():
        plain.weight.uniform_(0.5, 2)
        plain.bias.uniform_(-1, 1)
    copy.load_state_dict(plain.state_dict())
    x, direction = 3 + torch.randn(60, 5, dtype=dtype), torch.randn(60, 5, dtype=dtype)
    results: list[tuple[Tensor | None, ...]] = []
    for norm in (plain, SynchronizedBatchNorm(copy)):
        for training in (True, False):
            norm.train(training)
            torch.manual_seed(1)
            given = x.clone().requires_grad_()
            out = norm_relu_dropout(norm, given, 0.4, training, relu)
            (out * direction).sum().backward()
            results.append((out, given.grad, norm.running_mean, norm.running_var))
        results.append(tuple(parameter.grad for parameter in norm.parameters()))
    exact = 1e-9 if dtype == torch.float64 else 1e-4
    assert_close(results[3:], results[:3], rtol=exact, atol=exact)
    assert exchanges == ["all_gather", "all_gather"]
    trained = results[3][0]
    assert trained is not None
    assert 0.2 < float((trained == 0).double().mean()) < 0.9


def test_autocast_keeps_the_type_of_the_features(exchanges: list[str]) -> None:
    norm = SynchronizedBatchNorm(BatchNorm(4))
    x = torch.randn(9, 4, dtype=torch.bfloat16, requires_grad=True)
    out = norm_relu_dropout(norm, x, 0.0, True)
    out.float().sum().backward()
    assert out.dtype == torch.bfloat16
    assert x.grad is not None
    assert x.grad.dtype == torch.bfloat16
