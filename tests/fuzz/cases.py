"""Hostile inputs by kind: what is damaged, and what the program or the library is then asked to do."""

from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.fuzz import calls, files, runs
from tests.fuzz.case import Case
from tests.fuzz.corpus import Corpus


def make_case(corpus: Corpus, folder: Path, seed: int, number: int) -> Case:
    """The case of this number: the same for the same seed."""
    random = Random(f"{seed}-{number}")
    kind = random.choices(list(_KINDS), [weight for _, weight in _KINDS.values()])[0]
    return _KINDS[kind][0](random, corpus, folder, kind)


_KINDS: dict[str, tuple[Callable[[Random, Corpus, Path, str], Case], int]] = {
    "molecules": (files.molecules, 16),
    "sdf": (files.sdf, 8),
    "smi": (files.smi, 4),
    "tables": (files.tables, 16),
    "typed tables": (files.typed_tables, 8),
    "links": (files.links, 8),
    "graphs": (files.graphs, 6),
    "options": (files.options, 8),
    "layout": (files.layout, 14),
    "model": (runs.model, 8),
    "run": (runs.run, 14),
    "checkpoint": (runs.checkpoint, 3),
    "recipe": (runs.recipe, 8),
    "set": (runs.settings, 10),
    "flags": (calls.flags, 12),
    "commands": (calls.commands, 14),
    "paths": (calls.paths, 10),
}
"""Every kind of case by name, with its share."""
