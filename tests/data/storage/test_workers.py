"""Work in other processes: the results in order or as they come, and one line where a process is killed."""

import os
import signal
import time
from collections.abc import Iterator
from itertools import count

import pytest

from deepergcn.data.storage.workers import in_processes
from deepergcn.errors import TemporaryError


def _square(number: int) -> int:
    if number < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def test_results_come_in_order_or_as_they_are_ready() -> None:
    calls = [(number,) for number in range(20)]
    assert list(in_processes(_square, calls, 2)) == [number * number for number in range(20)]
    assert sorted(in_processes(_square, calls, 2, large=True)) == [number * number for number in range(20)]


@pytest.mark.parametrize("large", [False, True])
def test_results_that_are_not_wanted_leave_no_failure_behind(large: bool) -> None:
    """Closing ends work without an end. Pytest turns a failure in a thread of the pool into one of the test."""
    asked: list[int] = []

    def calls() -> Iterator[tuple[int]]:
        for number in count():
            asked.append(number)
            yield (number,)

    some = in_processes(_square, calls(), 2, large=large)
    assert next(some) >= 0
    some.close()
    before = len(asked)
    time.sleep(0.05)
    assert len(asked) == before


def test_a_process_that_is_killed_is_one_line() -> None:
    with pytest.raises(TemporaryError, match="one of 2 processes was killed, for lack of memory or by another program"):
        list(in_processes(_square, [(1,), (-1,), (2,)], 2))
