"""New molecules, made of parts of those of the train part, in the dataset that a network is taught from."""

from collections.abc import Sequence

import torch
from rdkit import Chem, rdBase
from torch import Tensor

from deepergcn.categories import ATOM_SIZES
from deepergcn.data.dataset import Dataset
from deepergcn.data.molecules.descriptor_names import KINDS
from deepergcn.data.molecules.descriptors import molecule_descriptors
from deepergcn.data.molecules.graph_smiles import graph_molecule, has_molecules
from deepergcn.data.molecules.parse import parse_molecules
from deepergcn.data.molecules.read import molecule_dataset
from deepergcn.data.molecules.recombine import recombine
from deepergcn.data.seeds import derive
from deepergcn.data.storage.memory import check_memory
from deepergcn.data.task import Task
from deepergcn.errors import InputError
from deepergcn.recipes.schema import Recipe
from deepergcn.runs.dataset import transformed
from deepergcn.training.scoring.losses import present_labels

_BYTES = 8_192
"""Of a new molecule with its descriptors, about: counts, atoms, bonds and texts."""


def check_recombined(dataset: Dataset, recipe: Recipe) -> None:
    """Check that new molecules can be made of those of a dataset, and described as they are."""
    if not (has_molecules(dataset) and dataset.symmetric and dataset.x_categories == ATOM_SIZES):
        raise InputError(
            f"teacher.recombined: {dataset.name} has no molecules with the features of atoms and bonds that this "
            "version makes; expected such a dataset, and model.edge_encoder other than none"
        )
    for name in recipe.data.descriptors:
        if name not in KINDS:
            raise InputError(
                f"teacher.recombined: data.descriptors has the column {name}, which no new molecule has; expected some "
                f"of {', '.join(KINDS)}"
            )
    check_memory(_BYTES * recipe.recombined, f"{recipe.recombined} recombined molecules")


def recombined(dataset: Dataset, count: int, seed: int) -> list[str]:
    """SMILES of this number of new molecules, made of parts of those of the train part.

    Parts of molecules of rare classes are drawn as often as those of frequent ones.
    """
    train = dataset.split["train"]
    mols, weights = [], []
    with rdBase.BlockLogs():
        for graph, weight in zip(train.tolist(), _weights(dataset.task, dataset.y[train]).tolist(), strict=True):
            mol = graph_molecule(dataset, graph)
            if Chem.SanitizeMol(mol, catchErrors=True) == Chem.SANITIZE_NONE:
                mols.append(mol)
                weights.append(weight)
    try:
        return recombine(mols, count, derive(seed, "recombined"), weights)
    except InputError as error:
        raise InputError(f"teacher.recombined: {error}") from error


def _weights(task: Task, y: Tensor) -> Tensor:
    """How often each molecule is drawn: the classes of a label all alike, and all labels alike.

    One without labels has the mean of the others. In a regression they have the same.
    """
    weights = torch.zeros(len(y), dtype=torch.float64)
    for labels in (y if y.is_floating_point() else y[:, None]).T if task.kind != "regression" else ():
        for label in labels[present_labels(labels)].unique():
            weights[labels == label] += 1 / int((labels == label).sum())
    known = weights > 0
    return weights.where(known, weights[known].mean() if bool(known.any()) else 1.0)


def with_molecules(dataset: Dataset, texts: Sequence[str], recipe: Recipe, *, descriptors: bool) -> Dataset:
    """The dataset of a recipe with these molecules after its own, without labels and in no part of the split.

    Args:
        dataset: molecules, transformed as the recipe says.
        texts: SMILES.
        recipe: the recipe.
        descriptors: whether to compute descriptors of the new molecules; the dataset loses its own otherwise.
    """
    graphs = parse_molecules(texts, strict=True).graphs
    new = molecule_dataset(
        graphs,
        name=dataset.name,
        task=dataset.task,
        y=_unlabelled(dataset.y, len(texts)),
        split={part: torch.empty(0, dtype=torch.int64) for part in dataset.split},
        digest=dataset.digest,
        **(molecule_descriptors(texts, recipe.data.descriptors).fields() if descriptors else {}),
    )
    new = transformed(new, recipe)
    joined = ("x", "edge_attr", "y", *(("fingerprints", "descriptors") if descriptors else ()))
    return dataset.replace(
        node_ptr=torch.cat((dataset.node_ptr, dataset.num_nodes + new.node_ptr[1:])),
        edge_ptr=torch.cat((dataset.edge_ptr, dataset.num_edges + new.edge_ptr[1:])),
        edge_index=torch.cat((dataset.edge_index, new.edge_index.to(dataset.edge_index.dtype)), 1),
        ids=(),
        **({} if descriptors else {"fingerprints": None, "descriptors": None}),
        **{name: _joined(getattr(dataset, name), getattr(new, name)) for name in joined},
    )


def _joined(own: Tensor | None, new: Tensor | None) -> Tensor | None:
    return None if own is None or new is None else torch.cat((own, new.to(own.dtype)))


def _unlabelled(y: Tensor, count: int) -> Tensor:
    return torch.full((count, *y.shape[1:]), torch.nan if y.is_floating_point() else -1, dtype=y.dtype)
