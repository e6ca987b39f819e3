"""The recipes that come with the package: each is valid, builds its network, and has the settings of the paper."""

from importlib import resources
from inspect import signature
from typing import Any

import pytest
import torch

from deepergcn.categories import ATOM_SIZES_2020
from deepergcn.nn.conv.gen_conv import GENConv, GENConvOptions
from deepergcn.nn.links import LinkPredictor
from deepergcn.nn.networks.graph_network import FrameOptions, GraphNetwork
from deepergcn.nn.networks.paper import num_parameters
from deepergcn.nn.networks.registry import NETWORKS
from deepergcn.recipes import load_recipe, recipe_names
from deepergcn.recipes.inputs import Inputs
from deepergcn.recipes.load import dump_recipe, read_recipe
from deepergcn.recipes.schema import ModelSection, Recipe
from deepergcn.runs.model.network import build_model, count_parameters

PAPER = ("ogbn-proteins", "ogbn-arxiv", "ogbg-ppa", "ogbg-molhiv")
LATER = ("ogbn-products", "ogbg-molpcba")
LINKS = "ogbl-collab"
PARAMETERS = {
    "ogbn-proteins": 2_374_568,
    "ogbn-arxiv": 491_176,
    "ogbg-ppa": 2_336_421,
    "ogbg-molhiv": 532_232,
    "ogbn-proteins-rev": 20_031_384,
    "ogbn-products": 253_743,
    "ogbg-molpcba": 5_550_464,
}
SCORES = {"ogbn-proteins": 0.8580, "ogbn-arxiv": 0.7192, "ogbg-ppa": 0.7712, "ogbg-molhiv": 0.7858}
SCORES |= {"ogbn-products": 0.8098, "ogbg-molpcba": 0.2781}
OWN = ("own-graphs", "own-links", "own-molecules", "own-tables", "own-typed-tables")

# Network, layers, width, layers of the MLP, norm, dropout, beta, semi-gradient, learning rate, epochs: the settings of
# 2020, and those that the authors' code has since.
SETTINGS: dict[str, tuple[Any, ...]] = {
    "ogbn-proteins": ("DyResGEN", 112, 64, 2, "layer", 0.1, 1.0, None, 0.01, 1000),
    "ogbn-proteins-head": ("DyResGEN", 112, 64, 2, "layer", 0.1, 1.0, None, 0.001, 1000),
    "ogbn-arxiv": ("ResGEN", 28, 128, 1, "batch", 0.5, 0.1, True, 0.01, 500),
    "ogbn-arxiv-head": ("ResGEN", 28, 128, 1, "batch", 0.5, 0.1, True, 0.001, 500),
    "ogbg-ppa": ("ResGEN", 28, 128, 2, "layer", 0.5, 0.01, True, 0.01, 200),
    "ogbg-ppa-head": ("ResGEN", 28, 128, 2, "layer", 0.5, 0.01, True, 0.01, 200),
    "ogbg-molhiv": ("DyResGEN", 7, 256, 1, "batch", 0.5, 1.0, None, 0.01, 300),
    "ogbg-molhiv-head": ("DyResGEN", 7, 256, 1, "batch", 0.2, 1.0, None, 0.0001, 300),
    "ogbn-products": ("ResGEN", 14, 128, 1, "batch", 0.5, 0.1, True, 0.01, 500),
    "ogbg-molpcba": ("ResGEN", 14, 256, 2, "batch", 0.5, 0.1, True, 0.01, 300),
}


def inputs_of(recipe: Recipe) -> Inputs:
    if recipe.data.inputs is not None:
        return recipe.data.inputs
    if recipe.name in ("own-graphs", "own-molecules"):
        return inputs_of(load_recipe("solubility"))
    if recipe.name == "own-links":
        return Inputs.model_validate(
            {"nodes": 5, "task": {"level": "link", "kind": "binary", "outputs": 1, "metric": "rocauc"}}
        )
    edges = {"source": "user", "relation": "buys", "target": "item", "width": None}
    typed: Any = {"target": "user", "nodes": {"user": 5, "item": 2}, "edges": [edges]}
    return Inputs.model_validate(
        {
            "typed": typed if recipe.name == "own-typed-tables" else None,
            "nodes": 5,
            "task": {"level": "node", "kind": "multi-class", "outputs": 3, "metric": "accuracy"},
        }
    )


def test_the_recipes_are_those_of_the_paper_and_more() -> None:
    more = {
        "solubility",
        "yeast-proteins",
        "yeast-proteins-rev",
        "ogbn-proteins-rev",
        "synthetic-proteins",
        "minesweeper",
        "minesweeper-best",
        "minesweeper-labels",
        "planetoid",
        "planetoid-pubmed",
        "ogbg-molhiv-average",
        "ogbg-molhiv-best",
        "ogbg-molhiv-blend",
        *OWN,
        *LATER,
        LINKS,
    }
    assert set(recipe_names()) == {*PAPER, *(f"{name}-head" for name in PAPER), *more}


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_is_named_as_its_file_which_begins_with_its_command(name: str) -> None:
    text = resources.files("deepergcn.recipes").joinpath(f"{name}.yaml").read_text()
    assert load_recipe(name).name == name
    command = text.splitlines()[0]
    assert command.startswith("# deepergcn train --" if name in OWN else f"# deepergcn train {name}")


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_builds_the_network_whose_parameters_are_counted(name: str) -> None:
    recipe = load_recipe(name)
    depth = min(recipe.model.num_layers, 112)  # these stand for a thousand
    recipe = recipe.model_copy(update={"model": recipe.model.model_copy(update={"num_layers": depth})})
    inputs = inputs_of(recipe)
    with torch.device("meta"):
        model: Any = build_model(recipe, inputs)
    assert len(model.convs if recipe.name == "own-typed-tables" else model.layers) == recipe.model.num_layers
    assert num_parameters(model) == count_parameters(recipe, inputs)


@pytest.mark.parametrize("full_name", [*PAPER, *(f"{name}-head" for name in PAPER), *LATER])
def test_the_recipes_of_the_authors_have_their_parameters_and_scores(full_name: str) -> None:
    recipe, name = load_recipe(full_name), full_name.removesuffix("-head")
    assert recipe.published is not None
    assert recipe.published.score == SCORES[name]
    assert count_parameters(recipe, inputs_of(recipe)) == PARAMETERS[name]
    inputs = inputs_of(recipe)
    if name.startswith("ogbg-mol"):
        inputs = inputs.model_copy(update={"nodes": ATOM_SIZES_2020})
    assert count_parameters(recipe, inputs) == recipe.published.parameters


@pytest.mark.parametrize("name", SETTINGS)
def test_the_recipes_of_the_paper_have_its_settings(name: str) -> None:
    recipe = load_recipe(name)
    model, options = recipe.model, recipe.model.options()
    assert (
        model.network,
        model.num_layers,
        model.hidden_channels,
        options.get("mlp_layers"),
        model.norm,
        model.dropout,
        options.get("beta"),
        options.get("semi_gradient"),
        recipe.optimizer.lr,
        recipe.training.epochs,
    ) == SETTINGS[name]
    assert model.aggr == "softmax"
    assert (recipe.optimizer.name, recipe.optimizer.weight_decay, recipe.optimizer.schedule) == ("adam", 0, "constant")
    assert not options.get("msg_norm")
    assert bool(options.get("virtual_node")) == (name == "ogbg-molpcba")


def test_the_recipes_of_the_paper_see_their_graphs_as_the_paper_does() -> None:
    proteins, arxiv, ppa, molhiv = map(load_recipe, PAPER)
    assert (proteins.training.partitions, proteins.training.batch_size) == (10, 1)
    assert (proteins.training.partitioning, proteins.evaluation.partitions) == ("random", 5)
    assert (arxiv.training.partitions, arxiv.evaluation.partitions) == (1, None)  # the whole graph, where it fits
    assert (ppa.training.batch_size, ppa.evaluation.every) == (32, 5)
    assert (molhiv.training.batch_size, molhiv.evaluation.every) == (32, 1)
    assert arxiv.data.transforms == ("undirected", "self-loops")
    sums = {"name": "node-features-from-edges", "reduce": "sum"}
    assert proteins.data.transforms == (sums, "one-hot-species")
    assert ppa.data.transforms == (sums,)
    assert molhiv.data.transforms == ()
    encoders = [recipe.model.edge_encoder for recipe in (proteins, arxiv, ppa, molhiv)]
    assert encoders == ["shared+layer", "none", "shared+layer", "layer"]


def test_the_later_recipes_see_their_graphs_as_the_authors_do() -> None:
    products, molpcba = map(load_recipe, LATER)
    assert products.data.transforms == ("self-loops",)
    assert (products.training.partitions, products.training.batch_size, products.evaluation.partitions) == (10, 1, None)
    assert products.evaluation.every == products.training.epochs
    assert (molpcba.training.batch_size, molpcba.model.edge_encoder) == (32, "layer")


@pytest.mark.parametrize("name", recipe_names())
def test_a_recipe_that_is_written_and_read_is_the_same(name: str) -> None:
    recipe = load_recipe(name)
    assert read_recipe(dump_recipe(recipe), "again") == recipe


def test_the_schema_knows_every_network() -> None:
    assert set(ModelSection.model_fields["network"].annotation.__args__) == {*NETWORKS, "HeteroDeeperGCN"}  # type: ignore[union-attr]


def test_counting_parameters_draws_no_random_numbers() -> None:
    recipe = load_recipe("solubility")
    before = torch.get_rng_state()
    count_parameters(recipe, inputs_of(recipe))
    assert torch.equal(torch.get_rng_state(), before)


def test_the_keys_of_a_model_are_the_options_of_the_modules() -> None:
    def names(cls: type, *others: str) -> set[str]:
        return set(signature(cls).parameters) - set(others)

    conv = names(GENConv, "in_channels", "out_channels", "norm", "edge_encoder", "kwargs")
    shape = ("node_encoder", "head", "hidden_channels", "num_layers")
    frame = names(GraphNetwork, "make_conv", "block", *shape)
    assert conv == set(GENConvOptions.__annotations__)
    assert frame == set(FrameOptions.__annotations__)
    keys = set(ModelSection.model_fields) - {"network", *shape, "block"}
    assert keys == (conv | frame) - {"level"}  # which follows from the data


def test_ogbl_collab_has_the_parameters_of_the_board_and_the_link_predictors() -> None:
    recipe = load_recipe(LINKS)
    model = build_model(recipe, inputs_of(recipe))
    assert isinstance(model.head, LinkPredictor)
    assert num_parameters(model.head) == 33_153 == 2 * (128 * 128 + 128) + 128 + 1
    assert num_parameters(model) == 117_383 + 33_153
    assert model.node_encoder is None
    settings = recipe.model
    assert (settings.network, settings.num_layers, settings.hidden_channels) == ("DyResGEN", 7, 128)
    assert (settings.norm, settings.dropout, recipe.optimizer.lr, recipe.training.epochs) == ("batch", 0.0, 0.001, 400)
    assert recipe.training.batch_size == 64 * 1024
