"""Compiled kernels are loaded only from a folder that belongs to the user and that others cannot write to."""

import errno
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import pytest
from filelock import FileLock, Timeout
from numba.core.caching import IndexDataCacheFile

from deepergcn.machine_code import compile_kernel, kernel_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes of POSIX")


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "kernels.py").write_text("def double(x):\n    return 2 * x\n")
    before = os.umask(0o002)  # as where every user has a group of their own
    yield folder
    os.umask(before)


def test_a_new_folder_is_closed_to_others_and_another_one_for_every_source_text(sources: Path) -> None:
    folder = kernel_folder(sources)
    assert folder is not None
    assert folder.stat().st_mode & 0o777 == 0o700
    assert kernel_folder(sources) == folder
    (sources / "kernels.py").write_text("")
    changed = kernel_folder(sources)
    assert changed not in (None, folder)
    (sources / "machine").mkdir()
    (sources / "machine" / "maths.py").write_text("")
    assert kernel_folder(sources) == changed
    (sources / "machine" / "maths.py").write_text("PI = 3.14")
    assert kernel_folder(sources) not in (None, folder, changed)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_can_write_to_is_not_used(
    sources: Path, mode: int, caplog: pytest.LogCaptureFixture
) -> None:
    folder = kernel_folder(sources)
    assert folder is not None
    folder.chmod(mode)
    assert kernel_folder(sources) is None
    assert "other users can write to it" in caplog.text


def test_the_folder_of_another_user_is_not_used(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = kernel_folder(sources)
    assert folder is not None
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    assert kernel_folder(sources) is None


def test_a_link_to_a_folder_is_not_used(sources: Path, tmp_path: Path) -> None:
    folder = kernel_folder(sources)
    assert folder is not None
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert kernel_folder(sources) is None


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_is_paused_while_a_kernel_is_compiled_and_then_as_before(
    enabled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    inner = numba.core.dispatcher._FunctionCompiler.compile

    def watched(compiler: Any, *arguments: Any) -> Any:
        seen.append(gc.isenabled())
        return inner(compiler, *arguments)

    monkeypatch.setattr(numba.core.dispatcher._FunctionCompiler, "compile", watched)
    kernel = compile_kernel(lambda x: 2 * x, None)
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        assert kernel(3) == 6
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()
    assert seen
    assert not any(seen)


def test_a_kernel_runs_with_and_without_a_folder(sources: Path) -> None:
    def double(x: int) -> int:
        return 2 * x

    folder = kernel_folder(sources)
    assert folder is not None
    assert compile_kernel(double, None)(3) == 6
    assert not list(folder.iterdir())
    assert compile_kernel(double, folder)(3) == 6
    assert list(folder.rglob("*.nbc"))


def test_machine_code_is_written_by_one_process_at_a_time(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = kernel_folder(sources)
    assert folder is not None
    write = IndexDataCacheFile.save
    saved = []

    def save(self: IndexDataCacheFile, key: object, data: object) -> None:
        with pytest.raises(Timeout):
            FileLock(folder / "lock", timeout=0, fallback_to_soft=False).acquire()
        write(self, key, data)
        saved.append(key)

    monkeypatch.setattr(IndexDataCacheFile, "save", save)
    double = compile_kernel(_double, folder)
    assert (double(2), double(0.5)) == (4, 1.0)
    assert len(saved) == 2


def test_without_locks_machine_code_stays_in_memory(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: FileLock) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    folder = kernel_folder(sources)
    monkeypatch.setattr(FileLock, "_acquire", refuse)
    assert compile_kernel(_double, folder)(2) == 4
    assert folder is not None
    assert not list(folder.rglob("*.nbc"))


def _double(x: float) -> float:
    return 2 * x
