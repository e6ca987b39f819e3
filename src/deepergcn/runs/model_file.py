"""The file ``model.safetensors``: weights with their recipe and run inside, so that this one file predicts."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from deepergcn.data.storage.files import write_tensors
from deepergcn.errors import InputError
from deepergcn.nn.networks.graph_network import GraphNetwork
from deepergcn.recipes.load import dump_recipe, read_recipe
from deepergcn.recipes.schema import Recipe
from deepergcn.runs.network import build_model
from deepergcn.runs.run import FORMAT, RunInfo, parse_json


@dataclass(frozen=True)
class TrainedModel:
    """A network with its weights, and what it was made of."""

    model: GraphNetwork
    recipe: Recipe
    info: RunInfo
    epoch: int


def save_model(path: Path, trained: TrainedModel) -> None:
    """Write the file, whole or not at all."""
    metadata = {
        "format": str(FORMAT),
        "recipe": dump_recipe(trained.recipe),
        "run": trained.info.model_dump_json(),
        "epoch": str(trained.epoch),
    }
    write_tensors(path, trained.model.state_dict(), metadata)


def load_model(path: str | Path) -> TrainedModel:
    """Read the file, in evaluation mode; anything but weights that fit their own recipe is refused."""
    file = Path(path)
    try:
        with safe_open(file, framework="pt") as opened:
            metadata = opened.metadata() or {}
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118, it is not a dict
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror or error})") from error
    except SafetensorError as error:
        raise InputError(f"{file}: is not a safetensors file ({error})") from error
    if metadata.get("format") != str(FORMAT):
        raise InputError(f"{file}: has format {metadata.get('format')}; expected a model of format {FORMAT}")
    for key in ("recipe", "run", "epoch"):
        if key not in metadata:
            raise InputError(f"{file}: has no {key} in its metadata; expected a model that deepergcn train has written")
    if not metadata["epoch"].isdecimal():
        raise InputError(f"{file}: epoch in its metadata is {metadata['epoch']!r}; expected a number")
    recipe = read_recipe(metadata["recipe"], f"{file}: recipe")
    info = parse_json(metadata["run"], RunInfo, f"{file}: run")
    _check_weights(file, tensors, recipe, info)
    with torch.random.fork_rng(devices=[]):
        model = build_model(recipe, info.inputs)
    model.load_state_dict(tensors)
    return TrainedModel(model.eval(), recipe, info, int(metadata["epoch"]))


def _check_weights(file: Path, tensors: Mapping[str, Tensor], recipe: Recipe, info: RunInfo) -> None:
    """Check that these are finite weights of the network, before the memory for it is taken."""
    layers = recipe.model.num_layers
    if layers > len(tensors):
        raise InputError(f"{file}: has {len(tensors)} weights; its recipe has num_layers {layers}, which expects more")
    try:
        with torch.device("meta"):
            model = build_model(recipe, info.inputs)
    except (RuntimeError, OverflowError) as error:
        raise InputError(f"{file}: the network of its recipe cannot be built ({_first_line(error)})") from error
    expected = {name: (tensor.dtype, tensor.shape) for name, tensor in model.state_dict().items()}
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
