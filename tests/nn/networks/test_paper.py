"""The paper's networks: their names and exactly their numbers of parameters."""

from typing import Any

import pytest
import torch

from deepergcn.categories import ATOM_SIZES, ATOM_SIZES_2020, BOND_SIZES
from deepergcn.errors import InputError
from deepergcn.nn import (
    NETWORKS,
    DeeperGCN,
    DyResGEN,
    PlainGCN,
    ResGCN,
    ResGCNPlus,
    ResGEN,
    network_class,
    num_parameters,
)
from deepergcn.nn.networks.paper import (
    ogbg_molhiv,
    ogbg_ppa,
    ogbn_arxiv,
    ogbn_proteins,
)


@pytest.mark.parametrize(
    ("build", "count"),
    [
        (ogbn_proteins, 2_374_568),
        (ogbn_arxiv, 491_176),
        (ogbg_ppa, 2_336_421),
        (lambda: ogbg_molhiv(ATOM_SIZES_2020), 531_976),
        (ogbg_molhiv, 532_232),
    ],
)
def test_the_papers_four_networks(build: Any, count: int) -> None:
    assert num_parameters(build()) == count


@pytest.mark.parametrize(
    ("count", "arguments", "options"),
    [
        (253_743, (100, 47), {"hidden_channels": 128, "num_layers": 14, "mlp_layers": 1}),  # ogbn-products
        (117_383, (None, None), {"hidden_channels": 128, "num_layers": 7, "mlp_layers": 1, "learn_beta": True}),
        (
            5_550_208,  # ogbg-molpcba, with the virtual node
            (ATOM_SIZES_2020, 128),
            {
                "hidden_channels": 256,
                "num_layers": 14,
                "layer_edge_encoder": BOND_SIZES,
                "virtual_node": True,
                "level": "graph",
            },
        ),
    ],
)
def test_later_networks_of_the_family(count: int, arguments: Any, options: dict[str, Any]) -> None:
    assert num_parameters(DeeperGCN(*arguments, **options)) == count


def test_the_papers_networks_run_on_their_inputs() -> None:
    generator = torch.Generator().manual_seed(0)
    edge_index = torch.randint(10, (2, 30), generator=generator)

    def categories(sizes: tuple[int, ...], rows: int) -> torch.Tensor:
        return torch.stack([torch.randint(size, (rows,), generator=generator) for size in sizes], dim=1)

    assert ogbn_proteins()(torch.rand(10, 16), edge_index, torch.rand(30, 8)).shape == (10, 112)
    assert ogbn_arxiv()(torch.rand(10, 128), edge_index).shape == (10, 40)
    assert ogbg_ppa()(torch.rand(10, 7), edge_index, torch.rand(30, 7)).shape == (1, 37)
    assert ogbg_molhiv()(categories(ATOM_SIZES, 10), edge_index, categories(BOND_SIZES, 30)).shape == (1, 1)
    assert ogbn_arxiv(dropout=0.1, checkpoint=True).checkpoint


def test_the_settings_behind_the_counts() -> None:
    proteins, arxiv, ppa, molhiv = (f().dynamics() for f in (ogbn_proteins, ogbn_arxiv, ogbg_ppa, ogbg_molhiv))
    assert [len(d) for d in (proteins, arxiv, ppa, molhiv)] == [112, 28, 28, 7]
    assert [d[0]["beta"] for d in (proteins, arxiv, ppa, molhiv)] == [1.0, 0.1, 0.01, 1.0]
    assert arxiv == [{"beta": 0.1, "y": 0.0}] * 28


def sizes(**options: Any) -> dict[str, Any]:
    return {"hidden_channels": 8, "num_layers": 2, **options}


@pytest.mark.parametrize(
    ("cls", "block", "aggr"),
    [(PlainGCN, "PlainBlock", "Max"), (ResGCN, "ResBlock", "Max"), (ResGCNPlus, "ResPlusBlock", "Max")],
)
def test_names_with_plain_aggregators(cls: type[DeeperGCN], block: str, aggr: str) -> None:
    model = cls(3, 2, **sizes())
    assert type(model.layers[1]).__name__ == block
    assert type(model.get_submodule("layers.1.conv.aggregation")).__name__ == f"{aggr}Aggregation"
    assert isinstance(model.get_submodule("layers.1.norm"), torch.nn.LayerNorm)
    with pytest.raises(InputError, match="takes sum, mean or max, got 'softmax'"):
        cls(3, 2, **sizes(aggr="softmax"))


@pytest.mark.parametrize(("aggr", "parameter"), [("softmax", "beta"), ("power_mean", "p")])
def test_resgen_keeps_fixed_what_dyresgen_learns(aggr: str, parameter: str) -> None:
    name = f"layers.1.conv.aggregation.{parameter}"
    assert name not in dict(ResGEN(3, 2, **sizes(aggr=aggr)).named_parameters())
    assert name in dict(DyResGEN(3, 2, **sizes(aggr=aggr)).named_parameters())
    with pytest.raises(InputError, match="ResGEN always keeps it fixed"):
        ResGEN(3, 2, **sizes(aggr=aggr, **{f"learn_{parameter}": True}))
    with pytest.raises(InputError, match="DyResGEN always learns it"):
        DyResGEN(3, 2, **sizes(aggr=aggr, **{f"learn_{parameter}": False}))


@pytest.mark.parametrize("cls", [ResGEN, DyResGEN])
def test_gen_takes_a_generalized_aggregator_in_pre_activation_blocks(cls: type[DeeperGCN]) -> None:
    with pytest.raises(InputError, match="takes softmax or power_mean, got 'max'"):
        cls(3, 2, **sizes(aggr="max"))
    with pytest.raises(InputError, match=r"block: \w+ has res\+ blocks, got 'plain'"):
        cls(3, 2, **sizes(block="plain"))


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("level", ["node", "graph"])
def test_every_network_is_built_by_its_name_and_trains(name: str, level: str) -> None:
    torch.manual_seed(0)
    model = network_class(name)(3, 2, **sizes(level=level, dropout=0.1))
    out = model(torch.randn(5, 3), torch.tensor([[0, 1, 2, 2], [1, 0, 3, 3]]))
    out.square().sum().backward()
    assert out.shape == ((5, 2) if level == "node" else (1, 2))
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_an_unknown_network_is_answered_with_the_known_ones() -> None:
    with pytest.raises(
        InputError, match=r"network: expected one of DeeperGCN, PlainGCN, ResGCN, ResGCN\+, .* got 'GraphTransformer'"
    ):
        network_class("GraphTransformer")
