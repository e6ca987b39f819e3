"""Every kernel becomes machine code for an A100 (sm_80) and an H100 (sm_90), without spilling a register."""

import json
import os
import subprocess
import sys

import pytest

from tests.ops.gpu.conftest import ALL

# In a process of its own: in this one Triton interprets.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"] if ALL else ["sm_90"])
def test_no_kernel_spills_registers_adds_atomically_or_has_short_offsets(architecture: str) -> None:
    pytest.importorskip("triton")
    command = [sys.executable, "-m", "tests.ops.gpu.compiling", architecture, *([] if ALL else ["--short"])]
    answer = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    results = [json.loads(line) for line in answer.stdout.splitlines()]
    kernels = {result["kernel"] for result in results}
    expected = {"softmax._forward", "backward._backward", "backward._affine_gradient", "norm_relu_dropout._backward"}
    if ALL:
        expected |= {"sum_mean._forward", "extremum._forward", "power_mean._forward", "power_mean._slope"}
        expected |= {"backward._table_gradient", "norm_relu_dropout._apply", "norm_relu_dropout._moments"}
    assert expected <= kernels
    assert [result for result in results if result["spilled"]] == []
    assert all(0 < result["registers"] <= 255 for result in results)
    assert [result for result in results if result["atomics"]] == []
    # Offsets are products in 64 bits, but for raw features times channels; the hash of dropout is one of 32.
    narrow = {result["kernel"] for result in results if result["narrow"]}
    assert narrow <= {"backward._affine_gradient", "norm_relu_dropout._apply", "norm_relu_dropout._backward"}
