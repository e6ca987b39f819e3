"""Hostile inputs: which file is damaged in which way, and what the program or the library is then asked to do."""

import gzip
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal

import yaml
from pydantic import BaseModel

from deepergcn.recipes.schema import Recipe
from tests.fuzz.corpus import Corpus, Rows, packed, small, typed
from tests.fuzz.mutate import CELLS, VALUES, YAML_VALUES, csv_text, damage_bytes, damage_rows, damage_tree
from tests.fuzz.records import damage_json, damage_safetensors, dumped


@dataclass(frozen=True)
class Case:
    """One input.

    Attributes:
        kind: what is damaged.
        folder: its own, in which it runs.
        door: the ``program``, or the ``library``, which reads a dataset.
        arguments: of the program; or ``source``, ``edges`` and ``options``.
    """

    kind: str
    folder: Path
    door: Literal["program", "library"]
    arguments: Any


def make_case(corpus: Corpus, folder: Path, seed: int, number: int) -> Case:
    """The case of this number: the same for the same seed."""
    random = Random(f"{seed}-{number}")
    kind = random.choices(list(_KINDS), [weight for _, weight in _KINDS.values()])[0]
    return _KINDS[kind][0](random, corpus, folder, kind)


def schema_keys(section: type[BaseModel] = Recipe, prefix: str = "") -> Iterator[str]:
    """Every key of a recipe, with its sections."""
    for name, field in section.model_fields.items():
        yield f"{prefix}{name}"
        for kind in (field.annotation, *getattr(field.annotation, "__args__", ())):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from schema_keys(kind, f"{prefix}{name}.")


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


def _molecules(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    file = _table(random, corpus.molecules, folder, "molecules")
    return _with_molecules(random, corpus, folder, kind, file)


def _sdf(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
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
            _argument(target),
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


def _tables(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
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


def _links(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    """A damaged table of links, or of the nodes or edges beside it."""
    files = {name: corpus.folder / f"{name}.csv" for name in ("nodes", "edges")} | {
        "links": corpus.folder / "edges.csv"
    }
    damaged = random.choice(("links", "links", "nodes", "edges"))
    files[damaged] = _table(random, corpus.nodes if damaged == "nodes" else corpus.edges, folder, damaged)
    arguments = ["train", "--epochs", "1", *small(), "--out", "run", "--links", str(files["links"])]
    for name in ("nodes", "edges"):
        if name == damaged or random.random() < 0.5:
            arguments += [f"--{name}", str(files[name])]
    return Case(kind, folder, "program", arguments)


def _flags(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    """Hostile values of the flags for own files."""
    nodes, edges = str(corpus.folder / "nodes.csv"), str(corpus.folder / "edges.csv")
    given = random.choice(
        (
            [
                "--molecules",
                str(corpus.folder / "molecules.csv"),
                "--target",
                random.choice(("y", "number", "y,number")),
            ],
            ["--nodes", nodes, "--edges", edges, "--label", random.choice(("y", "size"))],
            ["--links", edges],
        )
    )
    values = (
        *CELLS,
        "all",
        "y",
        "colour,size",
        "0.5,0.5",
        "1,0,0",
        "nan,0,1",
        "-1",
        "largest",
        "stratified",
        "rocauc,r2",
    )
    for flag in random.sample(FLAGS, random.choice((1, 1, 2))):
        given += [f"--{flag}", _argument(random.choice(values))]
    return Case(kind, folder, "program", ["train", "--epochs", "1", *small(), "--out", "run", *given])


def _options(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
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


def _layout(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
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


def _model(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    file = folder / "model.safetensors"
    file.write_bytes(damage_safetensors(random, (corpus.molecule_run / "model.safetensors").read_bytes()))
    return Case(kind, folder, "program", ["predict", str(file), str(corpus.folder / "molecules.csv"), "-o", "out.csv"])


def _run(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    place = folder / "run"
    table = random.random() < 0.3
    shutil.copytree(corpus.table_run if table else corpus.molecule_run, place)
    names = [
        "run.json",
        "recipe.yaml",
        "summary.json",
        "metrics.csv",
        "dynamics.csv",
        *(f"state/{p.name}" for p in (place / "state").iterdir()),
    ]
    file = place / random.choice(names)
    content = file.read_bytes()
    if file.suffix == ".safetensors":
        content = damage_safetensors(random, content)
    elif file.suffix == ".json":
        content = damage_json(random, content)
    elif file.suffix == ".yaml" and random.random() < 0.7:
        content = dumped(yaml.safe_dump, damage_tree(random, yaml.safe_load(content))).encode(errors="surrogatepass")
    else:
        content = damage_bytes(random, content)
    file.write_bytes(content)
    source = (
        [str(corpus.folder / "nodes.csv"), "--edges", str(corpus.folder / "edges.csv")]
        if table
        else [str(corpus.folder / "molecules.csv")]
    )
    arguments = random.choice(
        (
            ["evaluate", str(place)],
            ["predict", str(place), *source, "-o", "out.csv"],
            ["embed", str(place), *source, "-o", "out.npz"],
            ["train", "--resume", "--out", str(place), "--epochs", random.choice("23")],
            ["report", str(place)],
            ["card", str(place)],
        )
    )
    return Case(kind, folder, "program", arguments)


def _recipe(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    text = (corpus.molecule_run / "recipe.yaml").read_text(encoding="utf-8")
    if random.random() < 0.5:
        text = dumped(yaml.safe_dump, damage_tree(random, yaml.safe_load(text)))
    elif random.random() < 0.6:
        lines = text.splitlines()
        place = random.randrange(len(lines))
        lines[place] = lines[place].partition(":")[0] + ": " + random.choice(YAML_VALUES)
        text = "\n".join(lines)
    else:
        text = damage_bytes(random, text.encode()).decode("latin-1")
    (folder / "recipe.yaml").write_bytes(text.encode(errors="surrogatepass"))
    return Case(kind, folder, "program", ["train", "recipe.yaml", "--epochs", "1", "--out", "run"])


def _set(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    values = [random.choice(KEYS) + random.choice(("=", "=", "=", "", ".x=")) + random.choice(YAML_VALUES)]
    if random.random() < 0.2:
        values.append(f"{random.choice(KEYS)}={random.choice(YAML_VALUES)}")
    settings = [argument for value in values for argument in ("--set", _argument(value))]
    recipe = str(corpus.molecule_run / "recipe.yaml")
    return Case(kind, folder, "program", ["train", recipe, "--out", "run", *settings, "--epochs", "1"])


def _paths(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    """Names of things that are no files, and arguments that are none."""
    os.mkfifo(folder / "pipe.csv")
    os.mkfifo(folder / "model.safetensors")
    (folder / "loop.csv").symlink_to(folder / "loop.csv")
    (folder / "folder.csv").mkdir()
    shutil.copy(corpus.folder / "molecules.csv", folder / "\udcff.csv")
    places = [
        "pipe.csv",
        "model.safetensors",
        "loop.csv",
        "folder.csv",
        ".",
        "/dev/null",
        "x" * 300,
        "a/b/c.csv",
        "\udcff.csv",
    ]
    one = random.choice((*places, *map(_argument, CELLS)))
    two = random.choice((*places, *map(_argument, CELLS)))
    run, molecules = str(corpus.molecule_run), str(corpus.folder / "molecules.csv")
    nodes, edges = str(corpus.folder / "nodes.csv"), str(corpus.folder / "edges.csv")
    fast = ["--epochs", "1", *small(), "--out", "run"]
    arguments = random.choice(
        (
            ["predict", one, molecules, "-o", "out.csv"],
            ["predict", run, one, "-o", "out.csv"],
            ["predict", run, molecules, "-o", one],
            ["predict", run, molecules, "-o", "out.csv", "--skipped", one],
            ["predict", run, molecules, "-o", "out.csv", "--smiles-column", one, "--id-column", two],
            ["embed", one, two, "-o", "out.npz"],
            ["evaluate", one],
            ["evaluate", run, "--split", one],
            ["train", *fast, "--molecules", one, "--target", two],
            ["train", *fast, "--molecules", molecules, "--target", one, "--split", two],
            ["train", *fast, "--nodes", one, "--edges", edges, "--label", "y"],
            ["train", *fast, "--nodes", nodes, "--edges", two, "--label", "y"],
            ["train", *fast, "--nodes", nodes, "--edges", edges, "--label", one, "--id-column", two],
            ["train", one],
            ["train", "--data", one, "--out", two],
            ["train", "--resume", "--out", one],
            ["train", *fast, "--seed", one],
            ["train", *fast, "--precision", one],
            ["datasets", "get", one],
            ["datasets", "--root", one],
            [one, two],
        )
    )
    return Case(kind, folder, "program", [argument for argument in arguments if "\0" not in argument])


def _argument(text: str) -> str:
    """Text as an argument, which has no NUL."""
    return text.replace("\0", "\\0")


KEYS = tuple(schema_keys())
"""Every key of a recipe."""

FLAGS = (
    *("smiles-column", "id-column", "source-column", "target-column", "features", "edge-features", "drop", "numeric"),
    *("categorical", "task", "metric", "positive", "missing", "split", "split-fractions", "split-seed", "delimiter"),
    *("fragments", "seed", "runs"),
)
"""Flags of ``train`` that take a value, for own files."""

_KINDS: dict[str, tuple[Callable[[Random, Corpus, Path, str], Case], int]] = {
    "molecules": (_molecules, 16),
    "sdf": (_sdf, 8),
    "tables": (_tables, 16),
    "links": (_links, 8),
    "flags": (_flags, 12),
    "options": (_options, 8),
    "layout": (_layout, 14),
    "model": (_model, 8),
    "run": (_run, 10),
    "recipe": (_recipe, 8),
    "set": (_set, 10),
    "paths": (_paths, 10),
}
"""Every kind of case by name, with its share."""
