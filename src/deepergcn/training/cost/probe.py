"""A few steps and evaluations of a shallow network on the run's own batches, with their time and memory."""

import math
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import TypeVar

import torch
from torch import Tensor

from deepergcn.data.batching.batch import GraphBatch
from deepergcn.data.dataset import PARTS, Dataset
from deepergcn.data.storage.memory import PeakMemory, give_back, resident_memory
from deepergcn.recipes.schema import Recipe
from deepergcn.runs.model.network import AnyNetwork, build_model, dataset_inputs
from deepergcn.runs.state import Progress, save_state
from deepergcn.training.optimizer import make_optimizer
from deepergcn.training.scoring.evaluation import Evaluation
from deepergcn.training.scoring.losses import make_loss
from deepergcn.training.steps import labelled, training_batches

SHALLOW = 2
"""The layers of the first network that is measured."""

_STEPS = 3  # batches of graphs differ in size: several of them are timed
_SHORT = 0.5  # seconds of what is called twice
_STATE = Progress()
T = TypeVar("T")


@dataclass(frozen=True)
class Reading:
    """What a network of one depth takes.

    Attributes:
        layers: its depth.
        parameters: the number of its parameters.
        step: seconds of a step of training.
        forward: seconds of the evaluation of one batch.
        save: seconds to write the state of training.
        saved: bytes that autograd keeps for backward, beyond weights and batch.
        rise: bytes by which a step raises the memory of the process, gradients included; None where unknown.
        forward_rise: the same of an evaluation.
    """

    layers: int
    parameters: int
    step: float
    forward: float
    save: float
    saved: int
    rise: int | None
    forward_rise: int | None


class Probe:
    """The batches of a run, and what networks of any depth take on them.

    Torch's generator is left as it was, and nothing that a run is made of is changed.

    Attributes:
        first_draw, later_draw: seconds to make the first batch of an epoch, and each of the others.
        steps: the number of steps of an epoch.
        full_steps: the same in batches of full size: the last batch of graphs may have few.
        evaluated: the number of batches of an evaluation.
        draw: seconds to make one of these.
        score: seconds to score their outputs.
        nodes: the nodes of a training batch.
        base: the bytes of this process with data and batches, before there is a network.
    """

    def __init__(self, recipe: Recipe, dataset: Dataset, seed: int = 0, processes: int = 1) -> None:
        self.recipe, self.dataset, self.inputs = recipe, dataset, dataset_inputs(dataset)
        source = training_batches(dataset, recipe.training, seed, 0, processes, recipe.links)
        self.steps = len(source)
        self.full_steps, made = float(self.steps), self.steps
        if dataset.task.level == "graph":
            graphs = len(dataset.split["train"]) + recipe.recombined
            self.full_steps = graphs / min(graphs, recipe.training.batch_size)
            self.steps = math.ceil(self.full_steps)
        steps, wanted = source.steps(1), 2 if dataset.task.level == "node" else _STEPS
        self.first_draw, first = _timed(lambda: next(steps))
        self.first_draw = _warm(self.first_draw, lambda: next(source.steps(1)))
        self.batches, draws = [first], []
        while len(self.batches) < min(wanted, made):
            seconds, batches = _timed(lambda: next(steps))
            draws.append(seconds)
            self.batches.append(batches)
        self.later_draw = min(draws, default=0.0)
        if dataset.task.level == "node":
            del self.batches[1:]
        self.nodes = max(batch.num_nodes for batch in first)
        parts = PARTS if dataset.task.level == "node" else PARTS[1:]
        self.evaluation = Evaluation(dataset, recipe, seed, parts)
        groups = self.evaluation.source.groups(0)
        self.evaluated = -(-len(groups) * self.evaluation.draws // processes)
        self.draw: float
        self.seen: GraphBatch | None
        self.draw, self.seen = 0.0, None
        if groups:
            self.draw, seen = _timed(lambda: next(self.evaluation.source.gather(0, groups[:1])))
            self.draw = _warm(self.draw, lambda: next(self.evaluation.source.gather(0, groups[:1])))
            self.seen = seen[0]
        outputs = torch.zeros(dataset.num_items, dataset.task.outputs)
        self.loss = make_loss(dataset.task, None)
        self.score, _ = _timed(lambda: self.evaluation.scores(outputs, 1, self.loss))
        self.score = _warm(self.score, lambda: self.evaluation.scores(outputs, 1, self.loss))
        give_back()
        self.base = resident_memory() or 0

    def read(self, layers: int, seconds: float) -> Reading:
        """Measure a network of this depth, for about this number of seconds where one step takes less."""
        with torch.random.fork_rng(devices=[]):
            return self._read(layers, seconds)

    def _read(self, layers: int, seconds: float) -> Reading:
        model = self._model(layers)
        optimizer = make_optimizer(model, self.recipe.optimizer)

        def step(batches: list[GraphBatch]) -> None:
            optimizer.zero_grad()
            for batch in batches:
                with self._precision():
                    outputs, targets = labelled(batch, model(batch))
                self.loss(outputs.float(), targets).backward()
            optimizer.step()

        model.train()
        with _saved_bytes(model, self.batches[0]) as saved:
            warm, _ = _timed(partial(step, self.batches[0]))
        optimizer.zero_grad()
        give_back()
        with PeakMemory() as peak:
            spent = [_timed(partial(step, self.batches[0]))[0]]
        passes = max(min(int(seconds / (2 * max(spent[0], 1e-4) * len(self.batches))), 3), 0)
        times = [
            median([_timed(partial(step, batches))[0] for _ in range(passes)] + spent * (number == 0))
            for number, batches in enumerate(self.batches[: len(self.batches) if passes else 1])
        ]
        forward, forward_rise = self._evaluate(model, passes)
        with tempfile.TemporaryDirectory() as folder:
            save, _ = _timed(lambda: save_state(Path(folder), _STATE, model, optimizer))
        return Reading(
            layers=layers,
            parameters=sum(p.numel() for p in model.parameters()),
            step=sum(times) / len(times) if passes else min(warm, spent[0]),
            forward=forward,
            save=save,
            saved=sum(saved.values()) // len(self.batches[0]),  # one after the other
            rise=peak.rise,
            forward_rise=forward_rise,
        )

    def _evaluate(self, model: AnyNetwork, passes: int) -> tuple[float, int | None]:
        """The seconds of the evaluation of a batch, and the rise of the memory in it."""
        if self.seen is None:
            return 0.0, 0
        model.eval()

        def forward() -> None:
            with torch.no_grad(), self._precision():
                model(self.seen)

        give_back()
        with PeakMemory() as peak:
            spent = [_timed(forward)[0]]
        if passes:
            spent.extend(_timed(forward)[0] for _ in range(passes))
        return min(spent), peak.rise

    def _model(self, layers: int) -> AnyNetwork:
        section = self.recipe.model.model_copy(update={"num_layers": layers})
        return build_model(self.recipe.model_copy(update={"model": section}), self.inputs)

    def _precision(self) -> AbstractContextManager[object]:
        bf16 = self.recipe.training.precision == "bf16"
        return torch.autocast("cpu", torch.bfloat16) if bf16 else nullcontext()


def _warm(seconds: float, function: Callable[[], object]) -> float:
    """The seconds without what a first call alone takes, where a second call is short; ``seconds`` are of the first."""
    return seconds if seconds > _SHORT else min(seconds, _timed(function)[0])


def _timed(function: Callable[[], T]) -> tuple[float, T]:
    started = time.perf_counter()
    result = function()
    return time.perf_counter() - started, result


@contextmanager
def _saved_bytes(model: AnyNetwork, batches: list[GraphBatch]) -> Iterator[dict[int, int]]:
    """The bytes of every storage that autograd saves for backward, but for those of the weights and the batches."""
    known = {t.untyped_storage().data_ptr() for t in (*model.parameters(), *model.buffers())}
    for batch in batches:
        tensors = [value for value in batch.to_dict().values() if isinstance(value, Tensor)]
        known |= {t.untyped_storage().data_ptr() for t in tensors}
    saved: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        yield saved
