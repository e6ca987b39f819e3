"""The file ``model.safetensors``: weights with their recipe and run inside, so that this one file predicts."""

from dataclasses import dataclass
from pathlib import Path

import torch
from pydantic import ValidationError
from safetensors import SafetensorError, safe_open

from deepergcn.errors import InputError
from deepergcn.nn.graph_network import GraphNetwork
from deepergcn.recipes.load import dump_recipe, read_recipe
from deepergcn.recipes.schema import Recipe
from deepergcn.training.build import build_model
from deepergcn.training.files import write_tensors
from deepergcn.training.run import FORMAT, RunInfo


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
    try:
        recipe = read_recipe(metadata["recipe"], f"{file}: recipe")
        info = RunInfo.model_validate_json(metadata["run"])
        epoch = int(metadata["epoch"])
    except (KeyError, ValidationError) as error:
        raise InputError(f"{file}: its metadata is not that of a run ({error})") from error
    with torch.device("meta"):
        model = build_model(recipe, info.inputs)
    expected = {name: (tensor.dtype, tensor.shape) for name, tensor in model.state_dict().items()}
    for name in sorted(expected.keys() | tensors.keys()):
        found = (tensors[name].dtype, tensors[name].shape) if name in tensors else None
        if found != expected.get(name):
            raise InputError(
                f"{file}: the weight {name} is {_describe(found)}; its recipe expects {_describe(expected.get(name))}"
            )
    with torch.random.fork_rng(devices=[]):
        model = build_model(recipe, info.inputs)
    model.load_state_dict(tensors)
    return TrainedModel(model.eval(), recipe, info, epoch)


def _describe(tensor: tuple[torch.dtype, torch.Size] | None) -> str:
    return "not there" if tensor is None else f"{tensor[0]} {list(tensor[1])}".removeprefix("torch.")
