"""Reversible layers: equal to the same layers with everything kept, in the memory of one."""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils.parametrizations import spectral_norm
from torch.testing import assert_close
from torch_geometric.nn.models.rev_gnn import GroupAddRev

from deepergcn.errors import InputError
from deepergcn.nn import DeeperGCN, GENConv, ResPlusBlock, RevBlock, RevGEN, num_parameters, reversible
from deepergcn.nn.networks.rev_gen import ogbn_proteins_rev
from deepergcn.nn.reversible.function import after_each_layer

NODES, EDGES = 40, 200
GRAPH = torch.randint(NODES, (2, EDGES), generator=torch.Generator().manual_seed(0))
BATCH = torch.arange(NODES) // 20

OPTIONS: dict[str, dict[str, Any]] = {
    "layer norm": {},
    "batch norm": {"norm": "batch"},
    "no norm": {"norm": None},
    "three groups": {"groups": 3},
    "learned beta and s": {"learn_beta": True, "msg_norm": True},
    "learned p": {"aggr": "power_mean", "learn_p": True},
    "max": {"aggr": "max"},
    "virtual node": {"virtual_node": True, "level": "graph"},
    "tied": {"tied_layers": 5},
    "tied by two": {"tied_layers": 2},
}


def network(dtype: torch.dtype = torch.float64, num_layers: int = 5, **options: Any) -> RevGEN:
    torch.manual_seed(0)
    model = RevGEN(3, 2, hidden_channels=12, num_layers=num_layers, edge_encoder=4, layer_edge_encoder=12, **options)
    return model.to(dtype)


def inputs(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    x, edge = (torch.randn(n, c, generator=generator, dtype=dtype) for n, c in ((NODES, 3), (EDGES, 4)))
    return x.requires_grad_(), edge


def trained(model: RevGEN, dtype: torch.dtype = torch.float64) -> dict[str, Any]:
    """Output, gradients, buffers, and what the generator draws next, after one step."""
    x, edge = inputs(dtype)
    torch.manual_seed(2)
    out = model(x, GRAPH, edge, BATCH)
    drawn = torch.rand(3)
    out.square().sum().backward()
    grads = {name: p.grad for name, p in model.named_parameters()}
    return {"out": out, "x": x.grad, "grads": grads, "buffers": dict(model.named_buffers()), "drawn": drawn}


@pytest.mark.parametrize("name", OPTIONS)
def test_equal_to_the_same_network_that_keeps_everything(name: str) -> None:
    model = network(**OPTIONS[name])
    kept = copy.deepcopy(model)
    kept.rebuild = False
    ours, theirs = trained(model), trained(kept)
    for key in ("out", "x", "buffers"):
        assert_close(ours[key], theirs[key], rtol=1e-9, atol=1e-9)
    for weight, expected in theirs["grads"].items():
        assert (ours["grads"][weight] is None) == (expected is None), weight
        if expected is not None:
            assert_close(ours["grads"][weight], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"virtual_node": True, "level": "graph"}, {"norm": "batch"}])
def test_dropout_draws_the_same_mask_again(options: dict[str, Any]) -> None:
    """A wrong mask in backward would rebuild another input: the gradient is then not that of the output."""
    model = network(dropout=0.5, **options)
    x, edge = inputs()
    direction = torch.randn(NODES, 3, generator=torch.Generator().manual_seed(3), dtype=torch.float64)

    def loss(step: float) -> Tensor:
        torch.manual_seed(4)
        return model(x + step * direction, GRAPH, edge, BATCH).square().sum()  # type: ignore[no-any-return]

    loss(0.0).backward()
    assert x.grad is not None
    with torch.no_grad():
        slope = (loss(1e-6) - loss(-1e-6)) / 2e-6
    assert_close((x.grad * direction).sum(), slope, rtol=1e-5, atol=1e-6)


def test_gradcheck() -> None:
    model = network(num_layers=3)
    x, edge = inputs()
    assert torch.autograd.gradcheck(lambda x: model(x, GRAPH, edge), (x,), fast_mode=True)


def test_equal_to_group_add_rev() -> None:
    torch.manual_seed(0)
    branches = [ResPlusBlock(GENConv(4, 4, norm="layer"), nn.LayerNorm(4)).double() for _ in range(2)]

    class Residual(nn.Module):
        """What PyG couples: the residual branch as a module of its own."""

        def __init__(self, block: ResPlusBlock) -> None:
            super().__init__()
            self.block = block

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return self.block.residual(x, edge_index)

    theirs = GroupAddRev(nn.ModuleList(map(Residual, copy.deepcopy(branches))))
    ours = RevBlock(branches)
    x = torch.randn(NODES, 8, dtype=torch.float64)
    results = []
    for run in (lambda x: theirs(x, GRAPH), lambda x: reversible([ours], x, GRAPH), lambda x: ours(x, GRAPH)):
        given = x.clone().requires_grad_()
        out = run(given)
        value = out.detach().clone()
        out.square().sum().backward()
        results.append((value, given.grad))
    for result in results[1:]:
        assert_close(result, results[0], rtol=1e-9, atol=1e-9)
    pairs = zip(ours.parameters(), theirs.parameters(), strict=True)
    for got, expected in pairs:
        assert_close(got.grad, 2 * expected.grad, rtol=1e-9, atol=1e-9)  # two of the three runs are ours


def test_nothing_is_kept_between_the_layers() -> None:
    """What autograd saves of node features does not grow with depth."""
    kept = {}
    for depth in (2, 12):
        model = network(num_layers=depth)
        sizes: list[int] = []

        def note(t: Tensor, sizes: list[int] = sizes) -> Tensor:
            if t.shape[:1] == (NODES,):
                sizes.append(t.numel())
            return t

        x, edge = inputs()
        with torch.autograd.graph.saved_tensors_hooks(note, lambda t: t):
            model(x, GRAPH, edge)
        kept[depth] = sum(sizes)
    assert kept[12] == kept[2]


def test_all_gradients_are_in_one_block() -> None:
    """One by one they would leave holes in the heap, which grow with depth; a copy would take their memory twice."""
    model = network(num_layers=4)
    trained(model)
    blocks = {p.grad.untyped_storage().data_ptr() for p in model.layers.parameters() if p.grad is not None}
    assert len(blocks) == 1


@pytest.mark.parametrize("name", OPTIONS)
def test_weights_are_handed_over_layer_by_layer(name: str) -> None:
    """What takes them has the gradients of one layer at a time, all of them in the end, with the same bits."""
    model = network(dropout=0.3, **OPTIONS[name])
    expected = trained(copy.deepcopy(model))["grads"]
    names = {p: name for name, p in model.named_parameters()}
    taken: list[dict[str, Tensor | None]] = []

    def take(weights: Sequence[nn.Parameter]) -> None:
        at_once = sum(p.grad is not None for p in model.layers.parameters())
        assert at_once == sum(p.grad is not None for p in weights if names[p].startswith("layers."))
        taken.append({names[p]: p.grad for p in weights})
        for p in weights:
            p.grad = None
            p.data.zero_()  # what follows does not need it

    with after_each_layer(take):
        left = trained(model)["grads"]
    found = {name: grad for layer in taken for name, grad in layer.items()}
    assert set(found) >= {name for name in expected if name.startswith("layers.")}
    assert sum(map(len, taken)) == len(found)
    for name, gradient in expected.items():
        got = found[name] if name in found else left[name]
        assert (got is None) == (gradient is None), name
        assert got is None or got.equal(gradient), name


def test_layers_that_share_some_weights_hand_over_nothing() -> None:
    model = network(num_layers=3)
    first, _, last = (layer for layer in model.layers if isinstance(layer, RevBlock))
    first.branches()[1].norm = last.branches()[0].norm
    expected = trained(copy.deepcopy(model))["grads"]
    taken: list[Sequence[nn.Parameter]] = []
    with after_each_layer(taken.append):
        found = trained(model)["grads"]
    assert not taken
    assert_close(found, expected, rtol=0, atol=0)


def test_backward_can_be_repeated_and_be_for_some_weights_only() -> None:
    model = network()
    x, edge = inputs()
    loss = model(x, GRAPH, edge).square().sum()
    some = [next(model.layers[number].parameters()) for number in (3, 1)]
    first = torch.autograd.grad(loss, some, retain_graph=True)
    loss.backward(retain_graph=True)
    assert_close(first, tuple(p.grad for p in some), rtol=0, atol=0)
    before = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    loss.backward()
    assert_close([p.grad for p in model.parameters()], [2 * g for g in before], rtol=0, atol=0)


def replicated(module: Any) -> Any:
    """What ``DataParallel`` runs on another device: weights that are computed, and no parameters."""
    replica = module._replicate_for_data_parallel()
    for name, child in module._modules.items():
        replica._modules[name] = None if child is None else replicated(child)
    for name, weight in module._parameters.items():
        if weight is None:
            replica._parameters[name] = None
        else:
            setattr(replica, name, weight * 1)
    return replica


def test_weights_of_replicas_have_gradients() -> None:
    model = network()
    expected = trained(copy.deepcopy(model))["grads"]
    x, edge = inputs()
    replicated(model)(x, GRAPH, edge, BATCH).square().sum().backward()
    assert_close({name: p.grad for name, p in model.named_parameters()}, expected)


def test_first_layers_can_be_frozen() -> None:
    model = network()
    for module in (model.node_encoder, model.edge_encoder, *list(model.layers)[:2]):
        module.requires_grad_(False)  # type: ignore[union-attr]
    kept = copy.deepcopy(model)
    kept.rebuild = False
    x, edge = inputs()
    for net in (model, kept):
        net(x.detach(), GRAPH, edge).square().sum().backward()
    ours, theirs = ([p.grad for p in net.parameters() if p.requires_grad] for net in (model, kept))
    assert_close(ours, theirs, rtol=1e-9, atol=1e-9)
    assert all(p.grad is None for p in model.parameters() if not p.requires_grad)


def test_under_autocast() -> None:
    model = network(torch.float32)
    kept = copy.deepcopy(model)
    kept.rebuild = False
    with torch.autocast("cpu", torch.bfloat16):
        ours, theirs = trained(model, torch.float32), trained(kept, torch.float32)
    assert_close(ours["out"], theirs["out"])
    assert_close(ours["x"], theirs["x"], rtol=0.05, atol=0.05 * float(theirs["x"].abs().max()))


@pytest.mark.parametrize("name", ["layer norm", "virtual node", "tied by two"])
def test_under_distributed_data_parallel(name: str, tmp_path: Path) -> None:
    """Every weight, also of tied layers, is ready once."""
    alone = trained(network(dropout=0.3, **OPTIONS[name]))
    model = network(dropout=0.3, **OPTIONS[name])
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        x, edge = inputs()
        wrapped = DistributedDataParallel(model)
        torch.manual_seed(2)
        wrapped(x, GRAPH, edge, BATCH).square().sum().backward()
        del wrapped  # it must not outlive the group
    finally:
        dist.destroy_process_group()
    assert_close(x.grad, alone["x"])
    assert_close({name: p.grad for name, p in model.named_parameters()}, alone["grads"])


def test_statistics_are_updated_once() -> None:
    model = network(norm="batch")
    trained(model)
    counts = [b for name, b in model.named_buffers() if name.endswith("num_batches_tracked")]
    assert counts
    assert all(int(count) == 1 for count in counts)


def test_tied_layers_share_weights() -> None:
    untied, half, tied = (network(num_layers=6, tied_layers=n) for n in (1, 3, 6))
    assert [len(model.layers) for model in (untied, half, tied)] == [6, 2, 1]
    assert len(tied.dynamics()) == 6
    res = DeeperGCN(3, 2, hidden_channels=8, num_layers=6, tied_layers=6, norm="layer")
    assert len(res.layers) == 2  # the first layer of res+ is wired differently
    x, _ = inputs(torch.float32)
    res(x, GRAPH).sum().backward()
    assert all(p.grad is not None for p in res.parameters())


def test_parameters_of_the_published_network() -> None:
    with torch.device("meta"):
        one, two, three = (num_parameters(ogbn_proteins_rev(num_layers=layers)) for layers in (1, 2, 3))
    assert two - one == three - two
    assert one + 1000 * (two - one) == 20_031_384


def test_second_order_gradients_are_refused_unless_activations_are_kept() -> None:
    model = network(num_layers=2)
    x, edge = inputs()
    with pytest.raises(InputError, match="rebuild=False"):
        torch.autograd.grad(model(x, GRAPH, edge).square().sum(), x, create_graph=True)
    model.rebuild = False
    (g,) = torch.autograd.grad(model(x, GRAPH, edge).square().sum(), x, create_graph=True)
    g.square().sum().backward()


def test_weights_that_were_replaced_are_noticed() -> None:
    model = network(num_layers=2)
    x, edge = inputs()
    replaced: dict[str, Tensor] = {name: nn.Parameter(p.detach().clone()) for name, p in model.named_parameters()}
    out = torch.func.functional_call(model, replaced, (x, GRAPH, edge))
    with pytest.raises(InputError, match="replaced"):
        out.sum().backward()


@pytest.mark.parametrize("what", ["weight", "edge", "graph", "statistics"])
def test_what_was_modified_since_forward_is_noticed(what: str) -> None:
    torch.manual_seed(0)
    functions = [ResPlusBlock(GENConv(3, 3), nn.BatchNorm1d(3)) for _ in range(2)]
    layers = nn.ModuleList([RevBlock(functions)]).train(what != "statistics")
    x, edge, graph = torch.randn(NODES, 6), torch.randn(EDGES, 3), GRAPH.clone()
    out = reversible(list(layers), x, graph, edge)  # type: ignore[arg-type]
    statistics: Any = functions[0].norm
    changed = {"weight": next(layers.parameters()), "edge": edge, "graph": graph, "statistics": statistics.running_mean}
    with torch.no_grad():
        changed[what].zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


@pytest.mark.parametrize("training", [True, False])
def test_backward_is_of_the_mode_that_forward_had(training: bool) -> None:
    found = []
    for switched in (False, True):
        model = network(norm="batch", dropout=0.3).train(training)
        x, edge = inputs()
        torch.manual_seed(2)
        out = model(x, GRAPH, edge)
        model.train(training != switched)
        out.square().sum().backward()
        assert model.layers[0].training == (training != switched)
        found.append([x.grad, *(p.grad for p in model.parameters())])
    assert_close(found[0], found[1], rtol=0, atol=0)


def jacobian(model: RevGEN, x: Tensor, edge: Tensor) -> Any:
    return torch.autograd.functional.jacobian(lambda h: model(h, GRAPH, edge)[:2], x, vectorize=True)


TRANSFORMS: dict[str, Any] = {
    "functional_call": lambda model, x, edge: torch.func.functional_call(
        model, {name: 2 * p for name, p in model.named_parameters()}, (x, GRAPH, edge)
    ),
    "grad": lambda model, x, edge: torch.func.grad(lambda h: model(h, GRAPH, edge).square().sum())(x),
    "jvp": lambda model, x, edge: torch.func.jvp(lambda h: model(h, GRAPH, edge), (x,), (x.square(),)),
    "vmap": lambda model, x, edge: torch.func.vmap(lambda h: model(h, GRAPH, edge))(torch.stack([x, 2 * x])),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_keep_activations(name: str) -> None:
    model = network(num_layers=2).eval()
    kept = copy.deepcopy(model)
    kept.rebuild = False
    found = []
    for net in (model, kept):
        x, edge = inputs()
        out = TRANSFORMS[name](net, x, edge)
        gradients = torch.autograd.grad(out.square().sum(), [x, *net.parameters()]) if name == "functional_call" else ()
        found.append((out, gradients))
    assert_close(found[0], found[1])


def test_many_gradients_at_once_are_refused_unless_activations_are_kept() -> None:
    model = network(num_layers=2)
    x, edge = inputs()
    with pytest.raises(InputError, match="rebuild=False"):
        jacobian(model, x, edge)
    model.rebuild = False
    assert jacobian(model, x, edge).shape == (2, 2, NODES, 3)


@pytest.mark.parametrize("normalize", [spectral_norm, nn.utils.spectral_norm])
def test_spectral_norms_which_change_with_every_forward_keep_activations(normalize: Any) -> None:
    model = network()
    for module in list(model.layers.modules()):
        if isinstance(module, nn.Linear):
            normalize(module)
    kept = copy.deepcopy(model)
    kept.rebuild = False
    for key in ("out", "x", "grads"):
        assert_close(trained(model)[key], trained(kept)[key], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"virtual_node": True, "level": "graph"}])
def test_hooks_on_layers_are_called(options: dict[str, Any]) -> None:
    model = network(**options)
    expected = trained(copy.deepcopy(model))
    seen: list[Tensor] = []
    layers = list(model.layers)
    for layer in layers:
        layer.register_forward_hook(lambda _, inputs, output: seen.append(output))
    found = trained(model)
    assert_close((found["out"], found["x"], found["grads"]), (expected["out"], expected["x"], expected["grads"]))
    assert len(seen) == len(layers)
    layers[-1].register_forward_hook(lambda _, inputs, output: 0 * output)
    assert not torch.equal(trained(model)["out"], found["out"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": 5}, "groups: expected at least 2 that divide the hidden_channels 12, got 5"),
        ({"groups": 1}, "groups"),
        ({"checkpoint": True}, "checkpoint: expected False with rev blocks"),
        ({"block": "res+"}, "RevGEN has rev blocks"),
        ({"tied_layers": 0}, "tied_layers: expected at least 1"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        network(**options)
