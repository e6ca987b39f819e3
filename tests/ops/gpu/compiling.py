"""Compile every kernel ahead of time, without a GPU: ``python -m tests.ops.gpu.compiling sm_80 sm_90``.

The host code of the operators runs as it would on a GPU, on tensors of a CPU; where it would launch a kernel, the
kernel is compiled for the given architecture with just the specialization that the launch asks for, and not run. Prints
a line of JSON a kernel, with the registers and the bytes of spilled registers that the assembler reports, the number of
atomic operations, and that of products of 32-bit integers in tiles. It must run in a process without TRITON_INTERPRET.
"""

import contextlib
import io
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import torch
import triton
from torch import Tensor
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction

from deepergcn.ops.kernels import normalization
from deepergcn.ops.kernels.gpu import extremum, norm_relu_dropout, power_mean, softmax, sum_mean
from tests.ops.gpu.graphs import EDGES, edge_tensors, hub_graph

AGGREGATIONS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "sum_mean": (sum_mean, (1,)),
    "extremum": (extremum, (0,)),
    "softmax": (softmax, (1, 2)),
    "power_mean": (power_mean, (1,)),
}

TYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)


class Architecture:
    """What Triton asks of a driver before it compiles."""

    def __init__(self, name: str) -> None:
        self.target = GPUTarget("cuda", int(name.removeprefix("sm_")), 32)

    def get_current_target(self) -> GPUTarget:
        return self.target

    def get_current_device(self) -> int:
        return int(self.target.arch)

    def get_current_stream(self, device: int) -> int:
        return 0


def collect(architecture: str, found: dict[str, dict[str, Any]]) -> None:
    """From now on, compile for ``architecture`` what is launched, and note what the assembler says of it."""
    driver.set_active(Architecture(architecture))
    run = JITFunction.run

    def compile_only(self: Any, *arguments: Any, grid: Any, warmup: bool, **options: Any) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            kernel = run(self, *arguments, grid=grid, warmup=True, **options)
        name = f"{self.fn.__module__.rpartition('.')[2]}.{self.fn.__name__}"
        key = f"{architecture} {name} {kernel.hash}"
        if key not in found:
            constants = {key: str(value) for key, value in options.items() if key.isupper()}
            found[key] = {
                "kernel": name,
                "target": architecture,
                "constants": constants,
                **registers_in(said.getvalue()),
                "atomics": kernel.asm["ttir"].count("atomic"),
                "narrow": len(re.findall(r"arith\.muli .*: tensor<[0-9x]+xi32>", kernel.asm["ttir"])),
            }

    JITFunction.run = compile_only


def registers_in(log: str) -> dict[str, int]:
    """Registers a thread and bytes of spilled registers in what the assembler says of a kernel, as Triton calls it."""
    spilled = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", log)
    registers = re.search(r"Used (\d+) registers", log)
    assert spilled is not None, log
    assert registers is not None, log
    return {"registers": int(registers[1]), "spilled": int(spilled[1]) + int(spilled[2])}


def launches(short: bool) -> Iterator[str]:
    """Run the host code of every operator on the shapes and types that a GPU meets."""
    for name, (module, options) in AGGREGATIONS.items():
        for channels, dtype, kind in _shapes(name, short):
            for option in options[:1] if short else options:
                _aggregate(module, channels, dtype, kind, option)
                yield f"{name} {kind} {dtype} {channels}"
    for dtype in (torch.float32,) if short else TYPES:
        _activate(64, dtype, ("row",) if short else ("none", "row", "batch", "given"))
        yield f"norm_relu_dropout {dtype}"


def _shapes(name: str, short: bool) -> list[tuple[int, torch.dtype, str]]:
    """Widths, types and edge terms: all where most registers are needed, each at least once elsewhere."""
    if short:
        return [(64, torch.float32, "affine")] if name == "softmax" else []
    if name in ("sum_mean", "extremum"):
        return [(64, torch.float32, kind) for kind in EDGES] + [(64, torch.bfloat16, "affine")]
    everywhere = [(64, dtype, kind) for dtype in (torch.float32, torch.bfloat16) for kind in EDGES]
    other_types = [(64, dtype, "affine") for dtype in (torch.float16, torch.float64)]
    return [*everywhere, *other_types, *((width, torch.float32, "affine") for width in (24, 256))]


def _aggregate(module: Any, channels: int, dtype: torch.dtype, kind: str, option: int) -> None:
    number = torch.float64 if dtype == torch.float64 else torch.float32
    graph = hub_graph(600, 1500)
    x = torch.ones(600, channels, dtype=dtype)
    edge = edge_tensors(kind, 1500, channels, dtype)
    parameter = torch.ones(channels, dtype=number)
    outputs = module.forward(x, parameter, graph, edge, 1e-7, option)
    kept = outputs if module is extremum else outputs[1:]
    module.backward(outputs[0], x, parameter, graph, edge, 1e-7, option, kept)


def _activate(channels: int, dtype: torch.dtype, statistics: tuple[str, ...]) -> None:
    x = torch.ones(600, channels, dtype=dtype)
    scale: Tensor = torch.ones(channels, dtype=torch.float64 if dtype == torch.float64 else torch.float32)
    for each in statistics:
        arguments = (scale, scale, scale, scale, torch.tensor(7), each, 1e-5, True, 0.25)
        normalization.forward(norm_relu_dropout, x, *arguments)
        normalization.backward(norm_relu_dropout, x, x, *arguments)


def main(architectures: list[str], short: bool) -> None:
    for architecture in architectures:
        found: dict[str, dict[str, Any]] = {}
        collect(architecture, found)
        for _ in launches(short):
            for result in found.values():
                if not result.get("told"):
                    result["told"] = True
                    print(json.dumps({key: value for key, value in result.items() if key != "told"}), flush=True)  # noqa: T201


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as cache:
        triton.knobs.cache.dir = cache
        triton.knobs.nvidia.dump_ptxas_log = True
        main([name for name in sys.argv[1:] if name != "--short"], "--short" in sys.argv)
