"""The training batches, and the labels to learn from."""

from torch import Tensor

from deepergcn.data.batching.batch import GraphBatch
from deepergcn.data.batching.source import BatchSource
from deepergcn.data.batching.sources import batch_source
from deepergcn.data.dataset import Dataset
from deepergcn.data.seeds import derive
from deepergcn.errors import InputError
from deepergcn.recipes.schema import LinksSection, TrainingSection


def check_steps(dataset: Dataset, training: TrainingSection, world_size: int = 1) -> None:
    """Check that there are labels to learn from, and enough of them for this number of processes."""
    if not len(dataset.split["train"]):
        raise InputError(f"{dataset.name}: the part train is empty; expected at least one item")
    count, what = len(dataset.split["train"]), f"{dataset.task.level}s"
    if dataset.task.level == "node":
        count, what = training.partitions, "partitions"
    if world_size > min(training.batch_size, count):
        raise InputError(
            f"training.batch_size is {training.batch_size} and there are {count} {what}; expected at least "
            f"{world_size}, one for each process"
        )


def training_batches(
    dataset: Dataset,
    training: TrainingSection,
    seed: int,
    rank: int = 0,
    world_size: int = 1,
    links: LinksSection | None = None,
) -> BatchSource:
    """The batches of the train part, for one of ``world_size`` processes; ``links`` says how links are learned."""
    check_steps(dataset, training, world_size)
    return batch_source(
        dataset,
        seed=derive(seed, "partitions") if dataset.task.level == "node" else seed,
        graphs=dataset.split["train"],
        shuffle=True,
        batch_size=training.batch_size,
        partitions=training.partitions,
        partitioning=training.partitioning,
        negatives=(links or LinksSection()).negatives,
        rank=rank,
        world_size=world_size,
    )


def learned_weight(data: GraphBatch) -> Tensor | None:
    """The weight of every item that is learned from, where the batch has such weights."""
    if "loss_weight" not in data:
        return None
    weight: Tensor = data.loss_weight[_learned(data)]
    return weight


def labelled(data: GraphBatch, outputs: Tensor) -> tuple[Tensor, Tensor]:
    """The outputs and the targets of what is learned from in a batch: all graphs or pairs, or the train nodes."""
    if "train_mask" not in data:
        return outputs, data.y
    return outputs[_learned(data)], data.y[_learned(data)]


def _learned(data: GraphBatch) -> Tensor:
    """The nodes that are learned from: their numbers where they have been looked up (``transfer``), else their mask."""
    nodes: Tensor = data.train_index if "train_index" in data else data.train_mask
    return nodes
