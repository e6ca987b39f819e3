"""Operators on CPU tensors computed by the GPU's kernels, under Triton's interpreter."""

import os
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from deepergcn.ops.operators import device

ALL = os.environ.get("DEEPERGCN_GPU_TESTS") == "all"  # the interpreter is slow: make test-gpu sets it


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take the CPU for a GPU, on which eight edges make a hub."""
    launch = pytest.importorskip("triton") and device.gpu_kernels("launch")
    monkeypatch.setattr(device, "on_gpu", lambda x: x.device.type == "cpu")
    monkeypatch.setattr(launch, "_SHORTEST_HUB", 8)
    with np.errstate(all="ignore"):  # channels beyond the last are computed, and not stored
        yield


@pytest.fixture
def fake_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take torch's device ``meta`` for a GPU: the host code runs, tensors have no numbers and kernels do nothing."""
    interpreter = pytest.importorskip("triton.runtime.interpreter")
    monkeypatch.setattr(device, "on_gpu", lambda x: x.device.type == "meta")
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda *device: False)  # it does not know the device meta
    monkeypatch.setattr(interpreter.InterpretedFunction, "run", lambda *arguments, **options: None)
