"""Sizes by arithmetic, and the whole graph as the evaluation of a task on nodes wherever it fits."""

import logging
import weakref
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from deepergcn.data.batching.partitions import WholeGraph
from deepergcn.data.dataset import Dataset
from deepergcn.errors import InputError
from deepergcn.recipes.load import load_recipe
from deepergcn.recipes.schema import Recipe
from deepergcn.runs.dataset import load_data
from deepergcn.runs.model.network import build_model, dataset_inputs
from deepergcn.training.cost import sizes
from deepergcn.training.cost.sizes import Batch, evaluation_partitions, inference_bytes, memory_text, parse_memory
from deepergcn.training.scoring.evaluation import Evaluation
from tests.training.small import network, network_settings


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Recipe, Dataset]:
    settings = network_settings(network(tmp_path_factory.mktemp("data")), "model.num_layers=6")
    recipe = load_recipe("yeast-proteins", [*settings, "evaluation.partitions=null", "evaluation.draws=null"])
    return recipe, load_data(recipe)


def evaluated(recipe: Recipe, **changes: Any) -> Recipe:
    return recipe.model_copy(update={"evaluation": recipe.evaluation.model_copy(update=changes)})


def test_texts() -> None:
    assert [parse_memory(text) for text in ("8GB", "1.5 GB", "900MB", "1TB")] == [8e9, 1.5e9, 9e8, 1e12]
    assert [memory_text(size) for size in (3e3, 12e6, 1.5e9, 22e9)] == ["3 kB", "12 MB", "1.5 GB", "22 GB"]
    assert Batch(100, 1000).part(3) == (34, 112)


@pytest.mark.parametrize("text", ["8", "8 gigabytes", "-1GB", "GB", "1e3GB"])
def test_memory_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"training\.memory"):
        load_recipe("yeast-proteins", [f"training.memory={text}"])


def test_the_whole_graph_is_the_default(small: tuple[Recipe, Dataset]) -> None:
    recipe, dataset = small
    assert evaluation_partitions(dataset, recipe) == (1, 1)
    assert evaluation_partitions(dataset, evaluated(recipe, partitions=3, draws=10)) == (3, 10)
    assert evaluation_partitions(dataset, evaluated(recipe, partitions=3)) == (3, 1)


def test_as_few_parts_as_fit_and_a_line_that_says_so(
    small: tuple[Recipe, Dataset], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    recipe, dataset = small
    whole = sizes.whole_graph(dataset)
    room = inference_bytes(dataset, recipe, whole.part(3))
    monkeypatch.setattr(sizes, "available_memory", lambda: room / 0.9 + 1)
    with caplog.at_level(logging.WARNING):
        assert evaluation_partitions(dataset, recipe) == (3, 10)
    assert "evaluated in 3 random parts, averaged over 10 draws" in caplog.text
    assert evaluation_partitions(dataset, evaluated(recipe, draws=2)) == (3, 2)


def test_the_memory_of_a_gpu_counts_where_it_is_evaluated_on(
    small: tuple[Recipe, Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, dataset = small
    room = inference_bytes(dataset, recipe, sizes.whole_graph(dataset).part(3))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (room / 0.9 + 1, 80 * 10**9))
    assert evaluation_partitions(dataset, recipe, torch.device("cpu")) == (1, 1)
    assert evaluation_partitions(dataset, recipe, torch.device("cuda")) == (3, 10)


def test_evaluation_of_the_whole_graph_has_the_values_of_the_network(small: tuple[Recipe, Dataset]) -> None:
    recipe, dataset = small
    model = build_model(recipe, dataset_inputs(dataset)).eval()
    outputs = Evaluation(dataset, recipe, seed=0).outputs(model)
    assert torch.equal(outputs, model(WholeGraph(dataset).batch).detach())


def test_evaluation_keeps_no_layer_longer_than_the_next(small: tuple[Recipe, Dataset]) -> None:
    recipe, dataset = small
    model: Any = build_model(recipe, dataset_inputs(dataset)).eval()
    outputs: list[weakref.ref[Tensor]] = []
    alive: list[int] = []

    def hook(module: nn.Module, inputs: object, output: Tensor) -> None:
        outputs.append(weakref.ref(output))
        alive.append(sum(kept() is not None for kept in outputs))

    for layer in model.layers:
        layer.register_forward_hook(hook)
    Evaluation(dataset, recipe, seed=0).outputs(model)
    assert len(alive) == 6
    assert max(alive) == 2  # the input and the output of a layer


def test_training_and_evaluation_share_one_whole_graph(small: tuple[Recipe, Dataset]) -> None:
    _, dataset = small
    one, two = WholeGraph(dataset), WholeGraph(dataset)
    assert one.batch is two.batch
    assert one.batch.adjacency is dataset.adjacency()
    other = dataset.replace(name="another")
    assert WholeGraph(other).batch is not one.batch
