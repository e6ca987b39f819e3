"""``torch.compile`` with its own code generator, for any number of nodes and edges: eager's values and gradients."""

import os
import shutil
from collections.abc import Callable

import pytest
import torch
import torch._inductor.config
import torch_geometric.nn as pyg
from torch import Tensor, nn

import deepergcn
from deepergcn.nn import DeeperGCN

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs a C++ compiler"),
    pytest.mark.skipif(
        os.environ.get("ATEN_CPU_CAPABILITY") == "default",
        reason="inductor's own code does not compile without vectors",
    ),
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),
]


def graph(nodes: int, edges: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(nodes)
    return torch.randn(nodes, 8, generator=generator), torch.randint(nodes, (2, edges), generator=generator)


def accelerated() -> nn.Module:
    layer = pyg.GENConv(8, 8, aggr="powermean", learn_p=True, p=1.5, norm="layer")
    fast: nn.Module = deepergcn.accelerate(layer)
    return fast


def ours() -> nn.Module:
    return DeeperGCN(8, 3, hidden_channels=8, num_layers=2, learn_beta=True, norm="layer")


@pytest.mark.parametrize("make", [ours, accelerated])
@torch._inductor.config.patch(
    {
        "compile_threads": 1,  # else processes start that import torch again
        "cpp.vec_isa_ok": True,  # else code is compiled for each set of instructions of the processor
    }
)
def test_compiled_by_inductor(make: Callable[[], nn.Module]) -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = make()
    compiled = torch.compile(model, fullgraph=True, dynamic=True)
    for nodes, edges in ((40, 2000), (70, 3000)):
        x, edge_index = graph(nodes, edges)
        results = []
        for function in (model, compiled):
            model.zero_grad()
            out = function(x, edge_index)
            out.square().mean().backward()
            results.append([out.detach(), *(p.grad for p in model.parameters() if p.grad is not None)])
        # Sums of 2,000 to 3,000 terms in another order: the default relative bound, and its share of the largest term.
        for eager, fused in zip(*results, strict=True):
            torch.testing.assert_close(fused, eager, rtol=1e-4, atol=1e-5 * float(eager.abs().max() + 1))
