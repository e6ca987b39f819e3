"""The tables of ``make bench`` on a GPU, by the same code: aggregations, whole training steps, an epoch, and growth.

    python -m benchmarks.gpu        # "make bench-gpu"

Aggregations are measured in float32 and in bfloat16. Seconds are the least of several repeats, the codes taking turns,
with the device idle before and after; memory is the high-water mark of what a step allocates beyond what was there
before. A code that the device cannot run, for want of memory say, is named with its error, and the others go on. What
works on the host alone (collation, partitions) is in ``make bench``.
"""

import sys
from collections.abc import Iterable, Iterator

import torch

from benchmarks import aggregation_arxiv, aggregation_proteins, epoch_molhiv, growth, step_molhiv, whole_steps
from benchmarks.measure import Comparison, Step, extra_memory, least_seconds, report

WARM_UP = 3  # kernels are compiled in the first
TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def comparisons(device: torch.device) -> Iterator[tuple[str, Comparison]]:
    """Every table of codes beside each other, with the type of its numbers."""
    for name, dtype in TYPES.items():
        for aggregations in (aggregation_arxiv, aggregation_proteins):
            yield from ((name, comparison) for comparison in aggregations.comparisons(device, dtype))
    for steps in (step_molhiv, whole_steps):
        yield from (("float32", comparison) for comparison in steps.comparisons(device))


def compare(tables: Iterable[tuple[str, Comparison]], device: torch.device, **setting: str) -> None:
    """Measure time and memory of every contestant in this process, and report."""
    for dtype, table in tables:
        steps: dict[str, Step] = {}
        memory: dict[str, int] = {}
        for name, prepare in table.contestants.items():
            try:
                step = prepare()
                for _ in range(WARM_UP):
                    step()
                memory[name] = extra_memory(step, warm_up=False, device=device)
                steps[name] = step
            except RuntimeError as error:
                if name == "deepergcn":
                    raise
                print(f"{table.title}, {dtype}: {name} failed: {str(error).splitlines()[0]}", flush=True)
        seconds = least_seconds(steps, table.repeats, device)
        report("gpu", f"{table.title}, {dtype}", seconds, memory, **setting)


def main() -> None:
    if not torch.cuda.is_available():
        sys.exit("bench-gpu: there is no GPU here, and nothing was measured")
    device, gpu = torch.device("cuda"), torch.cuda.get_device_name()
    compare(comparisons(device), device, gpu=gpu)
    epoch_molhiv.measure(device, "gpu", gpu=gpu)
    growth.grow(lambda axis, size: growth.measure(axis, size, device), "gpu_growth", gpu=gpu)


if __name__ == "__main__":
    main()
