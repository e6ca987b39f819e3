"""Sound inputs of every kind, small, from which the hostile ones are made."""

import csv
import gzip
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import torch
from rdkit import Chem
from torch import nn
from torch_geometric.data import Data

from deepergcn.api.stored import store_graphs
from deepergcn.categories import ATOM_SIZES_2020, BOND_SIZES
from tests.fuzz.mutate import csv_text
from tests.runs.model.authors import Network
from tests.training.small import network

Rows = list[list[str]]


@dataclass(frozen=True)
class Corpus:
    """Where the sound inputs are.

    Attributes:
        folder: holds all of them.
        molecules: the rows of a table of molecules, header first.
        nodes: the rows of a table of nodes.
        edges: the rows of a table of edges.
        sdf: the molecules as SDF.
    """

    folder: Path
    molecules: Rows
    nodes: Rows
    edges: Rows
    sdf: bytes

    @property
    def tables(self) -> list[str]:
        """The tables of nodes and edges as arguments."""
        return ["--nodes", str(self.folder / "nodes.csv"), "--edges", str(self.folder / "edges.csv")]

    @property
    def typed_tables(self) -> list[str]:
        """The same tables as arguments, of two types of nodes."""
        nodes, edges = self.folder / "nodes.csv", self.folder / "edges.csv"
        return ["--nodes", f"a={nodes}", "--nodes", f"b={nodes}", "--edges", f"a,knows,b={edges}"]

    @property
    def layout(self) -> Path:
        """A folder in OGB's layout."""
        return self.folder / "network"

    @property
    def graphs(self) -> Path:
        """A folder of graphs, as training from Python writes it."""
        return self.folder / "graphs"

    @property
    def molecule_run(self) -> Path:
        """A run directory with states, of the molecules."""
        return self.folder / "molecule-run"

    @property
    def table_run(self) -> Path:
        """A run directory with states, of the tables."""
        return self.folder / "table-run"

    @property
    def typed_run(self) -> Path:
        """A run directory of the tables with types."""
        return self.folder / "typed-run"

    @property
    def link_run(self) -> Path:
        """A run directory that learned the edges as links."""
        return self.folder / "link-run"

    @property
    def checkpoint(self) -> tuple[Path, Path]:
        """A checkpoint of the authors, and the recipe of its network."""
        return self.folder / "best.pth", self.folder / "small.yaml"

    def runs(self) -> dict[Path, list[str]]:
        """The run directories, each with the arguments that name its inputs to ``predict``."""
        nodes, edges = str(self.folder / "nodes.csv"), str(self.folder / "edges.csv")
        return {
            self.molecule_run: [str(self.folder / "molecules.csv")],
            self.table_run: [nodes, "--edges", edges],
            self.typed_run: self.typed_tables,
            self.link_run: [edges, "--nodes", nodes],
        }

    def training(self) -> list[list[str]]:
        """What the program must be called with to make the run directories."""
        kinds = {
            self.molecule_run: ["--molecules", str(self.folder / "molecules.csv"), "--target", "y"],
            self.table_run: [*self.tables, "--label", "y"],
            self.typed_run: [*self.typed_tables, "--label", "a.y"],
            self.link_run: ["--links", str(self.folder / "edges.csv"), "--nodes", str(self.folder / "nodes.csv")],
        }
        return [
            ["train", "--epochs", "2", *small(typed=out == self.typed_run), *kind, "--out", str(out)]
            for out, kind in kinds.items()
        ]


def small(*, typed: bool = False) -> list[str]:
    """Arguments for a network that trains in a moment; one of graphs with types has no virtual node."""
    settings = ["model.num_layers=1", "model.hidden_channels=4"]
    settings += [] if typed else ["model.virtual_node=false", "training.batch_size=64"]
    return [argument for setting in settings for argument in ("--set", setting)]


def make_corpus(folder: Path) -> Corpus:
    """Write all but the run directories."""
    smiles = [f"{'C' * (i % 9 + 1)}{'ONF'[i % 3]}" if i % 2 else f"c1ccccc1{'C' * (i % 5)}" for i in range(40)]
    parts = ["train", "train", "valid", "test"]
    molecules = [["name", "smiles", "y", "number", "split"]]
    molecules += [[f"m{i}", smiles[i], ["no", "yes", "maybe"][i % 3], f"{i / 7:.3f}", parts[i % 4]] for i in range(40)]
    nodes = [["id", "y", "size", "colour"]]
    nodes += [[f"n{i}", "abc"[i % 3], f"{i * 1.25}", ("red", "blue")[i % 2]] for i in range(40)]
    edges = [["source", "target", "weight"]]
    edges += [[f"n{i}", f"n{(i * 7 + 1) % 40}", f"{i / 10}"] for i in range(40)]
    corpus = Corpus(folder, molecules, nodes, edges, _sdf(molecules))
    for name in ("molecules", "nodes", "edges"):
        (folder / f"{name}.csv").write_bytes(csv_text(getattr(corpus, name), quoted=True))
    network(folder, 20)
    ring = torch.tensor([[0, 1, 2], [1, 2, 0]])
    rings = [Data(torch.rand(3, 2), ring, edge_attr=torch.arange(3)[:, None] % 2) for _ in range(20)]
    store_graphs(folder, rings, np.array(["a", "b"] * 10), None)
    file, recipe = corpus.checkpoint
    theirs: dict[str, Any] = {"layers": 1, "channels": 4, "mlp_layers": 1, "outputs": 1, "learn_t": True}
    theirs |= {"norm": nn.BatchNorm1d, "nodes": ATOM_SIZES_2020, "edges": BOND_SIZES}
    model = Network("ogbg-molhiv", **theirs)
    torch.save({"epoch": 1, "model_state_dict": model.state_dict(), "loss": 0.5}, file)
    recipe.write_text("base: ogbg-molhiv\nname: small\nmodel: {num_layers: 1, hidden_channels: 4}\n")
    return corpus


def packed(rows: Rows, ending: str, content: bytes | None = None) -> bytes:
    """Rows, or the content of a CSV file, as a file with this ending."""
    text = csv_text(rows, quoted=True) if content is None else content
    if ending == ".csv":
        return text
    if ending == ".csv.gz":
        return gzip.compress(text, mtime=0)
    width = max(map(len, rows))
    names = [cell or str(i) for i, cell in enumerate([*rows[0], *[""] * (width - len(rows[0]))])]
    columns = [[row[i] if i < len(row) else None for row in rows[1:]] for i in range(width)]
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pa.table([pa.array(column, pa.string()) for column in columns], names=names), buffer)
    return buffer.getvalue()


def typed(rows: Rows) -> bytes:
    """Rows as a parquet file whose numbers are numbers."""
    buffer = io.BytesIO()
    reader = csv.DictReader(io.StringIO(csv_text(rows, quoted=True).decode()))
    columns: dict[str, list[str]] = {name: [] for name in rows[0]}
    for row in reader:
        for name, cell in row.items():
            columns[name].append(cell)
    arrays = {
        n: pa.array(map(float, c)) if _numbers(c) else pa.array(c).dictionary_encode() for n, c in columns.items()
    }
    pyarrow.parquet.write_table(pa.table(arrays), buffer, compression="none")
    return buffer.getvalue()


def _numbers(cells: list[str]) -> bool:
    return all(cell.replace(".", "", 1).isdigit() for cell in cells)


def _sdf(molecules: Rows) -> bytes:
    records = []
    for name, smiles, y, number, split in molecules[1:]:
        mol = Chem.MolFromSmiles(smiles)
        mol.SetProp("_Name", name)
        properties = "".join(
            f">  <{key}>\n{value}\n\n" for key, value in zip(("y", "number", "split"), (y, number, split), strict=True)
        )
        records.append(Chem.MolToMolBlock(mol) + properties + "$$$$\n")
    return "".join(records).encode()
