"""Convert checkpoints of the authors' code to model files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from deepergcn.errors import InputError
from deepergcn.nn.networks.authors import embedding_sizes, from_authors
from deepergcn.nn.networks.graph_network import GraphNetwork
from deepergcn.nn.networks.paper import num_parameters
from deepergcn.recipes.inputs import Inputs
from deepergcn.recipes.load import load_recipe
from deepergcn.runs.model.model_file import TrainedModel, save_model
from deepergcn.runs.model.network import build_model
from deepergcn.runs.run import FORMAT, Run, RunInfo
from deepergcn.version import __version__


def convert(
    checkpoint: str | Path, recipe: str | Path, out: str | Path, settings: Sequence[str] = ()
) -> tuple[Path, RunInfo]:
    """Convert a checkpoint of ``deep_gcns_torch``.

    Their power mean clamps messages to [1e-7, 10] and this library's does not, so outputs differ where a message is
    clamped.

    Args:
        checkpoint: their ``.pth`` file. Only tensors and plain values are read from it; no code runs.
        recipe: the name or file of the recipe of the network.
        out: a new ``.safetensors`` file or run directory.
        settings: changes to the recipe, ``key=value``.

    Returns:
        The model file and its record.
    """
    file, target = Path(checkpoint), Path(out)
    is_file = target.suffix == ".safetensors"
    if target.exists() and (is_file or not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target}: exists already; expected another --out")
    chosen = load_recipe(recipe, settings)
    if chosen.data.inputs is None:
        raise InputError(f"recipe {chosen.name}: has no data.inputs; expected a recipe with the inputs of its network")
    tensors, epoch = read_checkpoint(file)
    inputs = _inputs(chosen.data.inputs, tensors)
    with torch.random.fork_rng(devices=[]):
        model = build_model(chosen, inputs)
    if not isinstance(model, GraphNetwork):
        raise InputError(f"recipe {chosen.name}: the authors have no network for typed tables")
    try:
        model.load_state_dict(from_authors(tensors, model))
    except InputError as error:
        raise InputError(f"{file}: {error} (recipe {chosen.name})") from error
    info = RunInfo(
        format=FORMAT,
        seed=0,
        versions={"deepergcn": __version__},
        parameters=num_parameters(model),
        dataset=chosen.data.source,
        digest="",
        inputs=inputs,
        label_names=(),
        provenance=None,
    )
    trained = TrainedModel(model, chosen, info, epoch)
    if is_file:
        save_model(target, trained)
        return target, info
    run = Run(target, chosen, info)
    save_model(run.model_file, trained)
    return Run.create(target, chosen, info).model_file, info


def read_checkpoint(file: Path) -> tuple[dict[str, Tensor], int]:
    """Read the weights of a checkpoint, by name, and its epoch (0 if it has none)."""
    if not file.is_file():
        found = "is a folder" if file.is_dir() else "there is no such file"
        raise InputError(f"{file}: {found}; expected a checkpoint (.pth, .pt)")
    try:
        content = torch.load(file, map_location="cpu", weights_only=True)
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror or error})") from error
    except Exception as error:  # a damaged or hostile file can fail in any way
        asks_for_code = "Unsupported global" in str(error)
        reason = "refused: it asks for code to be run" if asks_for_code else "damaged, or another format"
        raise InputError(f"{file}: is not a checkpoint of tensors and plain values ({reason})") from error
    state: Any = content
    for key in ("model_state_dict", "state_dict"):
        if isinstance(content, dict) and key in content:
            state = content[key]
    if not isinstance(state, Mapping) or not state or not all(isinstance(value, Tensor) for value in state.values()):
        raise InputError(f"{file}: has no weights; expected a checkpoint with model_state_dict")
    epoch = content.get("epoch", 0) if isinstance(content, dict) else 0
    return dict(state), epoch if isinstance(epoch, int) and epoch >= 0 else 0


def _inputs(inputs: Inputs, tensors: Mapping[str, Tensor]) -> Inputs:
    """The recipe's inputs with the category sizes of the checkpoint: OGB has added categories since."""
    changes = {}
    for field, lists in (
        ("nodes", ("atom_encoder.atom_embedding_list",)),
        ("edges", ("bond_encoder.bond_embedding_list", "gcns.0.edge_encoder.bond_embedding_list")),
    ):
        sizes = next((sizes for name in lists if (sizes := embedding_sizes(tensors, name))), ())
        present = getattr(inputs, field)
        if isinstance(present, tuple) and len(present) == len(sizes):
            changes[field] = sizes
    return inputs.model_copy(update=changes)
