"""Normalizations by name, and batch normalization of the smallest batches."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize, prune
from torch.testing import assert_close

from deepergcn.errors import InputError
from deepergcn.nn.norm_relu_dropout import norm_relu_dropout
from deepergcn.nn.norms import BatchNorm, build_norm


def test_names() -> None:
    assert build_norm(None, 4) is None
    assert isinstance(build_norm("batch", 4), nn.BatchNorm1d)
    assert isinstance(build_norm("layer", 4), nn.LayerNorm)
    with pytest.raises(InputError, match="norm: expected one of batch, layer, instance, pair or None, got 'group'"):
        build_norm("group", 4)  # type: ignore[arg-type]


def test_instance_norm_takes_each_vertex_as_an_instance() -> None:
    norm = build_norm("instance", 8)
    assert norm is not None
    x = torch.randn(3, 8)
    assert not list(norm.parameters())
    assert_close(norm(x), torch.nn.functional.instance_norm(x[:, None])[:, 0])


def test_pair_norm_takes_all_vertices_together() -> None:
    norm = build_norm("pair", 4)
    assert norm is not None
    x = torch.randn(9, 4, dtype=torch.float64) * 3 + 5
    centred = x - x.mean(0)
    expected = centred / (1e-5 + centred.square().sum(1).mean()).sqrt()
    assert_close(norm(x), expected)
    assert_close(norm_relu_dropout(norm, x, 0.0, True), expected.relu())


def test_batch_norm_of_two_rows_or_more_is_torchs() -> None:
    ours, theirs = BatchNorm(3), nn.BatchNorm1d(3)
    x = torch.randn(5, 3)
    assert_close(ours(x), theirs(x))
    assert_close(ours.state_dict(), theirs.state_dict())
    assert_close(ours.eval()(x), theirs.eval()(x))


@pytest.mark.parametrize("rows", [0, 1])
def test_batch_norm_of_fewer_rows_uses_and_keeps_the_running_statistics(rows: int) -> None:
    norm = BatchNorm(3)
    norm(torch.randn(50, 3) * 2 + 1)
    before = {name: value.clone() for name, value in norm.state_dict().items()}
    x = torch.randn(rows, 3, requires_grad=True)
    out = norm(x)
    assert_close(norm.state_dict(), before)
    assert_close(out, norm.eval()(x))
    out.sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize("name", ["batch", "layer", None])
def test_norm_relu_dropout_is_the_three_in_a_row(name: Any) -> None:
    norm = build_norm(name, 6)
    x = torch.randn(40, 6)
    normed = x if norm is None else norm(x)
    assert_close(norm_relu_dropout(norm, x, 0.0, True), normed.relu())
    assert_close(norm_relu_dropout(norm, x, 0.5, False), normed.relu() if norm is None else norm(x).relu())
    assert_close(norm_relu_dropout(norm, x, 0.0, True, relu=False), normed)
    dropped = norm_relu_dropout(norm, x.abs() + 1 if norm is None else x, 0.5, True)
    kept = dropped != 0
    assert_close(dropped[kept], 2 * (x.abs() + 1 if norm is None else normed)[kept])
    assert 0.1 < kept.float().mean() < 0.7


class Doubled(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return 2 * weight


class DoublingLayerNorm(nn.LayerNorm):
    def forward(self, input: Tensor) -> Tensor:
        return 2 * super().forward(input)


class DoublingBatchNorm(nn.BatchNorm1d):
    def forward(self, input: Tensor) -> Tensor:
        return 2 * super().forward(input)


def _with_own_forward(norm: nn.Module) -> None:
    norm.forward = lambda x: 2 * x


CHANGES: dict[str, Any] = {
    "hook": lambda norm: norm.register_forward_hook(lambda module, inputs, output: 2 * output),
    "pre-hook": lambda norm: norm.register_forward_pre_hook(lambda module, inputs: (inputs[0] ** 2,)),
    "pruned": lambda norm: prune.random_unstructured(norm, "weight", amount=3),
    "computed weight": lambda norm: parametrize.register_parametrization(norm, "weight", Doubled()),
    "forward": _with_own_forward,
    "none": lambda norm: None,
}


@pytest.mark.parametrize("norm", [BatchNorm, nn.LayerNorm, DoublingBatchNorm, DoublingLayerNorm])
@pytest.mark.parametrize("change", CHANGES)
def test_a_norm_that_was_changed_is_called(norm: Any, change: str) -> None:
    torch.manual_seed(0)
    module = norm(6).eval()
    CHANGES[change](module)
    x = torch.randn(40, 6)
    for _ in range(2):  # a pruned weight is made anew in every forward
        expected, found = module(x).relu(), norm_relu_dropout(module, x, 0.5, False)
        assert_close(found, expected)
        if change == "forward":
            continue
        weights = list(module.parameters())
        gradients = [torch.autograd.grad(out.square().sum(), weights) for out in (found, expected)]
        assert_close(*gradients)
        with torch.no_grad():
            weights[0].mul_(1.5)
