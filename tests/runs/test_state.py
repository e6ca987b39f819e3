"""States of training that are damaged where no checksum of a tensor sees it."""

import json
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import nn

from deepergcn.runs.state import Progress, load_state, save_state


@pytest.mark.parametrize("sums", ["5", "null", "[]", "{", "[" * 200_000], ids=["number", "null", "list", "cut", "deep"])
def test_a_state_with_damaged_checksums_falls_back_to_the_one_before(tmp_path: Path, sums: str) -> None:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in (1, 2):
        nn.init.constant_(model.weight, epoch)
        save_state(tmp_path, Progress(epoch=epoch), model, optimizer)
    newest = max(tmp_path.iterdir())
    metadata = {"progress": json.dumps({"epoch": 2}), "checksums": sums}
    newest.write_bytes(safetensors.torch.save(safetensors.torch.load(newest.read_bytes()), metadata))
    progress = load_state(tmp_path, model, optimizer)
    assert progress is not None
    assert progress.epoch == 1
    assert model.weight.tolist() == [[1.0, 1.0]]
