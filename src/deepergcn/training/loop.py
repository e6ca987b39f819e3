"""The training loop: steps, epochs, evaluation, and the saved state."""

import math
import time

import torch
from lightning_fabric import Fabric
from torch import Tensor
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from deepergcn.data.batching.batch import GraphBatch
from deepergcn.data.batching.drop_edge import drop_edges
from deepergcn.data.dataset import Dataset
from deepergcn.errors import InputError
from deepergcn.nn.descriptors import DescriptorScale
from deepergcn.runs.callbacks import Callback
from deepergcn.runs.log import RunLog
from deepergcn.runs.model.model_file import TrainedModel, save_model
from deepergcn.runs.model.network import AnyNetwork, Rescale
from deepergcn.runs.run import Run, Summary
from deepergcn.runs.state import Progress, Scores, resume_state, save_state
from deepergcn.training.average import weight_average
from deepergcn.training.finite import check_finite, check_gradient, explained
from deepergcn.training.flag import flag_step
from deepergcn.training.optimizer import learning_rate, make_optimizer
from deepergcn.training.scoring.calibrate import fit_calibration
from deepergcn.training.scoring.evaluation import Evaluation
from deepergcn.training.scoring.losses import LossFunction, balanced_weight, make_loss
from deepergcn.training.scoring.metrics import make_metric
from deepergcn.training.seeds import seed_torch
from deepergcn.training.signals import Interrupted, Signals
from deepergcn.training.steps import labelled, learned_weight, training_batches
from deepergcn.training.transfer import Counted, on_device


class Loop:
    """Training of one run in one process of ``fabric``.

    Args:
        fabric: the processes and devices.
        run: the run directory, with its recipe.
        dataset: the dataset.
        model: the network, with its initial weights.
        callback: called as training proceeds.
        signals: the signals that stop the run.
    """

    def __init__(
        self, fabric: Fabric, run: Run, dataset: Dataset, model: AnyNetwork, callback: Callback, signals: Signals
    ) -> None:
        self.fabric, self.run, self.dataset, self.model = fabric, run, dataset, model
        self.callback, self.signals = callback, signals
        self.recipe, self.seed = run.recipe, run.info.seed
        self._signal = 0  # that any of several processes received
        rank, world = fabric.global_rank, fabric.world_size
        self.train_targets = dataset.y[dataset.split["train"]]
        self._fit_scale()
        self.loss = self._make_loss()
        self.higher_is_better = make_metric(dataset.task).higher_is_better
        self.source = training_batches(dataset, self.recipe.training, self.seed, rank, world, self.recipe.links)
        parts = _evaluated_parts(dataset, self.recipe.evaluation.train)
        self.evaluation = Evaluation(dataset, self.recipe, self.seed, parts, rank, world)
        self.optimizer = make_optimizer(model, self.recipe.optimizer)
        self.wrapped, self.stepper = fabric.setup(model, self.optimizer)
        # After setup, which moves the model: average and moments of the optimizer go where the parameters are.
        decay = self.recipe.training.average
        self.average = None if decay is None else weight_average(model, decay)
        self.progress = resume_state(run.path, model, self.optimizer, self.average)
        self.log = RunLog(run.path, self.progress.epoch)

    def fit(self) -> Summary:
        """Train until the last epoch, or until patience runs out."""
        training = self.recipe.training
        self.callback.on_train_start(self.run, self.progress, len(self.source))
        if self.progress == Progress():  # results are never there without a state
            self._save_state()
        while self.progress.epoch < training.epochs and not self._out_of_patience():
            self._epoch(self.progress.epoch + 1)
        return self._summary()

    def _epoch(self, epoch: int) -> None:
        progress, started = self.progress, time.perf_counter() - self.progress.seconds
        self.model.train()
        steps = on_device(self.source.steps(epoch, progress.step), self.fabric.device)
        for step, batches in enumerate(steps, start=progress.step):
            loss, count = self._step(epoch, step, batches)
            progress.loss_sum += loss * count
            progress.loss_count += count
            progress.step = step + 1
            progress.seconds = time.perf_counter() - started
            self.callback.on_step_end(epoch, step + 1, loss)
            self._leave_if_asked()
        scores = self._evaluate(epoch)
        self._of_all_processes()
        self._leave_if_asked()
        recent = progress.recent
        if scores is not None and self.recipe.evaluation.smoothing > 1:
            recent = (*recent, scores.valid_score)[-self.recipe.evaluation.smoothing :]
            scores = scores.model_copy(update={"smoothed_score": _mean(recent)})
        better = scores is not None and self._is_better(scores)
        if self.fabric.is_global_zero:
            if better:
                save_model(self.run.model_file, self._trained(epoch))
            seconds = time.perf_counter() - started
            rate = self._learning_rate(epoch, len(self.source) - 1)
            row, layers = self.log.write(
                epoch, progress.loss_sum / max(progress.loss_count, 1), scores, rate, seconds, self.evaluated
            )
        self.progress = Progress(
            epoch=epoch,
            total_seconds=progress.total_seconds + time.perf_counter() - started,
            best=scores if better else progress.best,
            since_best=0 if better else progress.since_best + (scores is not None),
            recent=recent,
        )
        if self.fabric.is_global_zero:
            self._save_state()
            self.callback.on_epoch_end(row, layers, self.progress)

    def _step(self, epoch: int, step: int, batches: list[Counted]) -> tuple[float, int]:
        """One step of the optimizer; the loss over the batches of all processes, and the number of its labels.

        Loss and gradient are read once, at the end: by then a GPU has the whole step queued, and the
        next batches are being copied.
        """
        place = f"epoch {epoch}, step {step + 1}"
        for group in self.optimizer.param_groups:
            group["lr"] = self._learning_rate(epoch, step)
        labels = sum(count for _, count in batches)
        seed_torch(self.seed, "dropout", epoch, step, self.fabric.global_rank)
        self.stepper.zero_grad()
        sum_of_losses = torch.zeros((), dtype=torch.float64, device=self.fabric.device)
        for number, (data, count) in enumerate(batches, start=1):
            if self.recipe.training.drop_edge:
                data = drop_edges(data, self.recipe.training.drop_edge)
            # How many labels the other processes have is known after the step, and divided by then.
            share = count / max(labels, 1) if self.fabric.world_size == 1 else float(count)
            loss = self._backward(data, share, place, last=number == len(batches))
            sum_of_losses += loss.double() * count
        total, loss_sum = max(labels, 1), None
        if self.fabric.world_size > 1:  # whose gradients were averaged
            loss_sum, found = self._of_all_processes(float(sum_of_losses), labels)
            total = max(int(found), 1)
            torch._foreach_mul_(self._gradients(), self.fabric.world_size / total)
        norm = self._clip(place)
        self.stepper.step()
        if self.average is not None:
            self.average.update_parameters(self.model)
        own_sum, length = torch.stack([sum_of_losses, norm.to(sum_of_losses)]).tolist()
        if not math.isfinite(length):  # of a GPU, which has not changed its weights
            check_finite(self.model, data, loss, place)
            check_gradient(self.model, norm, place)
        return (own_sum if loss_sum is None else loss_sum) / total, total

    def _backward(self, data: GraphBatch, share: float, place: str, last: bool) -> Tensor:
        """The loss of a batch; its gradient, times ``share``, is added to the weights'."""
        ascents = self.recipe.training.flag_ascents

        def descend(ascent: int) -> Tensor:
            exchange = last and ascent == max(ascents, 1) - 1
            with self.fabric.no_backward_sync(self.wrapped, enabled=not exchange):
                with explained(self.model, place):
                    outputs, targets = labelled(data, self.wrapped(data))
                loss = self.loss(outputs.float(), targets, learned_weight(data))
                if loss.device.type == "cpu":
                    check_finite(self.model, data, loss, place)
                self.fabric.backward(loss * (share / max(ascents, 1)))
            return loss.detach()

        if not ascents:
            return descend(0)
        return flag_step(self.model, data.num_nodes, ascents, self.recipe.training.flag_step, descend)

    @property
    def evaluated(self) -> AnyNetwork:
        """The network that is evaluated and saved: with the average of the weights, where there is one."""
        if self.average is None:
            return self.model
        averaged = self.average.module
        assert isinstance(averaged, AnyNetwork)
        return averaged

    def _learning_rate(self, epoch: int, step: int) -> float:
        passed = epoch - 1 + step / len(self.source)
        return learning_rate(self.recipe.optimizer, passed, self.recipe.training.epochs)

    def _gradients(self) -> list[Tensor]:
        return [p.grad for p in self.model.parameters() if p.grad is not None]

    def _clip(self, place: str) -> Tensor:
        """The norm of the gradient; a gradient that is not finite is refused on a CPU, and left out by a GPU's step."""
        norm = get_total_norm(self._gradients())
        if norm.device.type == "cpu":
            check_gradient(self.model, norm, place)
        else:
            self.optimizer.found_inf = (~norm.isfinite()).float()  # type: ignore[attr-defined]  # read by a fused step
        if self.recipe.optimizer.clip is not None:
            clip_grads_with_norm_(self.model.parameters(), self.recipe.optimizer.clip, norm)
        return norm

    def _evaluate(self, epoch: int) -> Scores | None:
        if epoch % self.recipe.evaluation.every and epoch < self.recipe.training.epochs:
            return None
        network = self.evaluated.eval()
        with self.fabric.autocast():
            self.outputs = self.evaluation.outputs(network, device=self.fabric.device)
        return self.evaluation.scores(self.outputs, epoch, self.loss)

    def _trained(self, epoch: int) -> TrainedModel:
        """The network as it was evaluated last, calibrated where its loss makes its outputs no probabilities."""
        section, task, valid = self.recipe.loss, self.dataset.task, self.dataset.split["valid"]
        calibration = None
        if task.kind != "regression" and (section.balance or section.name == "auc-margin"):
            weight = self._loss_weight()
            prior = torch.ones(task.outputs) if weight is None else weight
            calibration = fit_calibration(task, self.outputs[valid], self.dataset.y[valid], prior)
        return TrainedModel(self.evaluated, self.recipe, self.run.info, epoch, calibration)

    def _is_better(self, new: Scores) -> bool:
        """By the validation score, then by the validation loss; the last epoch where there is neither.

        A score or loss that is not finite is worse than any other.
        """
        old = self.progress.best
        if old is None or new.valid_loss is None or old.valid_loss is None:
            return True
        if not (_is_finite(new) and _is_finite(old)):
            return _is_finite(new)
        now, before = new.deciding_score, old.deciding_score
        if now is None or before is None or now == before:
            return new.valid_loss < old.valid_loss
        return (now > before) == self.higher_is_better

    def _out_of_patience(self) -> bool:
        patience = self.recipe.training.patience
        return patience is not None and self.progress.since_best >= patience

    def _leave_if_asked(self) -> None:
        number = self._signal if self.fabric.world_size > 1 else self.signals.received
        if not number:
            return
        self._save_state()
        raise Interrupted(number, self.run.path, self.progress.epoch, self.progress.step)

    def _save_state(self) -> None:
        if self.fabric.is_global_zero:
            save_state(self.run.path / "state", self.progress, self.model, self.optimizer, self.average)

    def _of_all_processes(self, losses: float = 0.0, labels: float = 0.0) -> tuple[float, float]:
        """The sums over all processes, in one exchange that also tells them of a signal that any of them received."""
        if self.fabric.world_size == 1:
            return losses, labels
        mine = torch.tensor([losses, labels, self.signals.received], dtype=torch.float64)
        told = [torch.empty_like(mine) for _ in range(self.fabric.world_size)]
        torch.distributed.all_gather(told, mine)
        losses, labels, _ = torch.stack(told).sum(0).tolist()
        self._signal = int(max(float(one[2]) for one in told))
        return losses, labels

    def _fit_scale(self) -> None:
        for module in self.model.modules():
            if isinstance(module, Rescale):
                module.fit(self.train_targets)
            elif isinstance(module, DescriptorScale) and self.dataset.descriptors is not None:
                module.fit(self.dataset.descriptors[self.dataset.split["train"]])

    def _make_loss(self) -> LossFunction:
        section = self.recipe.loss
        margin = section.margin if section.name == "auc-margin" else None
        if margin is not None and (self.fabric.world_size > 1 or self.recipe.training.batch_size == 1):
            raise InputError(
                "loss.name: auc-margin compares the labels of one batch; expected one process and "
                "training.batch_size above 1"
            )
        return make_loss(self.dataset.task, self._loss_weight(), label_smoothing=section.label_smoothing, margin=margin)

    def _loss_weight(self) -> Tensor | None:
        regression = self.dataset.task.kind == "regression"
        balance = self.recipe.loss.balance or regression
        return balanced_weight(self.dataset.task, self.train_targets) if balance else None

    def _summary(self) -> Summary:
        best = self.progress.best
        assert best is not None
        return Summary(
            recipe=self.recipe.name,
            seed=self.seed,
            metric=self.dataset.task.metric,
            epochs=self.progress.epoch,
            best_epoch=best.epoch,
            train_score=best.train_score,
            valid_score=best.valid_score,
            test_score=best.test_score,
            parameters=self.run.info.parameters,
            seconds=self.progress.total_seconds,
        )


def _mean(scores: tuple[float | None, ...]) -> float | None:
    """The mean of scores; None where one of them is missing."""
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known and len(known) == len(scores) else None


def _is_finite(scores: Scores) -> bool:
    return all(value is None or math.isfinite(value) for value in (scores.valid_loss, scores.deciding_score))


def _evaluated_parts(dataset: Dataset, train: bool) -> tuple[str, ...]:
    """A task on nodes computes all parts together; graphs and links of train are scored where that is asked for."""
    return ("train", "valid", "test") if train or dataset.task.level == "node" else ("valid", "test")
