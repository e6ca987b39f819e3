"""Small graphs take the fast path in these tests, unless a test says otherwise."""

import pytest

from deepergcn.nn.pyg import fast_aggregation


@pytest.fixture(autouse=True)
def _fast_path_for_small_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_aggregation, "SMALL", 0)
