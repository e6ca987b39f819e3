"""An epoch of the paper's ogbg-molhiv network, training and the scores of the valid and the test part:
``deepergcn train`` beside a plain loop over PyG's DataLoader with the same network, batches and optimizer.

python -m benchmarks.epoch_molhiv
"""

import tempfile
import time
from pathlib import Path

import torch
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torchmetrics.functional.classification import binary_auroc

from benchmarks.graphs import data_folder
from benchmarks.measure import CPU, report
from benchmarks.peers import pyg_molhiv
from deepergcn.categories import ATOM_SIZES, BOND_SIZES
from deepergcn.data import load_dataset
from deepergcn.training.train import train

SIZE = 32
EPOCHS = 1


def ours(folder: Path) -> float:
    """The seconds of the epoch, as ``metrics.csv`` tells them."""
    with tempfile.TemporaryDirectory() as out:
        run = train("ogbg-molhiv", data=folder, epochs=EPOCHS, out=Path(out) / "run")
        return min(row["seconds"] or 0 for row in run.metrics())


def pyg(folder: Path, device: torch.device = CPU) -> float:
    dataset = load_dataset(folder)
    graphs = {part: [_typed(dataset.graph(i)) for i in rows.tolist()] for part, rows in dataset.split.items()}
    loaders = {part: DataLoader(some, batch_size=SIZE, shuffle=part == "train") for part, some in graphs.items()}
    torch.manual_seed(0)
    model = pyg_molhiv(ATOM_SIZES, BOND_SIZES).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    spent = []
    for _ in range(EPOCHS):
        start = time.perf_counter()
        model.train()
        for batch in (b.to(device) for b in loaders["train"]):
            optimizer.zero_grad()
            out = model(batch.x, batch.edge_index, batch.edge_attr, batch.batch)
            F.binary_cross_entropy_with_logits(out, batch.y.float()).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for part in ("valid", "test"):
                moved = (b.to(device) for b in loaders[part])
                found = [(model(b.x, b.edge_index, b.edge_attr, b.batch), b.y) for b in moved]
                scores, labels = (torch.cat(some) for some in zip(*found, strict=True))
                float(binary_auroc(scores, labels.int()))
        spent.append(time.perf_counter() - start)
    return min(spent)


def _typed(graph: Data) -> Data:
    """Categories as PyG's embeddings want them."""
    graph.x, graph.edge_attr = graph.x.long(), graph.edge_attr.long()
    return graph


def measure(device: torch.device = CPU, script: str = "epoch_molhiv", **setting: str) -> None:
    """Measure both and report; ``deepergcn train`` takes a GPU wherever there is one."""
    folder = data_folder("ogbg_molhiv")
    if folder is None:
        print("ogbg_molhiv is not at hand; name the folder that holds it in DEEPERGCN_TEST_DATA")
        return
    seconds = {"deepergcn train": ours(folder), "PyG": pyg(folder, device)}
    title = f"epoch of ogbg-molhiv, batches of {SIZE}, with evaluation"
    report(script, title, seconds, {}, ours="deepergcn train", **setting)


if __name__ == "__main__":
    measure()
