"""The file ``model.safetensors``: weights with their recipe and record, so that this file alone can predict."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from deepergcn.data.storage.files import write_tensors
from deepergcn.data.storage.source_files import check_file
from deepergcn.errors import InputError
from deepergcn.recipes.load import dump_recipe, read_recipe
from deepergcn.recipes.schema import Recipe
from deepergcn.runs.model.blend import Blend, BlendRecord
from deepergcn.runs.model.calibration import Calibration
from deepergcn.runs.model.forest import PREFIX, Forest
from deepergcn.runs.model.network import AnyNetwork, build_model
from deepergcn.runs.older import as_read
from deepergcn.runs.run import FORMAT, FORMATS, RunInfo, parse_json

ENTRY = "deepergcn"
"""The only entry of the file's metadata, as JSON: several entries would have no fixed order."""


@dataclass(frozen=True)
class TrainedModel:
    """A network with its weights, recipe and record."""

    model: AnyNetwork
    recipe: Recipe
    info: RunInfo
    epoch: int
    calibration: Calibration | None = None
    blend: Blend | None = None


def save_model(path: Path, trained: TrainedModel) -> None:
    """Write the file atomically."""
    content = {
        "format": str(FORMAT),
        "recipe": dump_recipe(trained.recipe),
        "run": trained.info.model_dump_json(),
        "epoch": str(trained.epoch),
    }
    if trained.calibration is not None:
        content["calibration"] = trained.calibration.model_dump_json()
    tensors = trained.model.state_dict()
    if trained.blend is not None:
        forest = trained.blend.forest
        record = BlendRecord(
            weight=trained.blend.weight, calibration=forest.calibration, averages=trained.blend.averages
        )
        content["blend"] = record.model_dump_json(exclude_none=True)
        tensors = tensors | forest.tensors()
    content["checksum"] = checksum(content, tensors)
    write_tensors(path, tensors, {ENTRY: json.dumps(content)})


def checksum(content: Mapping[str, str], tensors: Mapping[str, Tensor]) -> str:
    """The SHA-256 of everything in a model file except the checksum itself."""
    digest = hashlib.sha256(json.dumps(sorted(content.items())).encode())
    for name, tensor in sorted(tensors.items()):
        values: Any = tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy()
        digest.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode())
        digest.update(values)
    return digest.hexdigest()


def load_model(path: str | Path) -> TrainedModel:
    """Read a model file and set the network to evaluation mode; weights that do not fit the recipe are refused."""
    file = Path(path)
    check_file(file)
    try:
        with safe_open(file, framework="pt") as opened:
            content = _content(file, opened.metadata() or {})
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118, it is not a dict
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror or error})") from error
    except SafetensorError as error:
        raise InputError(f"{file}: is not a safetensors file ({error})") from error
    form = content.get("format", "missing")
    if form not in map(str, FORMATS):
        raise InputError(f"{file}: has format {form[:40]}; expected a model of format {FORMAT}")
    for key in ("recipe", "run", "epoch", *(("checksum",) if form != "1" else ())):
        if key not in content:
            raise InputError(f"{file}: has no {key} in its metadata; expected a model written by deepergcn train")
    expected = content.pop("checksum", None)
    if expected is not None and checksum(content, tensors) != expected:
        raise InputError(f"{file}: is damaged: its content does not match its checksum")
    if not (content["epoch"].isascii() and content["epoch"].isdecimal() and len(content["epoch"]) < 16):
        raise InputError(f"{file}: epoch in its metadata is {content['epoch'][:40]!r}; expected a number")
    info = parse_json(content["run"], RunInfo, f"{file}: run")
    recipe = as_read(read_recipe(content["recipe"], f"{file}: recipe"), info.format, info.provenance)
    calibration = _calibration(file, content, info)
    blend = _blend(file, content, tensors, info)
    if blend is not None:
        tensors = {name: tensor for name, tensor in tensors.items() if not name.startswith(PREFIX)}
    _check_weights(file, tensors, recipe, info)
    with torch.random.fork_rng(devices=[]):
        model = build_model(recipe, info.inputs)
    model.load_state_dict(tensors)
    return TrainedModel(model.eval(), recipe, info, int(content["epoch"]), calibration, blend)


def _content(file: Path, metadata: Mapping[str, str]) -> dict[str, str]:
    """The metadata of the file; in format 1 every value was a separate entry."""
    if ENTRY not in metadata:
        return dict(metadata)
    try:
        content = json.loads(metadata[ENTRY])
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or not all(isinstance(value, str) for value in content.values()):
        raise InputError(f"{file}: its metadata cannot be read; expected a model written by deepergcn train")
    return content


def _calibration(file: Path, content: Mapping[str, str], info: RunInfo) -> Calibration | None:
    if "calibration" not in content:
        return None
    found = parse_json(content["calibration"], Calibration, f"{file}: calibration")
    _check_calibration(file, found, info)
    return found


def _check_calibration(file: Path, found: Calibration, info: RunInfo) -> None:
    task = info.inputs.task
    scales = 1 if task.kind == "multi-class" else task.outputs
    if task.kind == "regression" or (len(found.scale), len(found.shift)) != (scales, task.outputs):
        raise InputError(f"{file}: its calibration does not fit a {task.kind} task of {task.outputs} outputs")


def _blend(file: Path, content: Mapping[str, str], tensors: Mapping[str, Tensor], info: RunInfo) -> Blend | None:
    if "blend" not in content:
        return None
    record = parse_json(content["blend"], BlendRecord, f"{file}: blend")
    if record.calibration is not None:
        _check_calibration(file, record.calibration, info)
    forest = Forest.from_tensors(tensors, info.inputs.task.task(), str(file), record.calibration)
    return Blend(forest, record.weight, record.averages)


def _check_weights(file: Path, tensors: Mapping[str, Tensor], recipe: Recipe, info: RunInfo) -> None:
    """Check that the weights are finite and fit the network, before memory is allocated for it."""
    options = recipe.model.options()
    layers = -(-recipe.model.num_layers // options.get("tied_layers", 1))
    mlp_layers = options.get("mlp_layers", 1)
    has_weights = recipe.model.network != "APPNP"  # whose layers only propagate
    if has_weights and layers * mlp_layers > len(tensors):
        raise InputError(
            f"{file}: has {len(tensors)} weights; its recipe has num_layers {recipe.model.num_layers} and mlp_layers "
            f"{mlp_layers}, which expect more"
        )
    try:
        with torch.device("meta"):
            network = build_model(recipe, info.inputs)
    except (RuntimeError, OverflowError) as error:
        raise InputError(f"{file}: the network of its recipe cannot be built ({_first_line(error)})") from error
    expected = {name: (tensor.dtype, tensor.shape) for name, tensor in network.state_dict().items()}
    for name in sorted(expected.keys() | tensors.keys()):
        found = (tensors[name].dtype, tensors[name].shape) if name in tensors else None
        if found != expected.get(name):
            raise InputError(
                f"{file}: the weight {name} is {_describe(found)}; its recipe expects {_describe(expected.get(name))}"
            )
        if not bool(tensors[name].isfinite().all()):
            raise InputError(f"{file}: the weight {name} has values that are not finite")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _describe(tensor: tuple[torch.dtype, torch.Size] | None) -> str:
    return "not there" if tensor is None else f"{tensor[0]} {list(tensor[1])}".removeprefix("torch.")
