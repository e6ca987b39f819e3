"""Property tests draw the same examples on every machine, and are never judged by the clock.

Data that a test has read is cached in a folder of the test session, not in the user's.
"""

import atexit
import gc
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

# Tests run side by side and on small tensors: threads that wait for work by spinning would take the others' time.
# OpenMP reads this once, when torch is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# Triton's kernels are run by its interpreter, on tensors of the CPU. Triton reads this once, when it is imported.
os.environ.setdefault("TRITON_INTERPRET", "1")

# Where a processor announces AMX without allowing it, a product of bfloat16 matrices ends the process but for this.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

if "DEEPERGCN_DATA" not in os.environ:
    _data = tempfile.mkdtemp(prefix="deepergcn-tests-")
    atexit.register(shutil.rmtree, _data, ignore_errors=True)
    os.environ["DEEPERGCN_DATA"] = _data

import pytest

from tests import one_pixel

if TYPE_CHECKING:
    from deepergcn.data.dataset import Dataset
    from deepergcn.recipes.schema import ForestSection
    from deepergcn.runs.model.forest import Forest

_ON_ONE_SERVER = {
    "cli/test_reproduce.py",
    "cli/test_terminal.py",
    "inference/parts/test_write.py",
    "studies/test_reproduce.py",
    "training/processes/test_exchange.py",
    "training/scoring/test_metrics.py",
    "training/test_distribution.py",
    "training/test_survival.py",
}
"""Files whose tests fork processes from a server, which takes seconds to start in each worker that has such a test."""

_LONG = {
    "data/test_split.py",
    "fuzz/test_fuzz.py",
    "nn/pyg/test_inductor.py",
    "ops/gpu/test_compiling.py",
    "project/test_distributions.py",
    "project/test_docs.py",
    "test_light_core.py",
}
"""Other files with a test that takes five seconds of processor time or more."""


def pytest_configure(config: pytest.Config) -> None:
    """Load what all tests need, but not in the process that only hands them to the workers, which wait for it."""
    if config.getoption("numprocesses", default=None):
        return
    import torch
    from hypothesis import settings

    settings.register_profile("deepergcn", deadline=None, derandomize=True, max_examples=40)
    settings.load_profile("deepergcn")
    torch.set_num_threads(1)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import without the garbage collector: what modules and parameters make stays, and is never looked at again."""
    gc.disable()
    result = yield
    gc.freeze()
    atexit.register(gc.unfreeze)  # at the end all is collected
    gc.enable()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, 100)  # all objects ten times as seldom: a look takes a tenth of a second
    return result


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let two workers compile different kernels first; each later finds those of the other on disk.

    With ``--dist worksteal`` one begins at the first test, the other in the middle. Without this both would compile
    most of the kernels, which takes longer than all else where the cache is empty. Then come the tests that take or
    wait for long: at the end of the list one worker would wait for the other. Those that share a cluster or a server
    of processes follow one another in one worker, so that the other need not start a second one.
    """
    if os.environ.get("PYTEST_XDIST_WORKER_COUNT") != "2":
        return
    tests = config.rootpath / "tests"
    ahead, halfway, on_cluster, on_one_server, long = [], [], [], [], []
    for item in items:
        file = item.path.relative_to(tests).as_posix() if item.path.is_relative_to(tests) else ""
        words = set(re.split(r"[][-]", item.name)) if item.path.parent == tests / "ops" else set()
        if words & {"softmax", "sum", "mean"}:
            ahead.append(item)
        elif words & {"power_mean", "max", "min"}:
            halfway.append(item)
        elif "ray_cluster" in getattr(item, "fixturenames", ()):
            on_cluster.append(item)
        elif file in _ON_ONE_SERVER:
            on_one_server.append(item)
        elif file in _LONG:
            long.append(item)
    ahead += on_cluster + on_one_server
    halfway += long
    moved = {*ahead, *halfway}
    others = [item for item in items if item not in moved]
    middle = max(len(items) // 2 - len(ahead), 0)
    items[:] = [*ahead, *others[:middle], *halfway, *others[middle:]]


@pytest.fixture(autouse=True)
def _small_plots(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plots of one pixel, unless the test is marked with ``plots``."""
    if "deepergcn.report.plots" in sys.modules and not request.node.get_closest_marker("plots"):
        monkeypatch.setattr("deepergcn.report.plots._save", one_pixel.save)


@pytest.fixture(scope="session", autouse=True)
def _small_forests(request: pytest.FixtureRequest) -> Generator[None]:
    """Forests of five trees at the most: those of a default run take longer than the small networks of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        if not all({"ops", "nn"} & set(item.path.parts) for item in request.session.items):
            # Not for the rooms below: it loads most of the package.
            from deepergcn.training.forests import blend, fit, teacher

            whole = fit.fit_forest

            def few(dataset: "Dataset", section: "ForestSection", *more: Any, **options: Any) -> "Forest":
                return whole(dataset, section.model_copy(update={"trees": min(section.trees, 5)}), *more, **options)

            for module in (blend, teacher):
                patch.setattr(module, "fit_forest", few)
        yield


@pytest.fixture(scope="session")
def ray_cluster() -> Generator[Any]:
    """A Ray cluster of this machine with one CPU, to which a test adds nodes."""
    pytest.importorskip("ray.data")
    from ray.cluster_utils import Cluster

    quick = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 4}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")  # its processes would wait for every other one of the machine
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        head = {"num_cpus": 1, "include_dashboard": False, "_system_config": quick}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        try:
            yield cluster
        finally:
            cluster.shutdown()
