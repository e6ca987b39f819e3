"""States of training that are damaged where no checksum of a tensor sees it."""

import json
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import nn

from deepergcn.errors import InputError
from deepergcn.runs.state import Progress, checksums, load_state, save_state


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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("optimizer.1.exp_avg_sq", torch.zeros(0)),
        ("optimizer.0.step", torch.zeros(3)),
        ("optimizer.7.step", torch.zeros(())),
        ("optimizer.one.step", torch.zeros(())),
        ("optimizer.0.velocity", torch.zeros(1, 2)),
    ],
)
def test_moments_that_do_not_fit_their_weight_never_reach_fused_adam(
    tmp_path: Path, name: str, value: torch.Tensor
) -> None:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    save_state(tmp_path, Progress(), model, optimizer)
    (file,) = tmp_path.iterdir()
    tensors = safetensors.torch.load(file.read_bytes()) | {name: value}
    text = Progress().model_dump_json()
    sums = {"progress": text, "checksums": json.dumps(checksums(text, tensors))}
    file.write_bytes(safetensors.torch.save(tensors, sums))
    with pytest.raises(InputError, match="is not a state of this recipe"):
        load_state(tmp_path, model, optimizer)


def test_the_last_states_stay_in_runs_of_a_million_epochs_and_other_files_always(tmp_path: Path) -> None:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    (tmp_path / "mine.safetensors").write_bytes(b"mine")
    for epoch in (999_998, 999_999, 1_000_000, 1_000_001):
        save_state(tmp_path, Progress(epoch=epoch), model, optimizer)
    assert {path.name for path in tmp_path.iterdir()} == {
        "mine.safetensors",
        "1000000-00000000.safetensors",
        "1000001-00000000.safetensors",
    }
    progress = load_state(tmp_path, model, optimizer)
    assert progress is not None
    assert progress.epoch == 1_000_001
