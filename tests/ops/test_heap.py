"""Holes of the heap are given back often enough, and never for more than a small share of the time."""

import ctypes
import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from deepergcn import ops
from deepergcn.large_pages import ask_for_large_pages
from deepergcn.ops.operators import heap


def test_after_so_many_bytes_of_large_tensors() -> None:
    calls: list[int] = []

    def trim(pad: int) -> int:
        calls.append(pad)
        return 1

    watched = heap._Heap(trim)
    for _ in range(1000):
        watched.take(heap._LEAST - 1)  # small tensors leave small holes
    assert not calls
    for _ in range(heap._BETWEEN // heap._LEAST - 1):
        watched.take(heap._LEAST)
    assert not calls
    watched.take(heap._LEAST)
    assert calls == [0]


def test_a_slow_call_is_followed_by_a_long_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    calls: list[float] = []

    def trim(pad: int) -> int:
        nonlocal now
        calls.append(now)
        now += 2.0
        return 1

    monkeypatch.setattr(time, "perf_counter", lambda: now)
    watched = heap._Heap(trim)
    for _ in range(400):
        watched.take(heap._BETWEEN)
        now += 1.0
    assert calls[0] == 100.0
    assert all(later - earlier >= 2.0 * heap._SHARE for earlier, later in pairwise(calls))
    assert len(calls) == 4


def test_every_aggregation_and_its_backward_count(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(heap._heap, "take", sizes.append)
    x = torch.rand(4, 3, requires_grad=True)
    adjacency = ops.Adjacency.from_edge_index(torch.tensor([[0, 1], [2, 3]]), 4)
    ops.max(x, adjacency).sum().backward()
    assert sizes == [48, 48]


def test_nothing_happens_where_there_is_no_glibc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert heap._malloc_trim() is None
    heap._Heap(None).take(1 << 40)


@pytest.mark.parametrize(
    ("platform", "said", "asked"), [("linux", None, "1"), ("linux", "0", "0"), ("darwin", None, None)]
)
def test_large_pages_are_asked_for_unless_the_user_has_decided(
    platform: str, said: str | None, asked: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(os, "environ", {} if said is None else {"THP_MEM_ALLOC_ENABLE": said})
    ask_for_large_pages()
    assert os.environ.get("THP_MEM_ALLOC_ENABLE") == asked


SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
LARGE_PAGES = """
import re, torch, deepergcn, torch_geometric, lightning_fabric, deepergcn.nn
x = torch.ones(1 << 24)
with open("/proc/self/smaps_rollup") as file:
    print(re.search(r"AnonHugePages: *([0-9]+) kB", file.read())[1])
"""


@pytest.mark.skipif(
    not SETTING.exists() or "[never]" in SETTING.read_text(), reason="this system gives no large pages on request"
)
def test_a_large_tensor_stands_on_large_pages() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "THP_MEM_ALLOC_ENABLE"}
    run = subprocess.run([sys.executable, "-c", LARGE_PAGES], env=environment, stdout=subprocess.PIPE, check=True)
    assert int(run.stdout) > 0  # of 65,536 kB; a system short of large pages gives fewer


@pytest.mark.parametrize(("platform", "answer", "kept"), [("linux", 1, True), ("linux", 0, False), ("win32", 1, False)])
def test_predictions_let_the_heap_keep_what_is_freed(
    platform: str, answer: int, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: dict[int, int] = {}

    class Library:
        @staticmethod
        def mallopt(option: int, value: int) -> int:
            said[option] = value
            return answer

    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library)
    monkeypatch.setattr(sys, "platform", platform)
    assert heap.keep_freed.__wrapped__() is kept
    assert said == ({-1: 2**28, -3: 2**25} if kept else {-1: 2**28} if platform == "linux" else {})
