"""The tables of ``make bench`` on a GPU: one layer's aggregation and a deep training step, beside PyTorch Geometric.

    python -m benchmarks.gpu        # "make bench-gpu"; says so in one line where there is no GPU

Seconds are the least of several repeats, the codes taking turns, with the device idle before and after; memory is the
high-water mark of what a step allocates beyond what was there before.
"""

import gc
import time
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch_geometric.nn import DeepGCNLayer, GENConv

from benchmarks.graphs import arxiv, proteins_partition
from benchmarks.measure import Step, report
from deepergcn import ops
from deepergcn.nn import DyResGEN

Make = Callable[[], Step]


def measure(contestants: Mapping[str, Make], repeats: int = 10) -> tuple[dict[str, float], dict[str, int]]:
    """The least seconds of each contestant, and the bytes by which a step of it raises the high-water mark."""
    steps = {name: make() for name, make in contestants.items()}
    seconds, memory = dict.fromkeys(steps, float("inf")), dict.fromkeys(steps, 0)
    for name, step in steps.items():
        for _ in range(3):  # kernels are compiled in the first
            step()
        gc.collect()
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        step()
        torch.cuda.synchronize()
        memory[name] = torch.cuda.max_memory_allocated() - before
    for _ in range(repeats):
        for name, step in steps.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            step()
            torch.cuda.synchronize()
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    return seconds, memory


def aggregations(
    edge_index: Tensor, raw: Tensor | None, nodes: int, channels: int, aggr: str, dtype: torch.dtype
) -> dict[str, Make]:
    """Forward and backward of softmax or power mean with a learned parameter, and an affine edge term if ``raw``."""
    device = edge_index.device
    x = torch.rand(nodes, channels, device=device, dtype=dtype, requires_grad=True)
    g = torch.randn_like(x).detach()

    def ours() -> Step:
        adjacency = ops.Adjacency.from_edge_index(edge_index, nodes)
        parameter = torch.ones((), device=device, requires_grad=True)
        encoder = None if raw is None else nn.Linear(raw.shape[1], channels, device=device, dtype=dtype)
        learned = [x, parameter, *([] if encoder is None else encoder.parameters())]

        def step() -> None:
            edge = None if encoder is None or raw is None else ops.Affine(raw, encoder.weight, encoder.bias)
            if aggr == "softmax":
                out = ops.softmax(x, adjacency, edge, beta=parameter)
            else:
                out = ops.power_mean(x, adjacency, edge, p=parameter)
            torch.autograd.grad(out, learned, g)

        return step

    def pyg(compiled: bool) -> Step:
        learn = {"learn_t": True} if aggr == "softmax" else {"learn_p": True}
        conv = GENConv(channels, channels, num_layers=1, aggr=aggr, **learn).to(device, dtype)
        encoder = None if raw is None else nn.Linear(raw.shape[1], channels, device=device, dtype=dtype)
        learned = [x, *conv.aggr_module.parameters(), *([] if encoder is None else encoder.parameters())]

        def aggregate(x: Tensor) -> Tensor:
            features = None if encoder is None else encoder(raw)
            out: Tensor = conv.propagate(edge_index, x=(x, x), edge_attr=features)
            return out

        function = torch.compile(aggregate) if compiled else aggregate
        return lambda: torch.autograd.grad(function(x), learned, g)

    return {"deepergcn": ours, "PyG": lambda: pyg(False), "PyG, torch.compile": lambda: pyg(True)}


def training_steps(edge_index: Tensor, nodes: int, channels: int, layers: int) -> dict[str, Make]:
    """A training step of a deep network that recomputes its activations."""
    device = edge_index.device
    x, labels = torch.rand(nodes, channels, device=device), torch.randint(40, (nodes,), device=device)

    def loss_step(model: nn.Module, forward: Callable[[], Tensor]) -> Step:
        optimizer = torch.optim.Adam(model.parameters(), fused=True)

        def step() -> None:
            optimizer.zero_grad()
            nn.functional.cross_entropy(forward(), labels).backward()
            optimizer.step()

        return step

    def ours() -> Step:
        model = DyResGEN(channels, 40, hidden_channels=channels, num_layers=layers, checkpoint=True).to(device)
        adjacency = ops.Adjacency.from_edge_index(edge_index, nodes)
        return loss_step(model, lambda: model(x, adjacency))

    def pyg() -> Step:
        convolutions = [GENConv(channels, channels, aggr="softmax", learn_t=True) for _ in range(layers)]
        blocks = nn.ModuleList(
            DeepGCNLayer(conv, nn.LayerNorm(channels), nn.ReLU(), block="res+", dropout=0.1, ckpt_grad=True)
            for conv in convolutions
        ).to(device)
        head = nn.Linear(channels, 40).to(device)

        def forward() -> Tensor:
            h = x.clone().requires_grad_()
            for block in blocks:
                h = block(h, edge_index)
            out: Tensor = head(h)
            return out

        return loss_step(nn.ModuleList([blocks, head]), forward)

    return {"deepergcn": ours, "PyG": pyg}


def main() -> None:
    if not torch.cuda.is_available():
        print("bench-gpu: there is no GPU here, and nothing was measured")
        return
    gpu = torch.cuda.get_device_name()
    edge_index, nodes, origin = arxiv()
    edge_index = edge_index.cuda()
    part, raw, members = proteins_partition()
    part, raw = part.cuda(), raw.cuda()
    for dtype in (torch.float32, torch.bfloat16):
        for aggr in ("softmax", "powermean"):
            seconds, memory = measure(aggregations(edge_index, None, nodes, 128, aggr, dtype))
            title = f"{aggr}, {dtype}, {nodes:,} nodes, {edge_index.shape[1]:,} edges ({origin}), 128 channels"
            report("gpu", title, seconds, memory, gpu=gpu)
        seconds, memory = measure(aggregations(part, raw.to(dtype), members, 64, "softmax", dtype))
        report(
            "gpu", f"softmax, {dtype}, {part.shape[1]:,} edges with 8 features, 64 channels", seconds, memory, gpu=gpu
        )
    seconds, memory = measure(training_steps(edge_index, nodes, 128, 28), repeats=3)
    report("gpu", "training step of 28 layers on ogbn-arxiv's graph, 128 channels", seconds, memory, gpu=gpu)


if __name__ == "__main__":
    main()
