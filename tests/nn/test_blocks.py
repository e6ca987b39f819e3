"""Each block is wired as the paper and its code wire it, and recomputes to the same result."""

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.testing import assert_close
from torch.utils.checkpoint import checkpoint

from deepergcn.errors import InputError
from deepergcn.nn import BLOCKS, Block, DenseBlock, GENConv, PlainBlock, ResBlock, ResPlusBlock
from deepergcn.nn.blocks import block_class
from deepergcn.nn.norms import BatchNorm

EDGES = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 0, 1, 4, 4, 2]])


def make(cls: type[Block], *, dropout: float = 0.0, **options: Any) -> Block:
    torch.manual_seed(0)
    return cls(GENConv(4, 4, learn_beta=True), BatchNorm(4), dropout=dropout, **options)


def features() -> Tensor:
    return torch.randn(5, 4, generator=torch.Generator().manual_seed(1)).requires_grad_()


def test_wiring() -> None:
    x = features()
    # All blocks have the same weights, since they start from the same seed.
    conv, norm = make(PlainBlock).conv.eval(), BatchNorm(4).eval()
    after = F.relu(norm(conv(x, EDGES)))
    assert_close(make(PlainBlock).eval()(x, EDGES), after)
    assert_close(make(ResBlock).eval()(x, EDGES), x + after)
    assert_close(make(DenseBlock).eval()(x, EDGES), torch.cat([x, after], dim=1))
    assert_close(make(ResPlusBlock).eval()(x, EDGES), x + conv(F.relu(norm(x)), EDGES))


def test_where_dropout_stands() -> None:
    """A dropout of nearly everything leaves zeros after the addition, and the input itself before the convolution."""
    x = features()
    for cls in (PlainBlock, ResBlock, DenseBlock):
        assert (make(cls, dropout=0.999999)(x, EDGES) == 0).all()
    block = make(ResPlusBlock, dropout=0.999999)
    assert_close(block(x, EDGES), x + block.conv(torch.zeros(5, 4), EDGES))


def test_a_plain_block_of_nothing_else_is_the_bare_convolution() -> None:
    block = PlainBlock(GENConv(4, 4), relu=False)
    assert_close(block(features(), EDGES), block.conv(features(), EDGES))


@pytest.mark.parametrize("name", BLOCKS)
def test_recomputing_changes_nothing(name: str) -> None:
    results = []
    for is_recomputed in (False, True):
        block, x = make(BLOCKS[name], dropout=0.5, checkpoint=is_recomputed), features()
        torch.manual_seed(2)
        out = block(x, EDGES)
        drawn = torch.rand(3)
        out.square().sum().backward()
        results.append((out, drawn, x.grad, [p.grad for p in block.parameters()], list(block.buffers())))
    assert_close(results[0], results[1], rtol=0, atol=0)


@pytest.mark.parametrize("training", [True, False])
def test_recomputing_is_in_the_mode_that_forward_had(training: bool) -> None:
    found = []
    for switched in (False, True):
        block, x = make(ResPlusBlock, dropout=0.5, checkpoint=True).train(training), features()
        torch.manual_seed(2)
        out = block(x, EDGES)
        block.train(training != switched)
        out.square().sum().backward()
        assert block.conv.training == (training != switched)
        found.append([x.grad, *(p.grad for p in block.parameters())])
    assert_close(found[0], found[1], rtol=0, atol=0)


def test_recomputing_once_for_every_backward() -> None:
    block, x = make(ResPlusBlock, dropout=0.5, checkpoint=True), features()
    loss = block(x, EDGES).square().sum()
    first, second = (torch.autograd.grad(loss, [x, *block.parameters()], retain_graph=again) for again in (True, False))
    assert_close(first, second, rtol=0, atol=0)


@pytest.mark.parametrize("normalize", [nn.utils.spectral_norm, nn.utils.parametrizations.spectral_norm])
def test_spectral_norms_which_change_with_every_forward_keep_activations(normalize: Any) -> None:
    found = []
    for is_recomputed in (False, True):
        block: Any = make(ResPlusBlock, checkpoint=is_recomputed)
        torch.manual_seed(3)
        normalize(block.conv.mlp[0])
        block(features(), EDGES).square().sum().backward()
        found.append([parameter.grad for parameter in block.parameters()])
    assert_close(found[0], found[1], rtol=0, atol=0)


def test_running_statistics_that_changed_before_they_are_recomputed_with_are_noticed() -> None:
    block = make(ResPlusBlock, checkpoint=True).eval()
    out = block(features(), EDGES)
    block.train()(features() + 1, EDGES)
    with pytest.raises(RuntimeError, match="running statistics of a batch normalization have been modified"):
        out.sum().backward()


@pytest.mark.parametrize("name", BLOCKS)
def test_hooks_on_every_module_are_called_and_another_activation_is_used(name: str) -> None:
    block, called = make(BLOCKS[name]), []
    for path, module in block.named_modules():
        module.register_forward_hook(lambda *_, path=path: called.append(path))
    block(features(), EDGES)
    assert sorted(called) == sorted(path for path, _ in block.named_modules())
    block = make(BLOCKS[name]).eval()
    before = block(features(), EDGES)
    block.act = nn.Softplus()
    assert not torch.equal(block(features(), EDGES), before)


def test_recomputing_in_a_compiled_program() -> None:
    results = []
    for compiled in (False, True):
        block, x = make(ResPlusBlock, checkpoint=True), features()
        run: Any = torch.compile(block, backend="aot_eager", fullgraph=True) if compiled else block
        run(x, EDGES).square().sum().backward()
        results.append((x.grad, [p.grad for p in block.parameters()], list(block.buffers())))
    assert_close(results[0], results[1])


def test_recomputing_under_torch_func() -> None:
    block, x = make(ResPlusBlock, checkpoint=True).eval(), features()
    found = torch.func.grad(lambda h: block(h, EDGES).square().sum())(x.detach())
    assert_close(found, torch.autograd.grad(block(x, EDGES).square().sum(), x)[0])


def test_recomputing_keeps_only_the_input() -> None:
    kept = {}
    for is_recomputed in (False, True):
        block = make(ResPlusBlock, checkpoint=is_recomputed)
        sizes: list[int] = []

        def note(t: Tensor, sizes: list[int] = sizes) -> Tensor:
            sizes.append(t.numel())
            return t

        with torch.autograd.graph.saved_tensors_hooks(note, lambda t: t):
            block(features(), EDGES)
        kept[is_recomputed] = len(sizes)
    assert kept[True] < kept[False] / 4


def test_recomputing_is_not_reentrant(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def spy(*args: Any, use_reentrant: bool, **kwargs: Any) -> Any:
        seen.append(use_reentrant)
        return checkpoint(*args, use_reentrant=use_reentrant, **kwargs)

    monkeypatch.setattr("deepergcn.nn.recompute.checkpoint", spy)
    make(ResPlusBlock, checkpoint=True)(features(), EDGES).sum().backward()
    assert seen == [False]


def test_recomputing_works_under_distributed_data_parallel(tmp_path: Path) -> None:
    """One convolution in two recomputed blocks: reentrant checkpoints would mark its parameters ready twice."""
    alone = [make(ResPlusBlock, checkpoint=True), make(ResPlusBlock, checkpoint=True)]
    alone[1].conv = alone[0].conv
    model = _Chain(alone)
    model(features(), EDGES).sum().backward()
    expected = [p.grad for p in model.parameters()]
    model.zero_grad()
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        DistributedDataParallel(model)(features(), EDGES).sum().backward()  # it must not outlive the group
    finally:
        dist.destroy_process_group()
    assert_close([p.grad for p in model.parameters()], expected)


class _Chain(nn.Module):
    def __init__(self, blocks: list[Block]) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x, edge_index)
        return x


def test_an_unknown_block_is_answered_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"block: expected one of plain, res, res\+, dense, got 'resplus'"):
        block_class("resplus")


@pytest.mark.parametrize("dropout", [-0.1, 1.0, float("nan")])
def test_dropout_is_a_probability(dropout: float) -> None:
    with pytest.raises(InputError, match="dropout: expected a probability from 0 to below 1"):
        make(ResBlock, dropout=dropout)
