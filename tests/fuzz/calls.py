"""Hostile values of arguments: flags, names of files, and every option of every command."""

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from random import Random

import typer
from typer.core import TyperGroup, TyperOption

from deepergcn.cli.main import app
from deepergcn.cli.own_data_options import OwnDataOptions
from tests.fuzz.case import Case, argument
from tests.fuzz.corpus import Corpus, small
from tests.fuzz.mutate import CELLS, YAML_VALUES


def flags(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    """Hostile values of the flags for own files."""
    typed = random.random() < 0.2
    given = random.choice(
        (
            ["--molecules", str(corpus.folder / "molecules.csv"), "--target", random.choice(("y", "number,y"))],
            [*corpus.tables, "--label", random.choice(("y", "size"))],
            ["--links", str(corpus.folder / "edges.csv")],
        )
    )
    if typed:
        given = [*corpus.typed_tables, "--label", random.choice(("a.y", "b.size"))]
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
        given += [flag, _value(random, flag, values)]
    fast = ["--epochs", "1", *small(typed=typed), "--out", "run"]
    return Case(kind, folder, "program", ["train", *fast, *given])


def paths(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
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
    one = random.choice((*places, *map(argument, CELLS)))
    two = random.choice((*places, *map(argument, CELLS)))
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
    return Case(kind, folder, "program", [word for word in arguments if "\0" not in word])


def commands(random: Random, corpus: Corpus, folder: Path, kind: str) -> Case:
    """A sound call of a command, with hostile values for some of its options."""
    run, inputs = random.choice(list(corpus.runs().items()))
    recipe, (file, fitting) = str(run / "recipe.yaml"), corpus.checkpoint
    command, *sound = random.choice(
        (
            ["evaluate", str(run)],
            ["predict", str(run), *inputs, "-o", "out.csv"],
            ["embed", str(run), *inputs, "-o", "out.npz"],
            ["explain", str(run), *inputs, "-o", "out.csv", "--most", "1"],
            ["export", str(run), "-o", "out.pt2", "--format", "torch-export"],
            ["card", str(run), "--out", "card"],
            ["report", str(run)],
            ["plan", recipe],
            ["tune", recipe, "--trials", "1", "--epochs", "1", "--out", "tuning"],
            ["train", recipe, "--epochs", "1", "--out", "run"],
            ["reproduce", "table-1", "--dry-run", "--layers", "1", "--data", str(corpus.layout), "--out", "study"],
            ["convert", str(file), "--recipe", str(fitting), "--out", "converted"],
            ["recipes"],
            ["datasets"],
        )
    )
    values = (*CELLS, *YAML_VALUES, str(run), str(corpus.folder / "nodes.csv"), "out.csv", "model.num_layers=2")
    for flag, takes_value in random.sample(OPTIONS[command], min(len(OPTIONS[command]), random.choice((1, 1, 2)))):
        sound += [flag, _value(random, flag, values)] if takes_value else [flag]
    return Case(kind, folder, "program", [command, *sound])


def _value(random: Random, flag: str, values: Sequence[str]) -> str:
    """A value of an option; a thousand runs or trials are work that is asked for, and no hang."""
    return argument(random.choice([value for value in values if flag not in _COUNTS or value != "1_000"]))


def _options() -> Iterator[tuple[str, list[tuple[str, bool]]]]:
    """Every command with its options, and whether each takes a value."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    for name, command in group.commands.items():
        found = (one for one in command.params if isinstance(one, TyperOption))
        yield name, [(flag, not one.is_flag) for one in found for flag in one.opts if flag not in _LEFT_OUT]


_COUNTS = ("--runs", "--seeds", "--trials")
_LEFT_OUT = ("--ray", "--help")  # a cluster is waited for
OPTIONS = dict(_options())
"""Every command with its options, and whether each takes a value."""

_NAMED = ("molecules", "nodes", "edges", "links", "graphs", "target", "label")  # the files, and what is learned
_OWN = [f"--{field.name.replace('_', '-')}" for field in fields(OwnDataOptions) if field.name not in _NAMED]
FLAGS = ["--seed", "--runs", *(flag for flag, takes_value in OPTIONS["train"] if takes_value and flag in _OWN)]
"""Flags of ``train`` that take a value, for own files."""
