"""Training states on disk: written atomically, the last two kept, restored bit for bit.

Random numbers need no state, see :mod:`deepergcn.data.seeds`; the learning rate is a function of the step.
"""

import json
import logging
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from deepergcn.data.storage.files import write_tensors
from deepergcn.errors import InputError

KEPT = 2
"""The number of states kept: if the newest is damaged, the one before it is used."""

_NAME = re.compile(r"([0-9]{6,20})-([0-9]{8,20})\.safetensors")
_PROGRESS = "progress"
_log = logging.getLogger(__name__)


class Scores(BaseModel):
    """The scores and losses of one epoch; None if there is nothing to score. They may be NaN or infinite.

    ``smoothed_score`` is the mean of the last validation scores, if several of them select the best epoch.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")

    epoch: int
    train_score: float | None
    valid_score: float | None
    test_score: float | None
    valid_loss: float | None
    test_loss: float | None
    smoothed_score: float | None = None

    @property
    def deciding_score(self) -> float | None:
        """The score that says which epoch is the best."""
        return self.valid_score if self.smoothed_score is None else self.smoothed_score


class Progress(BaseModel):
    """The progress of a run.

    Attributes:
        epoch: the number of completed epochs.
        step: the number of completed steps of the next epoch.
        loss_sum: the sum of the training losses of these steps, each times its number of labels.
        loss_count: the number of these labels.
        seconds: the duration of these steps.
        total_seconds: the duration of the completed epochs.
        best: the scores of the best epoch so far.
        since_best: the number of evaluations since the best epoch.
        recent: the last validation scores, if several of them select the best epoch.
    """

    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="strings")

    epoch: int = 0
    step: int = 0
    loss_sum: float = 0.0
    loss_count: int = 0
    seconds: float = 0.0
    total_seconds: float = 0.0
    best: Scores | None = None
    since_best: int = 0
    recent: tuple[float | None, ...] = ()


def save_state(
    folder: Path,
    progress: Progress,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: nn.Module | None = None,
) -> None:
    """Write the state, then remove all but the newest :data:`KEPT`; ``average`` is that of the weights."""
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    if average is not None:
        tensors |= {f"average.{name}": tensor for name, tensor in average.state_dict().items()}
    for index, values in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{key}": torch.as_tensor(value) for key, value in values.items()}
    text = progress.model_dump_json()
    metadata = {_PROGRESS: text, "checksums": json.dumps(checksums(text, tensors))}
    write_tensors(folder / f"{progress.epoch:06d}-{progress.step:08d}.safetensors", tensors, metadata)
    for old in _states(folder)[KEPT:]:
        old.unlink(missing_ok=True)


def checksums(progress: str, tensors: Mapping[str, Tensor]) -> dict[str, int]:
    """The CRC-32 of every tensor, by name, and of the progress."""
    return {name: _checksum(tensor) for name, tensor in tensors.items()} | {_PROGRESS: zlib.crc32(progress.encode())}


def resume_state(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, average: nn.Module | None = None
) -> Progress:
    """Restore model, optimizer and average from the newest state of the run in ``folder``; a new run starts at 0.

    A run with results but without a readable state is an error: starting at 0 would overwrite them.
    """
    states = folder / "state"
    progress = load_state(states, model, optimizer, average)
    if progress is not None:
        return progress
    results = [folder / name for name in ("metrics.csv", "model.safetensors", "summary.json")]
    found = next((path for path in [*results, *_states(states)] if path.exists()), None)
    if found is not None:
        raise InputError(
            f"{folder}: cannot be resumed: {states} has no state that can be read; {found.name} and the other "
            "files are left unchanged; train again with another --out"
        )
    return Progress()


def load_state(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, average: nn.Module | None = None
) -> Progress | None:
    """Bring model, optimizer and average to the newest state that is whole; None if there is none."""
    for path in _states(folder):
        try:
            progress, tensors = _read(path)
        except (SafetensorError, OSError, ValueError, KeyError, RecursionError) as error:
            _log.warning("%s: is damaged; the previous state is used (%s)", path, error)
            continue
        _restore(path, tensors, model, optimizer, average)
        return progress
    return None


def _states(folder: Path) -> list[Path]:
    """All states, newest first; other files in the folder are none."""
    names = ((_NAME.fullmatch(path.name), path) for path in folder.glob("*.safetensors"))
    found = [(int(match[1]), int(match[2]), path) for match, path in names if match is not None]
    return [path for _, _, path in sorted(found, reverse=True)]


def _read(path: Path) -> tuple[Progress, dict[str, Tensor]]:
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata() or {}
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118, it is not a dict
    try:
        progress = Progress.model_validate_json(metadata[_PROGRESS])
    except ValidationError as error:
        raise ValueError(f"its progress cannot be read: {error}") from error
    expected = json.loads(metadata["checksums"])
    found = checksums(metadata[_PROGRESS], tensors)
    if isinstance(expected, dict) and _PROGRESS not in expected:  # the states of version 0.1.0 have none
        del found[_PROGRESS]
    if found != expected:
        raise ValueError("its checksums differ")
    return progress, tensors


def _restore(
    path: Path,
    tensors: Mapping[str, Tensor],
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: nn.Module | None,
) -> None:
    try:
        moments = _moments(tensors, optimizer)
        model.load_state_dict(_of(tensors, "model."))
        if average is not None:
            average.load_state_dict(_of(tensors, "average."))
        optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
    except (RuntimeError, ValueError, KeyError) as error:
        raise InputError(f"{path}: is not a state of this recipe ({error})") from error


def _of(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _moments(tensors: Mapping[str, Tensor], optimizer: torch.optim.Optimizer) -> dict[int, dict[str, Tensor]]:
    """Adam's moments by number of the weight; fused Adam would read out of bounds if a shape were wrong."""
    moments: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, index, key = name.split(".", 2)
            moments.setdefault(int(index), {})[key] = value
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    for number, values in moments.items():
        shape = weights[number].shape if 0 <= number < len(weights) else None
        if {key: value.shape for key, value in values.items()} != {
            "step": torch.Size([]),
            "exp_avg": shape,
            "exp_avg_sq": shape,
        }:
            raise ValueError(f"the moments of weight {number} do not fit it")
    return moments


def _checksum(tensor: Tensor) -> int:
    values: Any = tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy()
    return zlib.crc32(values)
