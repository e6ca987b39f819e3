"""Sizes that are no integers of at least 1 are named, by every module that is built with them."""

from typing import Any

import numpy as np
import pytest
import torch

from deepergcn.errors import InputError
from deepergcn.nn import DeeperGCN, GENConv


@pytest.mark.parametrize("value", ["8", 8.0, None, True, 0])
@pytest.mark.parametrize("name", ["out_channels", "mlp_layers", "expansion", "in_channels"])
def test_a_convolution(name: str, value: Any) -> None:
    sizes: dict[str, Any] = {"in_channels": 8, "out_channels": 8, name: value}
    with pytest.raises(InputError, match=f"^{name}: expected (an integer of )?at least 1, got {value!r}"):
        GENConv(**sizes)


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name in ("hidden_channels", "num_layers", "tied_layers") for value in ("8", 8.0, True, 0)]
    + [("head", 0), ("head", True)],
)
def test_a_network(name: str, value: Any) -> None:
    sizes: dict[str, Any] = {"head": 2, "hidden_channels": 8, "num_layers": 2, name: value}
    with pytest.raises(InputError, match=f"^{name}: expected (an integer of )?at least 1, got {value!r}"):
        DeeperGCN(3, **sizes)


@pytest.mark.parametrize("value", ["0.5", None, 1, -0.1, float("nan")])
def test_dropout_is_a_probability(value: Any) -> None:
    with pytest.raises(InputError, match=r"^dropout: expected a probability from 0 to below 1"):
        DeeperGCN(3, 2, hidden_channels=8, num_layers=1, dropout=value)


def test_integers_of_numpy_are_integers() -> None:
    width: Any = np.int64(4)
    assert GENConv(width, width).out_channels == 4


def test_a_graph_of_negative_number_is_named() -> None:
    network = DeeperGCN(3, 2, hidden_channels=8, num_layers=1, level="graph")
    edges = torch.tensor([[0, 1], [1, 0]])
    with pytest.raises(InputError, match=r"^batch: expected the number of a graph for every node, got -1"):
        network(torch.randn(2, 3), edges, None, torch.tensor([0, -1]))
