"""MsgNorm is equation (5)."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from deepergcn.errors import InputError
from deepergcn.nn import MessageNorm
from tests.ops.graphs import DTYPES


@given(dtype=st.sampled_from(DTYPES), nodes=st.integers(0, 6), channels=st.integers(1, 5), s=st.floats(-3, 3))
def test_the_message_gets_the_length_of_the_vertex_times_s(
    dtype: torch.dtype, nodes: int, channels: int, s: float
) -> None:
    generator = torch.Generator().manual_seed(nodes)
    h, m = torch.randn(2, nodes, channels, generator=generator, dtype=dtype)
    out = MessageNorm(s=s).to(dtype)(h, m)
    assert_close(out.norm(dim=1), abs(s) * h.norm(dim=1))
    assert_close(out, s * h.norm(dim=1, keepdim=True) * m / m.norm(dim=1, keepdim=True))


def test_an_empty_message_stays_zero_and_has_a_finite_gradient() -> None:
    m = torch.zeros(2, 3, requires_grad=True)
    h = torch.tensor([[0.0, 0.0, 0.0], [1.0, 2.0, 2.0]], requires_grad=True)
    out = MessageNorm()(h, m)
    assert (out == 0).all()
    out.sum().backward()
    assert h.grad is not None
    assert m.grad is not None
    assert h.grad.isfinite().all()
    assert m.grad.isfinite().all()


def test_gradients_of_s_and_both_features() -> None:
    norm = MessageNorm(s=0.7).double()
    h, m = torch.randn(2, 4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).unbind()
    h, m = h.requires_grad_(), m.requires_grad_()
    s = norm.get_parameter("s")
    assert torch.autograd.gradcheck(lambda h, m, s: torch.func.functional_call(norm, {"s": s}, (h, m)), (h, m, s))


def test_s_is_learned_or_fixed() -> None:
    assert [p.shape for p in MessageNorm().parameters()] == [()]
    assert MessageNorm().dynamics() == {"s": 1.0}
    assert not list(MessageNorm(learn_s=False, s=2.0).parameters())
    assert MessageNorm(learn_s=False, s=2.0).dynamics() == {"s": 2.0}


def test_s_must_be_finite() -> None:
    with pytest.raises(InputError, match="s: expected a finite number, got nan"):
        MessageNorm(s=float("nan"))
