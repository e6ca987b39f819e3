"""Adam with all moments in one block: bit for bit PyTorch's, and its states can be exchanged with it."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from deepergcn.training import adam
from deepergcn.training.adam import FlatAdam


def weights() -> list[nn.Parameter]:
    """Weights of several shapes, types and layouts; the last never has a gradient."""
    generator = torch.Generator().manual_seed(0)
    made = [torch.randn(shape, generator=generator) for shape in ((3, 5), (7,), (), (4, 1), (33,), (2, 2))]
    return [nn.Parameter(t) for t in (*made[:4], made[4].double(), made[0].clone().t(), made[5])]


def give_gradients(given: Sequence[nn.Parameter], step: int) -> None:
    generator = torch.Generator().manual_seed(step)
    for number, weight in enumerate(given):
        has_one = number < len(given) - 1 and (number != 1 or step > 0)  # the second has its first one a step later
        drawn = torch.randn(weight.shape, generator=generator).to(weight.dtype)
        weight.grad = torch.empty_like(weight).copy_(drawn) if has_one else None


def state_of(optimizer: torch.optim.Optimizer) -> dict[int, dict[str, Tensor]]:
    state: dict[int, dict[str, Tensor]] = optimizer.state_dict()["state"]
    return state


@pytest.mark.parametrize("at_once", [1, 3, 1000])
@pytest.mark.parametrize("decoupled", [False, True])
def test_equal_to_pytorchs_in_all_bits(decoupled: bool, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adam, "_AT_ONCE", at_once)
    ours, theirs = weights(), weights()
    options: dict[str, Any] = {"lr": 0.01, "eps": 1e-6, "weight_decay": 0.1, "decoupled_weight_decay": decoupled}
    mine, expected = FlatAdam(ours, **options), torch.optim.Adam(theirs, fused=True, **options)
    assert mine.state_dict() == expected.state_dict()
    for step in range(3):
        for given, optimizer in ((ours, mine), (theirs, expected)):
            give_gradients(given, step)
            optimizer.step()
    assert_close(ours, theirs, rtol=0, atol=0)
    assert_close(state_of(mine), state_of(expected), rtol=0, atol=0)
    assert mine.state_dict()["param_groups"] == expected.state_dict()["param_groups"]


def test_a_step_on_some_weights_leaves_the_others() -> None:
    ours, theirs = weights(), weights()
    mine, expected = FlatAdam(ours, lr=0.01), FlatAdam(theirs, lr=0.01)
    give_gradients(ours, 1)
    give_gradients(theirs, 1)
    mine.step_on(ours[4:])
    assert sorted(state_of(mine)) == [4, 5]
    assert_close([w.detach() for w in ours[:4]], [w.detach() for w in weights()[:4]], rtol=0, atol=0)
    mine.step_on(ours[:4])
    expected.step()
    assert_close((ours, state_of(mine)), (theirs, state_of(expected)), rtol=0, atol=0)


def test_states_are_exchanged_with_pytorchs() -> None:
    ours, theirs = weights(), weights()
    mine, expected = FlatAdam(ours, lr=0.01), torch.optim.Adam(theirs, lr=0.01, fused=True)
    give_gradients(theirs, 1)
    expected.step()
    mine.load_state_dict(expected.state_dict())
    with torch.no_grad():
        for to, source in zip(ours, theirs, strict=True):
            to.copy_(source)
    for given, optimizer in ((ours, mine), (theirs, expected)):
        give_gradients(given, 2)
        optimizer.step()
    assert_close((ours, state_of(mine)), (theirs, state_of(expected)), rtol=0, atol=0)
    mine.load_state_dict(FlatAdam(weights(), lr=0.01).state_dict())
    assert state_of(mine) == {}


def test_the_moments_are_in_one_block() -> None:
    ours = [nn.Parameter(torch.zeros(3)) for _ in range(5)]
    optimizer = FlatAdam(ours, lr=0.01)
    give_gradients(ours, 1)
    optimizer.step()
    states = state_of(optimizer).values()
    assert (
        len({state[name].untyped_storage().data_ptr() for state in states for name in ("exp_avg", "exp_avg_sq")}) == 1
    )
