"""What a network is taught by the teacher of its recipe, in memory and in the run directory."""

import csv
import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from deepergcn.data.dataset import Dataset
from deepergcn.data.storage.files import write_tensors, write_text
from deepergcn.data.tables.columns import errors_in, read_columns
from deepergcn.errors import InputError, listed
from deepergcn.recipes.schema import Recipe
from deepergcn.training.forests.teacher import fit_teacher, summary

FILE = "teacher.safetensors"
"""What the teacher says about the items of the dataset, in the run directory."""

MOLECULES = "recombined.csv"
"""The new molecules, and what it says about them."""


@dataclass(frozen=True, eq=False)
class Taught:
    """What a network is taught.

    Attributes:
        said: float32 [items, outputs], what the teacher says about the items of a dataset; NaN if nothing.
        texts: SMILES of new molecules.
        said_of_new: float32 [new molecules, outputs], what it says about these.
    """

    said: Tensor
    texts: tuple[str, ...]
    said_of_new: Tensor

    def lessons(self, dataset: Dataset, recipe: Recipe) -> tuple[Dataset, Tensor]:
        """The dataset to learn from, with the new molecules in its train part, and what is said about its items."""
        if not self.texts:
            return dataset, self.said
        from deepergcn.training.forests.recombined import with_molecules  # here: few recipes need RDKit to train

        with errors_in(Path(MOLECULES)):
            larger = with_molecules(dataset, self.texts, recipe, descriptors=recipe.model.descriptors)
        new = torch.arange(dataset.num_items, larger.num_items)
        split = {**dataset.split, "train": torch.cat((dataset.split["train"], new))}
        return larger.replace(split=split), torch.cat((self.said, self.said_of_new))


def ask_teacher(recipe: Recipe, dataset: Dataset, seed: int, tell: Callable[[str], None]) -> Taught | None:
    """What the teacher of a recipe says, if it has one; ``tell`` is called with what it is at."""
    section = recipe.teacher
    if section is None:
        return None
    larger, texts = dataset, list[str]()
    if section.recombined:
        from deepergcn.training.forests.recombined import recombined, with_molecules

        tell(f"teacher   recombining {len(dataset.split['train']):,} molecules to {section.recombined:,} new ones")
        texts = recombined(dataset, section.recombined, seed)
        larger = with_molecules(dataset, texts, recipe, descriptors=True)
    tell(f"teacher   growing {section.folds} forests of {section.trees} trees")
    new = torch.arange(dataset.num_items, larger.num_items)
    said = fit_teacher(larger, section, seed, recipe.data.descriptors, more=new)
    taught = Taught(said[: dataset.num_items], tuple(texts), said[dataset.num_items :])
    tell(summary(dataset, section, taught.said))
    return taught


def write_taught(folder: Path, taught: Taught) -> None:
    """Write what is taught into a run directory, so that a run that is resumed need not ask again."""
    if taught.texts:
        written = io.StringIO()
        lines = csv.writer(written, lineterminator="\n")
        lines.writerow(("smiles", *_columns(taught.said.shape[1])))
        for text, numbers in zip(taught.texts, taught.said_of_new.tolist(), strict=True):
            lines.writerow((text, *("" if math.isnan(number) else f"{number:.9g}" for number in numbers)))
        write_text(folder / MOLECULES, written.getvalue())
    write_tensors(folder / FILE, {"taught": taught.said}, {})


def read_taught(folder: Path, recipe: Recipe, dataset: Dataset) -> Taught:
    """What is taught, from the run directory of a recipe."""
    path = folder / FILE
    try:
        said = load_file(path)["taught"]
    except (SafetensorError, OSError, KeyError) as error:
        raise InputError(f"{path}: cannot be read; remove it, and it is made again ({error})") from error
    shape = dataset.num_items, dataset.task.outputs
    train = dataset.split["train"]
    is_finite = not bool(said.isinf().any())
    if said.shape != shape or said.dtype != torch.float32 or not is_finite or bool(said[train].isnan().all()):
        raise InputError(
            f"{path}: is {said.dtype} {list(said.shape)}; expected float32 {list(shape)}, with numbers for the "
            "train part; remove it, and it is made again"
        )
    return Taught(said, *_read_molecules(folder / MOLECULES, recipe.recombined, dataset.task.outputs))


def _read_molecules(path: Path, count: int, outputs: int) -> tuple[tuple[str, ...], Tensor]:
    if not count:
        return (), torch.empty(0, outputs)
    try:
        table = read_columns(path)
        if table.names != (expected := ("smiles", *_columns(outputs))):
            raise InputError(f"{path}: has the columns {table.quoted_names()}; expected {listed(expected)}")
        if len(table) != count:
            raise InputError(f"{path}: has {len(table)} rows; expected {count}, as teacher.recombined says")
        texts = tuple(table.text("smiles").to_pylist())
        numbers = torch.stack([torch.from_numpy(table.numbers(name)) for name in _columns(outputs)], 1).float()
        if bool(numbers.isnan().all(1).any()):
            raise InputError(f"{path}: has a row without a word of the teacher; expected a number in every row")
    except InputError as error:
        raise InputError(f"{error}; remove it and {FILE}, and both are made again") from error
    return texts, numbers


def _columns(outputs: int) -> list[str]:
    return [f"taught_{number}" for number in range(1, outputs + 1)]
