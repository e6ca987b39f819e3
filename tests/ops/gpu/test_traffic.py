"""The table of docs/gpu.md is what the kernels' loads and stores add up to."""

import pytest

from tests.ops.gpu.conftest import ALL

traffic = pytest.importorskip("benchmarks.traffic")


@pytest.mark.parametrize("case", traffic.CASES if ALL else ["mean, none"])
def test_the_documented_bytes_are_the_counted_ones(case: str) -> None:
    assert traffic.row(case) in traffic.DOCUMENT.read_text().splitlines()
