"""Model files: those of every network come back, and files that are none are refused."""

import os
from pathlib import Path

import pytest

from deepergcn.errors import InputError
from deepergcn.nn import NETWORKS
from deepergcn.recipes.load import load_recipe
from deepergcn.runs.model.model_file import TrainedModel, load_model, save_model
from deepergcn.runs.model.network import build_model
from deepergcn.runs.run import FORMAT, RunInfo


def test_a_pipe_in_place_of_a_model_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model.safetensors")
    with pytest.raises(InputError, match=r"model\.safetensors: is a pipe or a device; expected a file"):
        load_model(tmp_path / "model.safetensors")


@pytest.mark.parametrize("name", NETWORKS)
def test_a_deep_network_of_every_kind_comes_back(tmp_path: Path, name: str) -> None:
    recipe = load_recipe("planetoid", [f"model.network={name}", "model.num_layers=12", "model.hidden_channels=8"])
    inputs = recipe.data.inputs
    assert inputs is not None
    info = RunInfo(
        format=FORMAT,
        seed=0,
        versions={},
        parameters=0,
        dataset="",
        digest="",
        inputs=inputs,
        label_names=(),
        provenance=None,
    )
    network = build_model(recipe, inputs)
    save_model(tmp_path / "model.safetensors", TrainedModel(network, recipe, info, epoch=1))
    found = load_model(tmp_path / "model.safetensors")
    assert found.recipe == recipe
    for key, weight in network.state_dict().items():
        assert found.model.state_dict()[key].equal(weight)
