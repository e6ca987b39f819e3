"""A process that is forked after kernels have run on several threads computes on one."""

import os
import warnings

import pytest
import torch

from deepergcn import ops
from tests.ops.test_fast import wide_case


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_kernels_run_in_a_forked_process() -> None:
    before = torch.get_num_threads()
    case = wide_case(96, 12_000)
    adjacency = ops.as_adjacency(case.edge_index, *[len(case.x)] * 2)
    torch.set_num_threads(2)
    try:
        expected = ops.sum(case.x, adjacency)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12, about what is tried here
            child = os.fork()
        if child == 0:
            code = 1
            try:
                code = 0 if torch.equal(ops.sum(case.x, adjacency), expected) else 2
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
    finally:
        torch.set_num_threads(before)
    assert os.waitstatus_to_exitcode(status) == 0
