"""Run cases in a process of their own, and judge how each ended."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.fuzz.case import Case

Verdict = Literal["success", "clean error", "other"]

CPU_SECONDS, IDLE_SECONDS = 60.0, 300.0
"""A case that computes or waits for longer hangs. Time in which others had the processor counts as neither."""
_MEMORY = 6 << 20  # kilobytes: more than this is beyond reason
_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Outcome:
    """How a case ended; the reason names what is wrong with it, where anything is."""

    verdict: Verdict
    reason: str = ""
    detail: str = ""


class Guard:
    """A worker that is started again whenever it has hung or died."""

    def __init__(self, data: Path) -> None:
        path = os.pathsep.join([str(_ROOT), str(_ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        self.environment = {
            **os.environ,
            "PYTHONPATH": path,
            "DEEPERGCN_DATA": str(data),
            "OMP_NUM_THREADS": "1",
            "NUMBA_NUM_THREADS": "1",
            "MPLBACKEND": "agg",
            "COLUMNS": "400",
        }
        self.worker: subprocess.Popen[str] | None = None

    def run(self, case: Case) -> Outcome:
        """The outcome of a case."""
        worker = self._worker()
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(
            json.dumps({"folder": str(case.folder), "door": case.door, "arguments": case.arguments}) + "\n"
        )
        worker.stdin.flush()
        watch = Watch(worker.pid)
        while not select.select([worker.stdout], [], [], 1.0)[0]:
            if hang := watch.hang():
                self.stop()
                return Outcome("other", "hang", hang)
        line = worker.stdout.readline()
        if not line:
            code = worker.wait()
            self.stop()
            return Outcome(
                "other", f"signal {signal.Signals(-code).name}" if code < 0 else f"the worker left with {code}"
            )
        return _judge(json.loads(line), case)

    def run_program(self, case: Case) -> Outcome:
        """The outcome of a case of the program in a new process, as a user starts it."""
        command = [sys.executable, "-m", "deepergcn", *case.arguments]
        with tempfile.TemporaryFile() as err:
            ended = subprocess.Popen(
                [argument.encode(errors="surrogateescape") for argument in command],
                cwd=case.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=err,
            )
            watch = Watch(ended.pid)
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    ended.wait(1.0)
                    break
                if hang := watch.hang():
                    ended.kill()
                    ended.wait()
                    return Outcome("other", "hang", f"{hang}, in a process of its own")
            err.seek(0)
            said = err.read().decode(errors="replace")
        if ended.returncode < 0:
            return Outcome("other", f"signal {signal.Signals(-ended.returncode).name}", said[-2_000:])
        return _judge({"code": ended.returncode, "stderr": said}, case)

    def stop(self) -> None:
        """End the worker."""
        if self.worker is not None:
            self.worker.kill()
            self.worker.wait()
            for pipe in (self.worker.stdin, self.worker.stdout):
                if pipe is not None:
                    pipe.close()
        self.worker = None

    def _worker(self) -> "subprocess.Popen[str]":
        if self.worker is None or self.worker.poll() is not None:
            self.stop()
            self.worker = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self.environment,
                text=True,
            )
        return self.worker


def _judge(answer: dict[str, Any], case: Case) -> Outcome:
    said = answer.get("stderr", "")
    detail = answer.get("traceback", "") or answer.get("message", "") or said
    if answer["code"] is None or "Traceback (most recent call last)" in said:
        return Outcome("other", f"traceback {_last_line(answer.get('traceback') or said)}", detail)
    if answer["code"] not in (0, 2):
        return Outcome("other", f"exit code {answer['code']}", detail)
    if answer.get("memory", 0) > _MEMORY:
        return Outcome("other", f"memory {answer['memory'] >> 20} GB", detail)
    if left := [path.name for path in case.folder.rglob("*.part")]:
        return Outcome("other", "left a half-written file", left[0])
    if answer["code"] == 0:
        return Outcome("success")
    lines = [line for line in said.splitlines() if line.startswith("error: ")]
    if case.door == "program" and "Usage: " not in said and len(lines) != 1:
        return Outcome("other", "not one line of error", detail)
    if answer.get("lines", 1) != 1 or any(ord(mark) < 32 and mark not in "\n\t" for mark in said):
        return Outcome("other", "an error of several lines or with control characters", detail)
    return Outcome("clean error", detail=lines[0] if lines else detail)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines()]
    places = [line for line in lines if line.startswith("File ") and "deepergcn" in line]
    where = places[-1].rpartition("deepergcn/")[2] if places else ""
    return f"{lines[-1][:120] if lines else ''} at {where}"


class Watch:
    """Tells when a process hangs, from now on."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.start = self.used = _cpu_seconds(pid)[0]
        self.busy = time.monotonic()

    def hang(self) -> str:
        """How it hangs; empty while it does not. To be asked about once a second."""
        used, waits = _cpu_seconds(self.pid)
        now = time.monotonic()
        if used > self.used or not waits:
            self.busy = now
        self.used = used
        if used - self.start > CPU_SECONDS:
            return f"after {used - self.start:.0f} s of computing"
        return f"after {now - self.busy:.0f} s of waiting" if now - self.busy > IDLE_SECONDS else ""


def _cpu_seconds(pid: int) -> tuple[float, bool]:
    """The seconds that a process has computed, and whether it waits; 0 and True where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0, True
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), fields[0] != "R"
