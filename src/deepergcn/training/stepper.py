"""One optimizer step: launched on the device of the network, and read when it is done.

Nothing synchronizes with a GPU between two steps: the loss of a step, and whether its gradient is finite, are sent to
the host right behind the step, and read there after the next step has been launched.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from deepergcn.data.batching.batch import GraphBatch
from deepergcn.data.batching.drop_edge import drop_edges
from deepergcn.data.batching.known_labels import hide_labels
from deepergcn.data.batching.source import BatchSource, is_repeated
from deepergcn.data.seeds import generator, seed_torch
from deepergcn.errors import InputError
from deepergcn.nn.reversible.function import after_each_layer
from deepergcn.recipes.schema import Recipe
from deepergcn.runs.model.network import AnyNetwork
from deepergcn.training.average import WeightAverage
from deepergcn.training.finite import check_finite, check_gradient, explained
from deepergcn.training.flag import flag_step
from deepergcn.training.optimizer import learning_rate, make_optimizer
from deepergcn.training.processes.exchange import exchange_gradients
from deepergcn.training.scoring.losses import LossFunction
from deepergcn.training.steps import labelled, learned_weight
from deepergcn.training.transfer import Counted, Fetched, on_device


class Launched(NamedTuple):
    """A step that a GPU may not have finished yet.

    Attributes:
        epoch, step: its place in the run.
        labels: the number of its labels in all processes, at least 1.
        loss_sum: the sum of the losses of this process, each times its number of labels.
        norm: of the gradient.
        sent: both, on their way to the host.
    """

    epoch: int
    step: int
    labels: int
    loss_sum: Tensor
    norm: Tensor
    sent: Fetched

    @property
    def place(self) -> str:
        return f"epoch {self.epoch}, step {self.step + 1}"


class Stepper:
    """The steps of one run in one process of ``fabric``.

    Args:
        fabric: the processes and devices.
        recipe: the recipe of the run.
        seed: the seed of the run.
        model: the network; it is moved to the device.
        loss: the loss of a batch.
        source: the batches.
        add_up: the sums of two numbers over all processes.
        taught: what a teacher says about every item of the dataset, if there is one.

    Attributes:
        optimizer: the optimizer of the recipe.
        average: the average of the weights, where the recipe has one.
        lag: the number of steps that are launched before the first of them is read, so that a GPU always has work.
    """

    def __init__(
        self,
        fabric: Fabric,
        recipe: Recipe,
        seed: int,
        model: AnyNetwork,
        loss: LossFunction,
        source: BatchSource,
        add_up: Callable[[float, float], tuple[float, float]],
        taught: Tensor | None = None,
    ) -> None:
        self.fabric, self.recipe, self.seed, self.model = fabric, recipe, seed, model
        self.loss, self.source, self._add_up, self._taught = loss, source, add_up, taught
        self.optimizer = make_optimizer(model, recipe.optimizer)
        self._wrapped, self._stepped = fabric.setup(model, self.optimizer)
        exchange_gradients(self._wrapped)
        self._weights = list(model.parameters())  # walking through the modules takes as long as a layer of a small step
        # After setup, which moves the model: the average goes where the parameters are.
        decay = recipe.training.average
        self.average = None if decay is None else WeightAverage(model, decay)
        self.lag = _lag(fabric.device)
        self._failed: Tensor | None = None

    def batches(self, epoch: int, first: int) -> Iterator[list[Counted]]:
        """The batches of this process in every step of an epoch, on the device, from step ``first`` on."""
        steps = self.source.steps(epoch, first)
        return on_device(self._in_part(steps, epoch, first), self.fabric.device)

    def launch(self, epoch: int, step: int, batches: list[Counted]) -> Launched:
        """Run a step, or queue it on a GPU: forward, backward, and the optimizer step."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate(epoch, step)
        _, labels = self._add_up(0.0, sum(count for _, count in batches))
        with self._layer_by_layer(f"epoch {epoch}, step {step + 1}", len(batches)):
            launched = self._gradient(epoch, step, max(int(labels), 1), batches)
        if self.lag:
            failed = ~(launched.norm + launched.loss_sum).isfinite()
            self._failed = failed if self._failed is None else self._failed | failed
            self.optimizer.found_inf = self._failed.float()  # type: ignore[attr-defined]  # a fused step is left out
        else:
            check_gradient(self.model, launched.norm, launched.place)
        if self.recipe.optimizer.clip is not None:
            clip_grads_with_norm_(self._weights, self.recipe.optimizer.clip, launched.norm)
        self._stepped.step()
        if self.average is not None:
            self.average.update_parameters(self.model)
        return launched

    def _layer_by_layer(self, place: str, batches: int) -> AbstractContextManager[None]:
        """Update the weights of a reversible layer as soon as backward has their gradients, and delete these.

        The gradients of all layers are then never there at once. The bits are the same, since Adam takes every weight
        for itself. It needs gradients that one backward of one process completes, and nothing that depends on all of
        them: no clipping, no adversarial steps, no batches to add up.
        """
        alone = self.fabric.world_size == 1 and batches == 1 and not self.lag
        if not alone or self.recipe.optimizer.clip is not None or self.recipe.training.flag_ascents:
            return nullcontext()

        def update(weights: Sequence[nn.Parameter]) -> None:
            check_gradient(self.model, get_total_norm([w.grad for w in weights if w.grad is not None]), place)
            self.optimizer.step_on(weights)
            for weight in weights:
                weight.grad = None

        return after_each_layer(update)

    def read(self, launched: Launched) -> float:
        """The loss of a step over the batches of all processes; a loss or gradient that is not finite is an error."""
        loss_sum, norm = launched.sent.read().tolist()
        if not math.isfinite(loss_sum + norm):
            self._explain(launched)
        return self._add_up(loss_sum, 0.0)[0] / launched.labels

    def learning_rate(self, epoch: int, step: int) -> float:
        """The learning rate of a step."""
        passed = epoch - 1 + step / len(self.source)
        return learning_rate(self.recipe.optimizer, passed, self.recipe.training.epochs)

    def _in_part(self, steps: Iterator[list[GraphBatch]], epoch: int, first: int) -> Iterator[list[GraphBatch]]:
        """The batches without the edges of DropEdge and the labels that a step hides, and with what a teacher says,
        where the recipe asks for it.

        The former are drawn on the host, as they would synchronize with a GPU.
        """
        training, columns = self.recipe.training, self.source.dataset.label_columns
        for step, batches in enumerate(steps, start=first):
            if training.drop_edge:
                draw = self._generator("drop-edge", epoch, step)
                batches = [drop_edges(batch, training.drop_edge, draw) for batch in batches]
            if columns is not None:
                draw = self._generator("known-labels", epoch, step)
                batches = [hide_labels(batch, columns, training.shown_labels, draw) for batch in batches]
            if self._taught is not None:
                for batch in batches:
                    said = self._taught[batch.item]
                    batch.taught = torch.full_like(said, torch.nan) if is_repeated(batch) else said
            yield batches

    def _generator(self, purpose: str, epoch: int, step: int) -> torch.Generator:
        return generator(self.seed, purpose, epoch, step, self.fabric.global_rank)

    def _gradient(self, epoch: int, step: int, labels: int, batches: list[Counted], *, again: bool = False) -> Launched:
        """Forward and backward of the batches; ``again`` checks every loss, and exchanges no gradients."""
        seed_torch(self.seed, "dropout", epoch, step, self.fabric.global_rank)
        self._stepped.zero_grad()
        place = f"epoch {epoch}, step {step + 1}"
        loss_sum = torch.zeros((), dtype=torch.float64, device=self.fabric.device)
        for number, (data, count) in enumerate(batches, start=1):
            share = count * self.fabric.world_size / labels  # the gradients of the processes are averaged
            loss = self._backward(data, share, place, exchange=number == len(batches) and not again, check=again)
            loss_sum += loss.double() * count
        gradients = [weight.grad for weight in self._weights if weight.grad is not None]
        norm = get_total_norm(gradients)
        sent = Fetched(torch.stack([loss_sum, norm.to(loss_sum)]))
        return Launched(epoch, step, labels, loss_sum, norm, sent)

    def _backward(self, data: GraphBatch, share: float, place: str, *, exchange: bool, check: bool) -> Tensor:
        """The loss of a batch; its gradient, times ``share``, is added to the weights'."""
        ascents = self.recipe.training.flag_ascents

        def descend(ascent: int) -> Tensor:
            exchanged = exchange and ascent == max(ascents, 1) - 1
            with self.fabric.no_backward_sync(self._wrapped, enabled=not exchanged):
                with explained(self.model, place):
                    outputs, targets = labelled(data, self._wrapped(data))
                taught = data.taught if "taught" in data else None
                loss = self.loss(outputs.float(), targets, learned_weight(data), taught)
                if check or not self.lag:
                    check_finite(self.model, data, loss, place)
                self.fabric.backward(loss * (share / max(ascents, 1)))
            return loss.detach()

        if not ascents:
            return descend(0)
        return flag_step(self.model, data.num_nodes, ascents, self.recipe.training.flag_step, descend)

    def _explain(self, launched: Launched) -> None:
        """Say what was not finite in a step on a GPU: repeat it, as no step has changed the weights since."""
        epoch, step = launched.epoch, launched.step
        redone = self._gradient(epoch, step, launched.labels, next(self.batches(epoch, step)), again=True)
        check_gradient(self.model, redone.norm, launched.place)
        raise InputError(f"{launched.place}: the loss or its gradient is not finite; try a lower optimizer.lr")


def _lag(device: torch.device) -> int:
    return 0 if device.type == "cpu" else 1
