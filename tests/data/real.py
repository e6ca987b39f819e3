"""The real data, where a machine has it."""

import os
from pathlib import Path

import pytest


def real_data(name: str) -> Path:
    """The folder or file of this name in the real data; the test is skipped where there is none."""
    beside = Path(__file__).parents[3] / "shared" / "data"
    place = Path(os.environ.get("DEEPERGCN_TEST_DATA") or beside) / name
    if not place.exists():
        pytest.skip(f"{name} is not on this machine; DEEPERGCN_TEST_DATA names the folder that holds it")
    return place
