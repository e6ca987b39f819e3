"""Model files that are none."""

import os
from pathlib import Path

import pytest

from deepergcn.errors import InputError
from deepergcn.runs.model.model_file import load_model


def test_a_pipe_in_place_of_a_model_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model.safetensors")
    with pytest.raises(InputError, match=r"model\.safetensors: is a pipe or a device; expected a file"):
        load_model(tmp_path / "model.safetensors")
