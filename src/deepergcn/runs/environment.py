"""The environment of a run: versions, processor, instruction set and threads, which the last bits depend on."""

import logging
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict

PACKAGES = ("deepergcn", "torch", "torch-geometric", "numba", "numpy", "rdkit", "lightning-fabric", "torchmetrics")
"""The packages whose versions affect results."""

_log = logging.getLogger(__name__)


class Environment(BaseModel):
    """The machine a run was trained on.

    Attributes:
        platform: operating system and architecture.
        processor: the model of the processor.
        instructions: the instruction set torch uses (its ATen capability).
        kernel_target: the processor that Numba compiles kernels for.
        kernel_features: the processor features that Numba has enabled or disabled.
        device: ``cpu``, or the name of the GPU.
        threads: the number of threads per process.
        processes: the number of processes that share each batch.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    platform: str
    processor: str
    instructions: str
    kernel_target: str
    kernel_features: str
    device: str
    threads: int
    processes: int


def environment(processes: int = 1) -> Environment:
    """The environment of this process."""
    from llvmlite import binding
    from numba.core import config

    target = config.CPU_NAME or binding.get_host_cpu_name()
    features = config.CPU_FEATURES
    return Environment(
        platform=f"{platform.system()} {platform.machine()}",
        processor=_processor(),
        instructions=torch.backends.cpu.get_cpu_capability(),
        kernel_target=target,
        kernel_features=binding.get_host_cpu_features().flatten() if features is None else features,
        device=torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        threads=torch.get_num_threads(),
        processes=processes,
    )


def versions() -> dict[str, str]:
    """The versions of Python and of the installed packages in :data:`PACKAGES`."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def warn_of_changes(
    what: str, old: Environment | None, old_versions: Mapping[str, str], new: Environment, *, training: bool
) -> None:
    """Log one warning if this environment differs from that of a run, since its numbers may differ in the last bits.

    Args:
        what: the run, or its file.
        old: the environment of the run; None if unknown.
        old_versions: the versions of the run.
        new: the current environment.
        training: whether training resumes; predictions do not depend on the number of threads and processes.
    """
    present = versions()
    changes = [
        f"{name} {value} (now {present[name]})"
        for name, value in old_versions.items()
        if name in present and present[name] != value
    ]
    if old is not None:
        before, now = old.model_dump(), new.model_dump()
        for name in before:
            if before[name] == now[name] or (name in ("threads", "processes") and not training):
                continue
            label = name.replace("_", " ")
            changes.append(
                f"other {label}" if name == "kernel_features" else f"{label} {before[name]} (now {now[name]})"
            )
    if changes:
        _log.warning("%s: was trained with %s; numbers may differ in their last bits", what, ", ".join(changes))


def _processor() -> str:
    """The model name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model", "cpu model")))
    return next(names, "") or platform.processor() or os.environ.get("PROCESSOR_IDENTIFIER", "") or platform.machine()
