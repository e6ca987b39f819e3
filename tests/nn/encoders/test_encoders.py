"""Encoders give what Linear layers and embedding tables give, in the smallest form."""

import math
import warnings
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import prune
from torch.testing import assert_close

from deepergcn.errors import InputError
from deepergcn.nn import (
    AffineEncoder,
    CategoricalEncoder,
    CategoricalNodeEncoder,
    EdgeEncoder,
    LinearNodeEncoder,
    MixedNodeEncoder,
    SpeciesNodeEncoder,
)
from deepergcn.nn.encoders.edges import LARGEST_TABLE, WIDEST_AFFINE, Categories, build_edge_encoder
from deepergcn.nn.encoders.nodes import build_node_encoder
from deepergcn.ops import Affine, Dense, Table


def test_raw_features_stay_raw_behind_an_affine_encoder() -> None:
    encoder, features = AffineEncoder(8, 16), torch.rand(5, 8)
    term = encoder(features)
    assert isinstance(term, Affine)
    assert term.features is features
    assert_close(term.materialize(), encoder.linear(features))


def test_wide_features_are_multiplied_out() -> None:
    encoder, features = AffineEncoder(WIDEST_AFFINE + 1, 16), torch.rand(5, WIDEST_AFFINE + 1)
    term = encoder(features)
    assert isinstance(term, Dense)
    assert_close(term.materialize(), encoder.linear(features))


def test_two_linear_layers_fold_into_one_with_the_gradients_of_two() -> None:
    torch.manual_seed(0)
    shared, layer = AffineEncoder(8, 16).double(), AffineEncoder(16, 4).double()
    features = torch.rand(5, 8, dtype=torch.float64)
    term = layer(shared(features))
    assert isinstance(term, Affine)
    assert term.weight.shape == (4, 8)
    parameters = [*shared.parameters(), *layer.parameters()]
    folded = torch.autograd.grad(term.materialize().square().sum(), parameters)
    stacked = torch.autograd.grad(layer.linear(shared.linear(features)).square().sum(), parameters)
    assert_close(folded, stacked)


class LowRank(nn.Module):
    """A Linear layer and a learned change of it, as adapters are; it shows the weight of the former alone."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base, self.change = base, nn.Linear(base.in_features, base.out_features)
        self.in_features, self.weight, self.bias = base.in_features, base.weight, base.bias

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.base(x) + self.change(x)
        return out


def normalized(layer: Any) -> Any:
    with warnings.catch_warnings(action="ignore"):  # it is deprecated, and much used
        nn.utils.weight_norm(layer)
    layer.weight_g.data.mul_(2)
    return layer


@pytest.mark.parametrize("change", [LowRank, normalized, prune.identity])
@pytest.mark.parametrize("below", [None, AffineEncoder(3, 8), CategoricalEncoder((4, 2), 8)], ids=type)
def test_a_replaced_or_hooked_layer_is_called(change: Any, below: EdgeEncoder | None) -> None:
    torch.manual_seed(0)
    encoder, calls = AffineEncoder(8, 16), []
    changed: Any = change(encoder.linear, *["weight"] * (change is prune.identity))
    encoder.linear = changed
    changed.register_forward_hook(lambda *_: calls.append(1))
    features = torch.randint(2, (5, 2)) if isinstance(below, CategoricalEncoder) else torch.rand(5, 3)
    term = torch.rand(5, 8) if below is None else below(features)
    dense = term if isinstance(term, Tensor) else term.materialize()
    for _ in range(2):
        found = encoder(term).materialize()
        assert calls
        assert_close(found, changed(dense))
        weights = list(encoder.parameters())
        for ours, theirs in zip(
            torch.autograd.grad(found.sum(), weights, retain_graph=True),
            torch.autograd.grad(changed(dense).sum(), weights),
            strict=True,
        ):
            assert_close(ours, theirs)


def test_pruned_tables_are_pruned_anew_in_every_pass() -> None:
    encoder: Any = CategoricalEncoder((4, 2), 8)
    prune.l1_unstructured(encoder.tables, "weight", amount=0.3)
    for _ in range(2):
        encoder(torch.zeros(3, 2, dtype=torch.int64)).materialize().sum().backward()
        with torch.no_grad():
            encoder.tables.weight_orig += 1
    categories = torch.tensor([[3, 1], [0, 0]])
    pruned = encoder.tables.weight_orig * encoder.tables.weight_mask
    assert_close(encoder(categories).materialize(), pruned[categories[:, 0]] + pruned[4 + categories[:, 1]])


def test_layers_of_eight_bits() -> None:
    layers = nn.ModuleList([LinearNodeEncoder(8, 16), AffineEncoder(8, 16)])
    with warnings.catch_warnings(action="ignore"):  # PyTorch wants another package to be used
        quantized = torch.ao.quantization.quantize_dynamic(layers, {nn.Linear}, torch.qint8)
    x = torch.rand(5, 8)
    for ours, theirs in zip(quantized, layers, strict=True):
        found, expected = ours(x), theirs(x)
        if not isinstance(found, Tensor):
            found, expected = found.materialize(), expected.materialize()
        assert_close(found, expected, rtol=0.05, atol=0.05)


def test_an_affine_layer_on_shared_categories_changes_the_table_only() -> None:
    shared, layer = CategoricalEncoder((5, 6, 2), 16), AffineEncoder(16, 4)
    term = layer(shared(torch.zeros(7, 3, dtype=torch.int64)))
    assert isinstance(term, Table)
    assert term.table.shape == (60, 4)


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    edges=st.integers(0, 20),
    dtype=st.sampled_from([torch.int64, torch.int32, torch.uint8]),
)
def test_categories_give_the_sum_of_their_embeddings(sizes: list[int], edges: int, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(edges)
    categories = torch.stack([torch.randint(size, (edges,), generator=generator) for size in sizes], dim=1).to(dtype)
    encoder = CategoricalEncoder(sizes, 3)
    term = encoder(categories)
    tables = encoder.tables.weight.split(sizes)
    expected = sum(F.embedding(categories[:, k].long(), table) for k, table in enumerate(tables))
    assert isinstance(term, Table)
    assert_close(term.materialize(), expected)
    assert term.table.shape[0] <= (math.prod(sizes) if math.prod(sizes) <= LARGEST_TABLE else edges)


def test_the_numbering_is_the_same_for_every_layer() -> None:
    first, second = CategoricalEncoder((5, 6, 2), 8), CategoricalEncoder((5, 6, 2), 8)
    categories = torch.tensor([[4, 5, 1], [0, 0, 0], [1, 2, 1]])
    prepared = first.prepare(categories)
    assert isinstance(prepared, Categories)
    assert prepared.codes.tolist() == [59, 0, 17]
    assert second(prepared).codes is prepared.codes
    assert_close(second(prepared).materialize(), second(categories).materialize())


def test_embeddings_start_as_ogb_starts_them() -> None:
    weight = CategoricalNodeEncoder((1000, 3), 200).tables.weight.detach()
    for table in weight.split((1000, 3)):
        bound = math.sqrt(6 / (table.shape[0] + 200))
        assert bound * 0.9 < table.abs().max() <= bound


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (torch.rand(5, 7), r"edge_attr: expected a floating-point tensor \[edges, 8\], got torch.float32 \[5, 7\]"),
        (torch.zeros(5, 8, dtype=torch.int64), "edge_attr: expected a floating-point tensor"),
        (torch.rand(8), "edge_attr: expected a floating-point tensor"),
        (Categories(torch.zeros(5), torch.zeros(1, 1)), "edge_attr: expected floating-point features, got categories"),
    ],
)
def test_affine_encoders_name_what_is_wrong(features: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        AffineEncoder(8, 16)(features)


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        ([[0, 0, 0], [0, 6, 0]], "edge_attr: category 6 in row 1, column 1 is out of range, expected 0 to 5"),
        ([[0, 0, -1]], "edge_attr: category -1 in row 0, column 2 is out of range, expected 0 to 1"),
        ([[0, 0]], r"edge_attr: expected integers \[rows, 3\], got torch.int64 \[1, 2\]"),
        ([[0.0, 0.0, 0.0]], r"edge_attr: expected integers \[rows, 3\], got torch.float32"),
    ],
)
def test_categorical_encoders_name_what_is_wrong(categories: list[list[float]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CategoricalEncoder((5, 6, 2), 16)(torch.tensor(categories))


@pytest.mark.parametrize(
    "below",
    [AffineEncoder(3, 16)(torch.rand(5, 3)), Dense(torch.rand(5, 16)), Table(torch.zeros(5), torch.rand(4, 16))],
)
def test_a_layers_encoder_must_fit_the_shared_one(below: object) -> None:
    with pytest.raises(InputError, match="edge_encoder: expected an edge term of 8 channels, got 16"):
        AffineEncoder(8, 4)(below)


def test_categorical_encoders_do_not_take_real_features() -> None:
    with pytest.raises(InputError, match="edge_attr: expected integers or numbered categories, got Dense"):
        CategoricalEncoder((5,), 4)(Dense(torch.rand(3, 4)))


def test_encoders_refuse_impossible_sizes() -> None:
    with pytest.raises(InputError, match="edge_encoder: expected a width of at least 1, or -1 for a lazy one, got 0"):
        AffineEncoder(0, 4)
    with pytest.raises(InputError, match="expected at least one column of at least one category"):
        CategoricalEncoder((3, 0), 4)
    with pytest.raises(InputError, match="fewer than 2\\^62 combinations"):
        CategoricalEncoder((2**31, 2**31), 1)
    with pytest.raises(InputError, match="node_encoder: expected a width of at least 1"):
        LinearNodeEncoder(0, 4)


def test_a_specification_becomes_its_encoder() -> None:
    assert build_edge_encoder(None, 4) is None
    assert isinstance(build_edge_encoder(8, 4), AffineEncoder)
    assert isinstance(build_edge_encoder((5, 2), 4), CategoricalEncoder)
    own = AffineEncoder(8, 4)
    assert build_edge_encoder(own, 4) is own
    with pytest.raises(InputError, match="edge_encoder: expected a width"):
        build_edge_encoder("affine", 4)  # type: ignore[arg-type]

    assert build_node_encoder(None, 4) is None
    assert isinstance(build_node_encoder(8, 4), LinearNodeEncoder)
    assert isinstance(build_node_encoder([5, 2], 4), CategoricalNodeEncoder)
    module = nn.Identity()
    assert build_node_encoder(module, 4) is module
    with pytest.raises(InputError, match="node_encoder: expected a width"):
        build_node_encoder(2.5, 4)  # type: ignore[arg-type]


def test_node_encoders() -> None:
    x = torch.rand(4, 8)
    linear = LinearNodeEncoder(8, 5)
    assert_close(linear(x), linear.linear(x))

    categories = torch.tensor([[1, 0], [2, 3]])
    tables = CategoricalNodeEncoder((3, 4), 5)
    weight = tables.tables.weight
    assert_close(tables(categories), torch.stack([weight[1] + weight[3], weight[2] + weight[6]]))

    mixed = MixedNodeEncoder((3, 4), 2, 5)
    numbers = torch.rand(2, 2)
    expected = mixed.tables(categories) + mixed.linear(numbers)
    assert_close(mixed(torch.cat([categories.float(), numbers], dim=1)), expected)

    species = SpeciesNodeEncoder(5, edge_channels=3, species=2)
    x = torch.rand(4, 5)
    assert_close(species(x), species.linear(torch.cat([x[:, :3], species.species(x[:, 3:])], dim=1)))


@pytest.mark.parametrize(
    ("encoder", "x", "message"),
    [
        (LinearNodeEncoder(8, 4), torch.rand(3, 7), r"x: expected a floating-point tensor \[nodes, 8\]"),
        (LinearNodeEncoder(8, 4), torch.zeros(3, 8, dtype=torch.int64), "x: expected a floating-point tensor"),
        (SpeciesNodeEncoder(4), torch.rand(3, 8), r"x: expected a floating-point tensor \[nodes, 16\]"),
        (MixedNodeEncoder((3, 4), 2, 4), torch.zeros(3, 3), r"x: expected a floating-point tensor \[nodes, 4\]"),
        (
            MixedNodeEncoder((3, 4), 1, 4),
            torch.tensor([[0.0, 4, 0]]),
            "x: category 4 in row 0, column 1 is out",
        ),
        (CategoricalNodeEncoder((3, 4), 4), torch.tensor([[3, 0]]), "x: category 3 in row 0, column 0 is out of range"),
    ],
)
def test_node_encoders_name_what_is_wrong(encoder: nn.Module, x: torch.Tensor, message: str) -> None:
    with pytest.raises(InputError, match=message):
        encoder(x)
