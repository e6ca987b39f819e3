"""Networks that predict: other ways to the same numbers."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from deepergcn.errors import InputError
from deepergcn.nn import DeeperGCN, DyResGEN
from deepergcn.nn.encoders.tables import Tables
from deepergcn.nn.networks import graph_network, run_layers
from deepergcn.nn.networks.predict_layers import predict_layers, predict_pooled
from deepergcn.ops.path import forward_only

SIZES, BONDS, ATOMS, GRAPHS = (5, 3), (4, 2), 30, 4


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether the layers, and the pooling, of every pass went the way of predictions."""
    ways: list[bool] = []

    def noted(function: Any) -> Any:
        def call(*arguments: Any) -> Any:
            found = function(*arguments)
            ways.append(found is not None)
            return found

        return call

    monkeypatch.setattr(run_layers, "predict_layers", noted(predict_layers))
    monkeypatch.setattr(graph_network, "predict_pooled", noted(predict_pooled))
    return ways


def _network(**options: Any) -> DeeperGCN:
    torch.manual_seed(0)
    options = {"norm": "batch", "virtual_node": True, "mlp_layers": 1, **options}
    made = DyResGEN if "aggr" not in options else DeeperGCN
    network = made(
        SIZES, 2, hidden_channels=16, num_layers=4, layer_edge_encoder=BONDS, level="graph", dropout=0.1, **options
    )
    for parameter in network.parameters():  # biases are 0 and scales 1 at the beginning
        with torch.no_grad():
            parameter.add_(torch.randn_like(parameter) / 10)
    network(*_inputs())  # so that the running moments are not those of the beginning
    return network.eval()


def _inputs() -> tuple[Tensor, Tensor, Tensor, Tensor, int]:
    """Molecules of ten atoms, and a last graph without any."""
    draw = torch.Generator().manual_seed(1)
    batch = torch.arange(ATOMS) // 10
    edge_index = torch.randint(10, (2, 80), generator=draw) + 10 * (torch.arange(80) % 3)
    x = torch.stack([torch.randint(size, (ATOMS,), generator=draw) for size in SIZES], dim=1)
    edge_attr = torch.stack([torch.randint(size, (80,), generator=draw) for size in BONDS], dim=1)
    return x, edge_index, edge_attr, batch, GRAPHS


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"virtual_node": False},
        {"mlp_layers": 2},
        {"norm": None},
        {"bias": False},
        {"pooling": "sum"},
        {"virtual_node": False, "aggr": "softmax", "beta": -2.0, "block": "res+"},
    ],
    ids=str,
)
def test_a_network_of_molecules(options: dict[str, Any], taken: list[bool]) -> None:
    network, inputs = _network(**options), _inputs()
    kept = network(*inputs)
    assert not any(taken)
    with torch.no_grad(), forward_only():
        taken.clear()
        alone = network(*inputs)
    assert taken == [True, True]
    assert kept.requires_grad
    torch.testing.assert_close(alone, kept.detach(), rtol=1e-5, atol=1e-5)
    with torch.no_grad():  # as in the first pass of layers that are computed again
        assert torch.equal(network(*inputs), kept)


@pytest.mark.parametrize(
    "options",
    [
        {"norm": "layer"},
        {"aggr": "power_mean", "block": "res+"},
        {"aggr": "softmax", "y": 0.5, "block": "res+"},
        {"aggr": "softmax", "msg_norm": True, "block": "res+"},
        {"aggr": "softmax", "block": "res"},
        {"pooling": "max"},
    ],
    ids=str,
)
def test_other_networks_go_the_usual_way(options: dict[str, Any], taken: list[bool]) -> None:
    network, inputs = _network(**options), _inputs()
    with torch.no_grad(), forward_only():
        taken.clear()
        alone = network(*inputs)
    assert not all(taken)
    torch.testing.assert_close(alone, network(*inputs).detach(), rtol=1e-5, atol=1e-5)


def test_a_hook_is_called(taken: list[bool]) -> None:
    network, inputs, seen = _network(), _inputs(), list[Any]()
    conv: Any = network.layers[2].conv
    conv.aggregation.register_forward_hook(lambda *call: seen.append(call))
    with torch.no_grad(), forward_only():
        network(*inputs)
    assert len(seen) == 1
    assert taken[-2:] == [False, True]


class Louder(nn.Sequential):
    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = 2 * self[0](x)
        return out


@pytest.mark.parametrize("mlp", [nn.Linear(16, 16), Louder(nn.Linear(16, 16))], ids=lambda mlp: type(mlp).__name__)
def test_another_mlp_is_called(mlp: nn.Module, taken: list[bool]) -> None:
    network, inputs = _network(), _inputs()
    conv: Any = network.layers[2].conv
    conv.mlp = mlp
    with torch.no_grad(), forward_only():
        alone = network(*inputs)
    assert taken[-2:] == [False, True]
    torch.testing.assert_close(alone, network(*inputs).detach(), rtol=1e-5, atol=1e-5)


def test_vertices_in_another_order(taken: list[bool]) -> None:
    network, (x, edge_index, edge_attr, batch, graphs) = _network(), _inputs()
    order = torch.randperm(ATOMS, generator=torch.Generator().manual_seed(2))
    place = torch.argsort(order)
    with torch.no_grad(), forward_only():
        expected = network(x, edge_index, edge_attr, batch, graphs)
        mixed = network(x[order], place[edge_index], edge_attr, batch[order], graphs)
    assert taken[-2:] == [False, False]
    torch.testing.assert_close(mixed, expected, rtol=1e-5, atol=1e-5)


def test_the_input_stays_as_it_is() -> None:
    torch.manual_seed(0)
    network = DyResGEN(None, None, hidden_channels=8, num_layers=2, layer_edge_encoder=BONDS, level="graph").eval()
    _, edge_index, edge_attr, batch, graphs = _inputs()
    x = torch.randn(ATOMS, 8)
    before = x.clone()
    with torch.no_grad(), forward_only():
        network(x, edge_index, edge_attr, batch, graphs)
    assert torch.equal(x, before)


def test_errors_are_the_same() -> None:
    network, (x, edge_index, edge_attr, batch, graphs) = _network(), _inputs()
    with torch.no_grad(), forward_only():
        with pytest.raises(InputError, match="edge codes"):
            network(x, edge_index, edge_attr[:-1], batch, graphs)
        with pytest.raises(InputError, match="edge features"):
            network(x, edge_index, None, batch, graphs)
        with pytest.raises((InputError, IndexError)):
            network(x, edge_index, edge_attr, batch, 2)


def test_embedding_tables() -> None:
    tables = Tables("x", (5, 3, 2), 8)
    categories = torch.stack([torch.randint(size, (40,)) for size in tables.sizes], dim=1)
    with torch.no_grad(), forward_only():
        alone = tables(categories)
    torch.testing.assert_close(alone, tables(categories).detach(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_torchs_defaults_are_not_relied_upon(device: str, taken: list[bool]) -> None:
    network, given = _network(), _inputs()
    taken.clear()
    with torch.no_grad(), forward_only():
        expected = network(*given)
        torch.set_default_dtype(torch.float64)
        try:
            with torch.device(device):
                found = network(*given)
        finally:
            torch.set_default_dtype(torch.float32)
    assert torch.equal(found, expected)
    assert all(taken)
