"""The cost of a run: measurements at one or two depths, extrapolated to the depth of the recipe."""

import math
from dataclasses import dataclass

from deepergcn.data.dataset import Dataset
from deepergcn.data.storage.memory import available_memory, resident_memory
from deepergcn.errors import InputError
from deepergcn.nn.networks.registry import network_class
from deepergcn.recipes.schema import Recipe
from deepergcn.runs.model.network import count_parameters, dataset_inputs
from deepergcn.runs.state import KEPT
from deepergcn.training.cost.budget import Kept, choose_segments, peak, smallest_peak
from deepergcn.training.cost.probe import SHALLOW, Probe, Reading
from deepergcn.training.cost.sizes import Batch, graph_bytes, inference_bytes, memory_text, parse_memory, whole_graph

QUICK = 1.0
"""The seconds that the probe before a run should take, where steps are short."""
CAREFUL = 6.0
"""The seconds of ``deepergcn plan``."""

_TIMES = ("step", "forward")
_MARGIN = 0.95  # of a budget is given away: the heap has holes
_SMALL_SECONDS, _SMALL_SHARE = 5.0, 0.1
_FLOATS_KEPT = 12  # channels' worth of floats that a layer keeps for a node, where nothing is recomputed


@dataclass(frozen=True)
class Cost:
    """What a run takes, and what the alternatives would take.

    Attributes:
        step, epoch, run: seconds.
        memory: bytes of the process, or of all processes, at their peak.
        available: bytes that they can have.
        disk: bytes of the run directory.
        segments: the layers that are computed again in backward, see :mod:`deepergcn.training.cost.budget`.
        recomputed: the memory with the segments that take the least; None if there is nothing to choose.
        reversible: the memory of the same depth in reversible layers.
        partitions: the least number of training partitions that fit, where the task is about nodes; None if none does.
        whole: the nodes and edges of all graphs.
        growing: bytes that grow with the graph: its edges, and the activations of a batch.
        forests: whether the recipe grows random forests too, whose time is not in these.
    """

    step: float
    epoch: float
    run: float
    memory: int
    available: int
    disk: int
    segments: tuple[int, ...]
    recomputed: int | None
    reversible: int
    partitions: int | None
    whole: Batch
    growing: int
    forests: bool

    @property
    def fits(self) -> bool:
        """Whether the run fits in the available memory."""
        return self.memory <= self.available

    def line(self) -> str:
        """The estimate in one line."""
        return (
            f"plan: about {time_text(self.epoch)} an epoch and {time_text(self.run)} in all, "
            + ("without its forests, " if self.forests else "")
            + f"{memory_text(self.memory)} of {memory_text(self.available)} memory, {memory_text(self.disk)} on disk"
            + (f", {sum(self.segments)} layers recomputed" if self.segments else "")
        )

    def advice(self) -> str:
        """What to change where the run does not fit, in one line."""
        ways = []
        if self.partitions is not None:
            ways.append(f"training.partitions={self.partitions}")
        if self.recomputed is not None and self.recomputed <= self.available:
            ways.append(f"training.memory={self.available / 1e9:.1f}GB, which recomputes layers in backward")
        if self.reversible <= self.available:
            ways.append("model.network=RevGEN, whose layers are reversible")
        return "; or ".join(ways) or "a smaller model.hidden_channels or training.batch_size"


def time_text(seconds: float) -> str:
    """A duration as readable text."""
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    if hours < 48:
        return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"
    return f"{hours / 24:.0f} days"


def is_small(recipe: Recipe, dataset: Dataset) -> bool:
    """Whether a run is certain to fit and to end within seconds, so that no probe is needed."""
    model, training = recipe.model, recipe.training
    size = whole_graph(dataset)
    parts = training.partitions if dataset.task.level == "node" else 1
    items = len(dataset.split["train"]) + recipe.recombined
    steps = parts if dataset.task.level == "node" else math.ceil(items / training.batch_size)
    passes = steps if dataset.task.level == "link" else 1  # every step on links sees the whole graph
    pairs = passes * model.hidden_channels * (size.edges / parts + size.nodes * model.hidden_channels / 10)
    seconds = training.epochs * model.num_layers * (2e-8 * pairs + 1e-3 * steps)
    return seconds < _SMALL_SECONDS and _rough_memory(recipe, dataset) < _SMALL_SHARE * available_memory()


def _rough_memory(recipe: Recipe, dataset: Dataset) -> float:
    """Roughly the bytes that two layers take in training, or an evaluation; computed, not measured."""
    size = whole_graph(dataset)
    if dataset.task.level == "graph":
        size = Batch(*(-(-n * recipe.training.batch_size // len(dataset)) for n in size))
        return _FLOATS_KEPT * 4.0 * size.nodes * recipe.model.hidden_channels * recipe.model.num_layers
    nodes = dataset.task.level == "node"
    part = size.part(recipe.training.partitions if nodes else 1)
    seen = size.part((recipe.evaluation.partitions or 1) if nodes else 1)
    kept = _FLOATS_KEPT * 4.0 * part.nodes * recipe.model.hidden_channels * min(recipe.model.num_layers, SHALLOW)
    known = recipe.evaluation.partitions is not None
    return max(graph_bytes(dataset, part) + kept, inference_bytes(dataset, recipe, seen) if known else 0)


def estimate(recipe: Recipe, dataset: Dataset, processes: int = 1, seconds: float = QUICK) -> Cost:
    """The cost of a run of the recipe in this environment, measured in about this number of seconds.

    One or two shallow networks run a few steps on the run's own batches; time and memory are linear in the depth.
    """
    available = available_memory() + (resident_memory() or 0)
    rough = _rough_memory(recipe, dataset)
    if rough > available:
        raise InputError(
            f"two layers of recipe {recipe.name} alone need about {memory_text(rough)} of memory; "
            f"{memory_text(available)} are available; expected more training.partitions or "
            "evaluation.partitions, or a smaller training.batch_size"
        )
    parameters = count_parameters(recipe, dataset_inputs(dataset))
    weights = parameters * _weight_bytes(recipe)
    if weights > available:
        raise InputError(
            f"the {parameters:,} parameters of recipe {recipe.name}, with gradients and Adam's moments, need "
            f"{memory_text(weights)} of memory; {memory_text(available)} are available; expected a smaller "
            "model.hidden_channels or model.num_layers"
        )
    probe = Probe(recipe, dataset, processes=processes)
    return _Line(recipe, probe, _readings(probe, recipe, seconds), parameters).cost(available, processes)


def _weight_bytes(recipe: Recipe) -> int:
    """The bytes of a weight with its gradient and Adam's two moments, and its average where there is one."""
    return 16 if recipe.training.average is None else 20


def _readings(probe: Probe, recipe: Recipe, seconds: float) -> list[Reading]:
    """The readings of a shallow network and of one as deep as the time allows, at most as deep as the recipe's."""
    depth = recipe.model.num_layers
    if depth <= SHALLOW or recipe.model.block == "dense":
        return [probe.read(depth, seconds)]
    shallow = probe.read(SHALLOW, seconds / 2)
    affordable = int(SHALLOW * seconds / (4 * max(shallow.step, 1e-4)))
    return [shallow, probe.read(min(depth, max(affordable, 2 * SHALLOW)), seconds / 2)]


@dataclass(frozen=True)
class _Line:
    """The line through the readings of a probe."""

    recipe: Recipe
    probe: Probe
    readings: list[Reading]
    parameters: int

    def cost(self, available: int, processes: int) -> Cost:
        recipe, probe, dataset = self.recipe, self.probe, self.probe.dataset
        depth, training = recipe.model.num_layers, recipe.training
        parameters = self.parameters
        still = probe.base + parameters * _weight_bytes(recipe)
        kept, around = self._kept()
        evaluation = still + (self.readings[-1].forward_rise or 0)
        segments: tuple[int, ...] = ()
        if training.memory is not None:
            segments = self._segments(parse_memory(training.memory), kept, still + around, evaluation)
        activations = peak(depth, segments, kept)
        step = self._at("step") * max(training.flag_ascents, 1)
        step += sum(segments) * self._slope("forward") * self._share()
        epoch = probe.first_draw + (probe.steps - 1) * probe.later_draw + probe.full_steps * step
        epoch += (probe.evaluated * (probe.draw + self._at("forward")) + probe.score) / recipe.evaluation.every
        epoch += 1.3 * self._at("save")  # the state in every epoch, the model where it is the best so far
        memory = max(still + around + activations, evaluation)
        whole, moving = whole_graph(dataset), around + activations
        room = available / processes - still
        return Cost(
            step=step,
            epoch=epoch,
            run=training.epochs * epoch,
            memory=int(memory) * processes,
            available=available,
            disk=parameters * (12 * KEPT + 4) + training.epochs * (150 + 30 * depth) + 300_000,
            segments=segments,
            recomputed=int(still + around + smallest_peak(depth, kept)) * processes if self._can_choose else None,
            reversible=int(max(still + around + 2 * kept.layer, evaluation)) * processes,
            partitions=self._partitions(moving, room) if evaluation <= available / processes else None,
            whole=whole,
            growing=int(graph_bytes(dataset, whole) + moving),
            forests=recipe.teacher is not None or recipe.blend is not None,
        )

    @property
    def _can_choose(self) -> bool:
        """Whether the layers to recompute can be chosen."""
        model = self.recipe.model
        reversible = model.network == "RevGEN" or model.block == "rev"
        return network_class(model.network).SEGMENTS and not reversible and not model.options().get("checkpoint")

    def _at(self, field: str) -> float:
        """A quantity at the depth of the recipe."""
        last = self.readings[-1]
        value: float = getattr(last, field)
        return value + (self.recipe.model.num_layers - last.layers) * self._slope(field)

    def _slope(self, field: str) -> float:
        """What one more layer adds."""
        first, last = self.readings[0], self.readings[-1]
        value: float = getattr(last, field)
        if first is last:
            return value / last.layers
        before: float = getattr(first, field)
        if value <= before and field in _TIMES:  # other work disturbed the shallow network: the deeper one is slower
            return value / (2 * last.layers)
        return max((value - before) / (last.layers - first.layers), 0.0)

    def _share(self) -> float:
        """The time of the forward pass of a training batch relative to that of an evaluation batch."""
        return 1.0 if self.probe.seen is None else self.probe.nodes / self.probe.seen.num_nodes

    def _kept(self) -> tuple[Kept, float]:
        """What a layer keeps, and what the rest of a step takes: the other modules, and what is freed again."""
        last, model = self.readings[-1], self.recipe.model
        widths = (model.num_layers + 1) / 2 if model.block == "dense" else 1
        given = 4 * self.probe.nodes * model.hidden_channels * widths
        layer = self._slope("saved") + (given if model.options().get("checkpoint") else 0)
        rise = last.saved + 2 * layer if last.rise is None else last.rise - 4 * last.parameters
        return Kept(layer, given), max(rise - layer * last.layers, 0)

    def _segments(self, budget: int, kept: Kept, fixed: float, evaluation: float) -> tuple[int, ...]:
        """The segments that fit the budget of one process; an error that names the smallest where none does."""
        if self.recipe.model.options().get("checkpoint"):
            raise InputError(
                "training.memory: cannot be combined with model.checkpoint, since it chooses the layers to recompute"
            )
        depth, room = self.recipe.model.num_layers, _MARGIN * budget
        found: tuple[int, ...] | None = () if depth * kept.layer <= room - fixed else None
        if found is None and self._can_choose:
            found = choose_segments(depth, kept, room - fixed)
        if found is not None and evaluation <= room:
            return found
        least = smallest_peak(depth, kept) if self._can_choose else depth * kept.layer
        raise InputError(
            f"training.memory is {self.recipe.training.memory}; this network needs at least about "
            f"{max(fixed + least, evaluation) / _MARGIN / 1e6 + 1:.0f}MB"
            + ("; more training.partitions need less" if self.probe.dataset.task.level == "node" else "")
        )

    def _partitions(self, moving: float, room: float) -> int | None:
        """The least number of partitions whose activations fit."""
        if self.probe.dataset.task.level != "node" or room < 1:
            return None
        present = self.recipe.training.partitions
        needed = max(math.ceil(present * moving / room), present)
        return needed if needed <= self.probe.dataset.num_nodes else None
