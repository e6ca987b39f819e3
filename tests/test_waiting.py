"""Threads wait asleep where more of them are to run than there are cores."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from deepergcn import waiting


@pytest.mark.parametrize(
    ("running", "cores", "affinity", "setting", "asleep"),
    [
        (1, 2, 2, {}, False),  # this process alone
        (2, 2, 2, {}, True),
        (3, 8, 8, {"OMP_NUM_THREADS": "4"}, False),
        (6, 8, 8, {"OMP_NUM_THREADS": "4"}, True),
        (6, 8, 8, {"OMP_NUM_THREADS": "4,2"}, True),
        (9, 2, 2, {"OMP_NUM_THREADS": "1"}, False),
        (2, 2, 2, {"OMP_NUM_THREADS": "many"}, True),
        (2, 2, 2, {"OMP_NUM_THREADS": "0"}, True),
        (9, 2, 2, {"OMP_WAIT_POLICY": "active"}, False),
        (9, 2, 2, {"GOMP_SPINCOUNT": "7"}, False),
        (9, 2, 2, {"KMP_BLOCKTIME": "7"}, False),
        (5, 8, 2, {"OMP_NUM_THREADS": "1"}, False),
        (5, 8, 4, {"OMP_NUM_THREADS": "2"}, False),  # half of the four others may be on the cores of this process
        (6, 8, 4, {"OMP_NUM_THREADS": "2"}, True),
    ],
)
def test_a_busy_machine_is_noticed(
    running: int,
    cores: int,
    affinity: int,
    setting: Mapping[str, str],
    asleep: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "loadavg").write_text(f"0.20 0.18 0.12 {running}/80 11206\n")
    monkeypatch.setattr(waiting, "_LOADAVG", tmp_path / "loadavg")
    monkeypatch.setattr(waiting, "available_cores", lambda: affinity)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    monkeypatch.setattr(os, "environ", dict(setting))
    assert waiting.wait_asleep_if_busy() == asleep
    assert os.environ.get("OMP_WAIT_POLICY") == ("passive" if asleep else setting.get("OMP_WAIT_POLICY"))


@pytest.mark.parametrize("text", [None, "", "0.1 0.1 0.1", "0.1 0.1 0.1 many/9"])
def test_where_nothing_is_known_nothing_is_chosen(
    text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if text is not None:
        (tmp_path / "loadavg").write_text(text)
    monkeypatch.setattr(waiting, "_LOADAVG", tmp_path / "loadavg")
    monkeypatch.setattr(os, "environ", {})
    assert not waiting.wait_asleep_if_busy()
