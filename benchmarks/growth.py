"""How time and memory grow with edges, channels and depth: a log-log plot each, with the fitted exponent.

python -m benchmarks.growth
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib
import numpy as np
import torch

from benchmarks.graphs import features_and_gradient
from benchmarks.measure import CPU, RESULTS, Step, extra_memory, least_seconds, write_csv
from deepergcn import ops
from deepergcn.nn import ResGEN

# All of them too large for the processor's caches, from which the smallest would gain.
SIZES = {
    "edges": [1_000_000, 2_000_000, 4_000_000, 8_000_000, 16_000_000],
    "channels": [32, 64, 128, 256, 512],
    "layers": [4, 8, 16, 32, 64],
}


def aggregation(nodes: int, edges: int, channels: int, device: torch.device) -> Step:
    generator = torch.Generator().manual_seed(0)
    adjacency = ops.Adjacency.from_edge_index(torch.randint(nodes, (2, edges), generator=generator), nodes).to(device)
    x, g = features_and_gradient(nodes, channels, device)
    return lambda: torch.autograd.grad(ops.softmax(x, adjacency), x, g)


def network(layers: int, device: torch.device) -> Step:
    generator = torch.Generator().manual_seed(0)
    edge_index = torch.randint(20_000, (2, 200_000), generator=generator)
    adjacency = ops.Adjacency.from_edge_index(edge_index, 20_000).to(device)
    x = torch.randn(20_000, 64, generator=generator).to(device)
    model = ResGEN(64, 8, hidden_channels=64, num_layers=layers, dropout=0.1, checkpoint=True).to(device)

    def step() -> None:
        model(x, adjacency).sum().backward()

    return step


def prepare(axis: str, size: int, device: torch.device) -> Step:
    match axis:
        case "edges":
            return aggregation(size // 10, size, 64, device)
        case "channels":
            return aggregation(200_000, 2_000_000, size, device)
    return network(size, device)


def measure(axis: str, size: int, device: torch.device = CPU) -> tuple[float, int]:
    """The least seconds and the extra memory, in this process."""
    step = prepare(axis, size, device)
    memory = extra_memory(step, device=device)
    return least_seconds({axis: step}, 4, device)[axis], memory


def in_fresh_process(axis: str, size: int) -> tuple[float, int]:
    command = [sys.executable, "-m", "benchmarks.growth", axis, str(size)]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return float(answer[-2]), int(answer[-1])


def plot(axis: str, sizes: list[int], seconds: list[float], memory: list[float], path: Path) -> None:
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullFormatter

    figure, sides = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for side, values, unit in zip(sides, (seconds, memory), ("seconds", "extra memory, MB"), strict=True):
        exponent, offset = np.polyfit(np.log(sizes), np.log(values), 1)
        side.loglog(sizes, values, "o", color="tab:blue")
        side.loglog(sizes, np.exp(offset) * np.array(sizes) ** exponent, "-", color="tab:gray")
        side.set_xticks(sizes, [EngFormatter(sep="")(size) for size in sizes], minor=False)
        side.xaxis.set_minor_formatter(NullFormatter())
        for place in (side.yaxis.set_major_formatter, side.yaxis.set_minor_formatter):
            place(FuncFormatter(lambda value, _: f"{value:g}"))
        side.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
        side.set_xlabel(axis)
        side.set_ylabel(unit)
        side.set_title(f"grows as {axis}^{exponent:.2f}", fontsize=10)
        side.grid(which="both", alpha=0.2)
    figure.savefig(path, dpi=120)


def grow(measured: Callable[[str, int], tuple[float, int]], name: str = "growth", **setting: object) -> None:
    """Measure every size of every axis, and report tables and plots under ``name``."""
    for axis, sizes in SIZES.items():
        found = []
        for size in sizes:
            found.append(measured(axis, size))
            print(f"{axis} {size:>9,}: {found[-1][0]:.4f} s, {found[-1][1] / 1e6:,.0f} MB", flush=True)
        rows: list[dict[str, object]] = [
            {axis: size, "seconds": f"{spent:.6f}", "extra_bytes": extra}
            for size, (spent, extra) in zip(sizes, found, strict=True)
        ]
        write_csv(name, axis, rows, setting)
        plot(axis, sizes, [s for s, _ in found], [m / 1e6 for _, m in found], RESULTS / f"{name}_{axis}.png")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(*measure(sys.argv[1], int(sys.argv[2])))
    else:
        grow(in_fresh_process)
