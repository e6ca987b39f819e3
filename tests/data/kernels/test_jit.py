"""Kernels that are compiled, and work that is shared out to threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepergcn.data.kernels.jit import compiled, in_pieces


@given(st.integers(0, 50), st.integers(1, 60))
def test_pieces_cover_everything_once(count: int, piece: int) -> None:
    visits = np.zeros(count, dtype=np.int64)

    def visit(start: int, stop: int) -> None:
        assert 0 < stop - start <= piece
        visits[start:stop] += 1

    in_pieces(count, visit, piece)
    assert visits.tolist() == [1] * count


def test_error_in_a_piece_comes_out() -> None:
    def fail(start: int, stop: int) -> None:
        raise ZeroDivisionError(f"{start} to {stop}")

    with pytest.raises(ZeroDivisionError, match="0 to 2"):
        in_pieces(5, fail, 2)


def test_kernel_runs_where_no_folder_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepergcn.data.kernels.jit._FOLDER", None)

    @compiled
    def double(x: int) -> int:
        return 2 * x

    assert double(21) == 42
