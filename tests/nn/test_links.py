"""The link predictor: an MLP of the product of two vertices, without a direction and without a gradient by chance."""

import pytest
import torch
from torch import nn
from torch_geometric.data import Data

from deepergcn.errors import InputError
from deepergcn.nn import DeeperGCN, LinkPredictor, links, num_parameters


def test_it_is_the_mlp_of_the_product_channel_by_channel() -> None:
    torch.manual_seed(0)
    predictor = LinkPredictor(6, 2, num_layers=3).double()
    h, pairs = torch.randn(5, 6, dtype=torch.double), torch.tensor([[0, 1, 4, 4], [3, 1, 2, 0]])
    out = predictor(h, pairs)
    one, two, three = (layer for layer in predictor.layers if isinstance(layer, nn.Linear))
    for k, (u, v) in enumerate(pairs.T.tolist()):
        expected = three(torch.relu(two(torch.relu(one(h[u] * h[v])))))
        assert torch.allclose(out[k], expected, rtol=1e-12, atol=1e-14)
    assert torch.equal(out, predictor(h, pairs.flip(0)))


def test_the_gradient_is_that_of_the_definition_twice() -> None:
    torch.manual_seed(0)
    predictor = LinkPredictor(3, num_layers=2).double()
    h = torch.randn(4, 3, dtype=torch.double, requires_grad=True)
    pairs = torch.tensor([[0, 0, 2, 1], [1, 1, 2, 3]])
    assert torch.autograd.gradcheck(lambda h: predictor(h, pairs), h)
    assert torch.autograd.gradgradcheck(lambda h: predictor(h, pairs).square(), h)


def test_the_gradient_has_the_same_bits_in_every_run() -> None:
    torch.manual_seed(0)
    predictor = LinkPredictor(32, num_layers=1)
    h, pairs = torch.randn(20, 32, requires_grad=True), torch.randint(20, (2, 20_000))
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        gradients = [torch.autograd.grad(predictor(h, pairs).sum(), h)[0] for _ in range(5)]
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(gradient, gradients[0]) for gradient in gradients)


def test_many_pairs_are_predicted_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    predictor, h, pairs = LinkPredictor(4), torch.randn(9, 4), torch.randint(9, (2, 50))
    whole = predictor(h, pairs)
    monkeypatch.setattr(links, "CHUNK", 16)
    with torch.no_grad():
        assert torch.allclose(predictor(h, pairs), whole, rtol=1e-6)


def test_a_network_predicts_pairs_of_tensors_and_of_data() -> None:
    torch.manual_seed(0)
    model = DeeperGCN(3, 1, hidden_channels=8, num_layers=3, level="link").eval()
    x, edge_index, pairs = torch.randn(6, 3), torch.randint(6, (2, 12)), torch.tensor([[0, 5], [1, 2]])
    out = model(x, edge_index, edge_label_index=pairs)
    assert out.shape == (2, 1)
    assert isinstance(model.head, LinkPredictor)
    assert torch.equal(out, model(Data(x=x, edge_index=edge_index, edge_label_index=pairs)))
    assert torch.equal(out, model.head(model.embed(x, edge_index), pairs))
    assert model.embed(x, edge_index).shape == (6, 8)
    as_nodes = DeeperGCN(3, 1, hidden_channels=8, num_layers=3)
    assert num_parameters(model) - num_parameters(model.head) == num_parameters(as_nodes) - 9


def test_bad_input_is_one_clear_line() -> None:
    model = DeeperGCN(3, 1, hidden_channels=8, num_layers=2, level="link")
    x, edge_index = torch.randn(6, 3), torch.randint(6, (2, 12))
    with pytest.raises(InputError, match=r"edge_label_index: expected the pairs of vertices \[2, pairs\], got None"):
        model(x, edge_index)
    with pytest.raises(InputError, match=r"pairs: expected int64 \[2, pairs\], got torch.float32 \[2, 1\]"):
        model(x, edge_index, edge_label_index=torch.zeros(2, 1))
    with pytest.raises(InputError, match=r"h: expected \[vertices, 4\], got \[6, 3\]"):
        LinkPredictor(4)(x, torch.zeros(2, 1).long())
    with pytest.raises(InputError, match="num_layers: expected at least 1, got 0"):
        LinkPredictor(4, num_layers=0)
    with pytest.raises(InputError, match="level: expected node, graph or link, got 'edge'"):
        DeeperGCN(3, 1, hidden_channels=8, num_layers=2, level="edge")  # type: ignore[arg-type]
