"""The state of training on disk: written beside and renamed, the last two kept, read back bit for bit.

Random draws need no state, see :mod:`deepergcn.data.seeds`; the learning rate is a function of the step.
"""

import json
import logging
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
"""The number of states that are kept: a damaged one falls back to the one before."""

_PROGRESS = "progress"
_log = logging.getLogger(__name__)


class Scores(BaseModel):
    """The scores and losses of one epoch; None where there is nothing to score, NaN or infinite where they are.

    ``smoothed_score`` is the mean of the last validation scores, where more than one of them choose the best epoch.
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
    """How far a run has come.

    Attributes:
        epoch: the number of epochs that are done.
        step: the number of steps of the next epoch that are done.
        loss_sum: the sum of the train losses of these steps, each times its number of labels.
        loss_count: the number of these labels.
        seconds: spent on these steps.
        total_seconds: spent on the epochs before.
        best: the best epoch so far.
        since_best: the number of evaluations since it.
        recent: the last validation scores, where several choose the best epoch.
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
    """Write the state, then remove all but the last :data:`KEPT`; ``average`` is that of the weights."""
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
    """The CRC-32 of every tensor by its name, and of the progress."""
    return {name: _checksum(tensor) for name, tensor in tensors.items()} | {_PROGRESS: zlib.crc32(progress.encode())}


def resume_state(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, average: nn.Module | None = None
) -> Progress:
    """Bring model, optimizer and average to the last state of the run in ``folder``; a new run starts at zero.

    A run that has results but no state that can be read is an error: to start at zero would overwrite them.
    """
    states = folder / "state"
    progress = load_state(states, model, optimizer, average)
    if progress is not None:
        return progress
    results = [folder / name for name in ("metrics.csv", "model.safetensors", "summary.json")]
    found = next((path for path in [*results, *_states(states)] if path.exists()), None)
    if found is not None:
        raise InputError(
            f"{folder}: cannot be resumed: {states} has no state that can be read; {found.name} and its other "
            "files stay as they are; train again into another --out"
        )
    return Progress()


def load_state(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, average: nn.Module | None = None
) -> Progress | None:
    """Bring model, optimizer and average to the newest state that is whole; None where there is none."""
    for path in _states(folder):
        try:
            progress, tensors = _read(path)
        except (SafetensorError, OSError, ValueError, KeyError, RecursionError) as error:
            _log.warning("%s: is damaged, the state before it is taken (%s)", path, error)
            continue
        _restore(path, tensors, model, optimizer, average)
        return progress
    return None


def _states(folder: Path) -> list[Path]:
    """All states, the newest first."""
    return sorted(folder.glob("*.safetensors"), reverse=True)


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
    """The state of Adam for every weight by its number; fused Adam would read beyond moments of another shape."""
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
