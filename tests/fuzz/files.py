"""Damaged files of a user: molecules, tables of nodes, edges and links, OGB's layout."""

import gzip
import shutil
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.case import Case, argument
from tests.fuzz.corpus import Corpus, Rows, packed, small, typed
from tests.fuzz.mutate import CELLS, VALUES, csv_text, damage_bytes, damage_rows
from tests.fuzz.records import damage_json, damage_tensor


def _table(random: Random, rows: Rows, folder: Path, stem: str) -> Path:
    """A damaged table: its cells, its bytes, or the bytes below its compression."""
    ending = random.choice((".csv", ".csv", ".csv.gz", ".parquet"))
    match random.randrange(5):
        case 0:
            content = damage_bytes(random, packed(rows, ending))
        case 1 if ending != ".parquet":
            content = packed(rows, ending, damage_bytes(random, csv_text(rows, quoted=True)))
        case 2 if ending == ".parquet":
            content = damage_bytes(random, typed(rows))
        case 3 if ending != ".parquet":
            content = packed(rows, ending, csv_text(damage_rows(random, rows), quoted=False))
        case _:
            content = packed(damage_rows(random, rows), ending)
    path = folder / f"{stem}{ending}"
    path.write_bytes(content)
    return path


def molecules(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    file = _table(random, corpus.molecules, folder, "molecules")
    return _with_molecules(random, corpus, folder, kind, file)


def sdf(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    content = corpus.sdf
    if random.random() < 0.5:
        lines = content.decode().split("\n")
        for _ in range(random.choice((1, 2, 5))):
            lines[random.randrange(len(lines))] = random.choice(
                (*CELLS, "M  END", "> <", "M  V30 COUNTS 999999999 0 0 0 0")
            )
        content = "\n".join(lines).encode(errors="surrogatepass")
    else:
        content = damage_bytes(random, content)
    file = folder / random.choice(("m.sdf", "m.sdf.gz"))
    file.write_bytes(gzip.compress(content, mtime=0) if file.suffix == ".gz" else content)
    return _with_molecules(random, corpus, folder, kind, file)


def smi(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    lines = [f"{row[1]} {row[0]}" for row in corpus.molecules[1:]]
    for _ in range(random.choice((0, 1, 3))):
        lines[random.randrange(len(lines))] = random.choice(CELLS)
    content = "\n".join(lines).encode(errors="surrogatepass")
    file = folder / random.choice(("m.smi", "m.smi.gz"))
    damaged = damage_bytes(random, content) if random.random() < 0.5 else content
    file.write_bytes(gzip.compress(damaged, mtime=0) if file.suffix == ".gz" else damaged)
    return Case(kind, folder, "program", ["predict", str(corpus.molecule_run), str(file), "-o", "out.csv"])


def _with_molecules(random: Random, corpus: Corpus, folder: Path, kind: str, file: Path) -> Case:
    target = random.choice(("y", "y", "number", random.choice(CELLS)))
    roll = random.random()
    if roll < 0.25:
        output = random.choice(("out.csv", "out.parquet"))
        return Case(kind, folder, "program", ["predict", str(corpus.molecule_run), str(file), "-o", output])
    if roll < 0.35:
        arguments = [
            "train",
            "--epochs",
            "1",
            *small(),
            "--out",
            "run",
            "--molecules",
            str(file),
            "--target",
            argument(target),
        ]
        return Case(
            kind, folder, "program", [*arguments, *random.choice(([], ["--split", "scaffold"], ["--split", "split"]))]
        )
    options: dict[str, Any] = {"targets": target}
    if random.random() < 0.5:
        options["split_column"] = "split"
    elif random.random() < 0.3:
        options["split"] = "scaffold"
    return Case(kind, folder, "library", {"source": str(file), "options": options})


def tables(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    nodes, edges = corpus.folder / "nodes.csv", corpus.folder / "edges.csv"
    if random.random() < 0.6:
        nodes = _table(random, corpus.nodes, folder, "nodes")
    else:
        edges = _table(random, corpus.edges, folder, "edges")
    roll = random.random()
    if roll < 0.2:
        arguments = ["predict", str(corpus.table_run), str(nodes), "--edges", str(edges), "-o", "out.csv"]
        return Case(kind, folder, "program", arguments)
    if roll < 0.3:
        arguments = ["train", "--epochs", "1", *small(), "--out", "run", "--nodes", str(nodes), "--edges", str(edges)]
        return Case(kind, folder, "program", [*arguments, "--label", random.choice(("y", "y", "size"))])
    options = {"label": random.choice(("y", "size")), "standardize": random.random() < 0.5}
    return Case(kind, folder, "library", {"source": str(nodes), "edges": str(edges), "options": options})


def typed_tables(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    """A damaged table of one type of nodes or edges, or a damaged name of a type."""
    arguments = list(corpus.typed_tables)
    place = random.choice((1, 3, 5))
    name, _, _ = arguments[place].partition("=")
    if random.random() < 0.8:
        file = _table(random, corpus.edges if place == 5 else corpus.nodes, folder, "damaged")
    else:
        file, name = corpus.folder / ("edges.csv" if place == 5 else "nodes.csv"), argument(random.choice(CELLS))
    arguments[place] = f"{name}={file}"
    if random.random() < 0.3:
        return Case(kind, folder, "program", ["predict", str(corpus.typed_run), *arguments, "-o", "out.csv"])
    label = random.choice(("a.y", "a.y", "a.size", "b.colour", "y", "c.y", ".", "a."))
    fast = ["--epochs", "1", *small(typed=True), "--out", "run"]
    return Case(kind, folder, "program", ["train", *fast, *arguments, "--label", label])


def links(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    """A damaged table of links, or of the nodes or edges beside it."""
    paths = {name: corpus.folder / f"{name}.csv" for name in ("nodes", "edges")} | {
        "links": corpus.folder / "edges.csv"
    }
    damaged = random.choice(("links", "links", "nodes", "edges"))
    paths[damaged] = _table(random, corpus.nodes if damaged == "nodes" else corpus.edges, folder, damaged)
    if random.random() < 0.3:
        command, end = random.choice((("predict", ["-o", "out.csv"]), ("embed", ["-o", "out.npz"])))
        arguments = [command, str(corpus.link_run), str(paths["links"]), *end]
    else:
        arguments = ["train", "--epochs", "1", *small(), "--out", "run", "--links", str(paths["links"])]
    for name in ("nodes", "edges"):
        if name == damaged or random.random() < 0.5:
            arguments += [f"--{name}", str(paths[name])]
    return Case(kind, folder, "program", arguments)


def options(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    """Options of the readers that are none."""
    molecules = (
        "targets",
        "smiles_column",
        "id_column",
        "kind",
        "metric",
        "split",
        "split_column",
        "fractions",
        "seed",
        "strict",
    )
    tables = (
        "label",
        "id_column",
        "source_column",
        "directed",
        "features",
        "numeric",
        "categorical",
        "standardize",
        "kind",
    )
    table = random.random() < 0.5
    options = {"label" if table else "targets": "y"}
    for _ in range(random.randint(1, 2)):
        value = random.choice((*(value for value in VALUES if value == value), *CELLS))
        options[random.choice((*(tables if table else molecules), "speed"))] = value
    arguments: dict[str, Any] = {"source": str(corpus.folder / "molecules.csv"), "options": options}
    if table:
        arguments |= {"source": str(corpus.folder / "nodes.csv"), "edges": str(corpus.folder / "edges.csv")}
    return Case(kind, folder, "library", arguments)


def graphs(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    """A folder of graphs, of which the arrays or the labels are damaged."""
    place = folder / "graphs"
    shutil.copytree(corpus.graphs, place)
    arrays = place / "graphs.safetensors"
    match random.randrange(4):
        case 0:
            file = random.choice((arrays, place / "graphs.parquet"))
            file.write_bytes(damage_bytes(random, file.read_bytes()))
        case 1:
            rows = [["graph", "y"], *([f"{i}", "ab"[i % 2]] for i in range(20))]
            (place / "graphs.parquet").write_bytes(packed(damage_rows(random, rows), ".parquet"))
        case _:
            arrays.write_bytes(damage_tensor(random, arrays.read_bytes()))
    options = {"label": "y", "id_column": random.choice((None, "graph")), "standardize": random.random() < 0.5}
    if random.random() < 0.8:
        return Case(kind, folder, "library", {"graphs": str(place), "options": options})
    fast = ["--epochs", "1", *small(), "--out", "run"]
    return Case(kind, folder, "program", ["train", *fast, "--graphs", str(place), "--label", "y"])


def layout(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    place = folder / "network"
    shutil.copytree(corpus.layout, place)
    file = random.choice(sorted(path for path in place.rglob("*") if path.is_file()))
    content = file.read_bytes()
    if file.name == "dataset.json":
        content = damage_json(random, content)
    elif random.random() < 0.3:
        content = damage_bytes(random, content)
    else:
        text = gzip.decompress(content)
        rows = [line.split(",") for line in text.decode().splitlines()]
        damaged = (
            damage_bytes(random, text) if random.random() < 0.3 else csv_text(damage_rows(random, rows), quoted=False)
        )
        content = gzip.compress(damaged, mtime=0)
    file.write_bytes(content)
    return Case(kind, folder, "library", {"source": str(place)})
