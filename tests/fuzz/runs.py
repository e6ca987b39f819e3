"""Damaged things that training makes or takes: models, run directories, recipes."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import yaml
from pydantic import BaseModel

from deepergcn.recipes.schema import Recipe
from tests.fuzz.case import Case, argument
from tests.fuzz.corpus import Corpus
from tests.fuzz.mutate import YAML_VALUES, damage_bytes, damage_tree
from tests.fuzz.records import damage_json, damage_safetensors, dumped


def schema_keys(section: type[BaseModel] = Recipe, prefix: str = "") -> Iterator[str]:
    """Every key of a recipe, with its sections."""
    for name, field in section.model_fields.items():
        yield f"{prefix}{name}"
        for kind in (field.annotation, *getattr(field.annotation, "__args__", ())):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from schema_keys(kind, f"{prefix}{name}.")


def model(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    file = folder / "model.safetensors"
    file.write_bytes(damage_safetensors(random, (corpus.molecule_run / "model.safetensors").read_bytes()))
    return Case(kind, folder, "program", ["predict", str(file), str(corpus.folder / "molecules.csv"), "-o", "out.csv"])


def run(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    """A run, or one of two in a folder of seeds, with one damaged file."""
    place = folder / "run"
    source, inputs = random.choice(list(corpus.runs().items()))
    seeds = random.random() < 0.15
    for copy in (place / "seed-0", place / "seed-1") if seeds else (place,):
        shutil.copytree(source, copy)
    found = (path for path in place.rglob("*") if path.is_file() and path.suffix in _DAMAGED)
    file = random.choice(sorted(found))
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
    arguments = random.choice(
        (
            ["evaluate", str(place)],
            ["evaluate", str(place), "--data", *inputs],
            ["predict", str(place), *inputs, "-o", "out.csv"],
            ["embed", str(place), *inputs, "-o", "out.npz"],
            ["explain", str(place), *inputs, "-o", "out.csv", "--most", "2"],
            ["export", str(place), "-o", "out.pt2", "--format", "torch-export"],
            ["train", "--resume", "--out", str(place), "--epochs", random.choice("23")],
            ["report", str(place)],
            ["card", str(place)],
        )
    )
    return Case(kind, folder, "program", arguments)


def checkpoint(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    """A damaged checkpoint of the authors, or one for another recipe."""
    file, fitting = corpus.checkpoint
    damaged = folder / "best.pth"
    content = file.read_bytes()
    damaged.write_bytes(damage_bytes(random, content) if random.random() < 0.7 else content)
    name = random.choice((str(fitting), str(fitting), "ogbg-molhiv", str(corpus.molecule_run / "recipe.yaml")))
    out = random.choice(("run", "model.safetensors", "model.pt", "best.pth"))
    return Case(kind, folder, "program", ["convert", str(damaged), "--recipe", name, "--out", out])


def recipe(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
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


def settings(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    values = [random.choice(KEYS) + random.choice(("=", "=", "=", "", ".x=")) + random.choice(YAML_VALUES)]
    if random.random() < 0.2:
        values.append(f"{random.choice(KEYS)}={random.choice(YAML_VALUES)}")
    flags = [flag for value in values for flag in ("--set", argument(value))]
    recipe = str(corpus.molecule_run / "recipe.yaml")
    return Case(kind, folder, "program", ["train", recipe, "--out", "run", *flags, "--epochs", "1"])


KEYS = tuple(schema_keys())
"""Every key of a recipe."""

_DAMAGED = (".json", ".yaml", ".csv", ".parquet", ".safetensors")
