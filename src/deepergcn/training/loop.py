"""The training loop: steps, epochs, evaluation, and the saved state."""

import math
import time
from collections import deque

import torch
from lightning_fabric import Fabric
from torch import Tensor

from deepergcn.data.dataset import Dataset
from deepergcn.errors import InputError
from deepergcn.nn.descriptors import DescriptorScale
from deepergcn.runs.callbacks import Callback
from deepergcn.runs.log import RunLog
from deepergcn.runs.model.model_file import TrainedModel, save_model
from deepergcn.runs.model.network import AnyNetwork, Rescale
from deepergcn.runs.run import Run, Summary
from deepergcn.runs.state import Progress, Scores, resume_state, save_state
from deepergcn.training.forests.taught import Taught
from deepergcn.training.processes.exchange import gather
from deepergcn.training.scoring.calibrate import fit_calibration
from deepergcn.training.scoring.evaluation import Evaluation
from deepergcn.training.scoring.losses import LossFunction, balanced_weight, make_loss
from deepergcn.training.scoring.metrics import make_metric
from deepergcn.training.signals import Interrupted, Signals
from deepergcn.training.stepper import Launched, Stepper
from deepergcn.training.steps import training_batches


class Loop:
    """Training of one run in one process of ``fabric``.

    Args:
        fabric: the processes and devices.
        run: the run directory, with its recipe.
        dataset: the dataset.
        model: the network, with its initial weights.
        callback: called as training proceeds.
        signals: the signals that stop the run.
        taught: what the network is taught by the teacher of the recipe, if it has one.
    """

    def __init__(
        self,
        fabric: Fabric,
        run: Run,
        dataset: Dataset,
        model: AnyNetwork,
        callback: Callback,
        signals: Signals,
        taught: Taught | None = None,
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
        lessons, said = (dataset, None) if taught is None else taught.lessons(dataset, self.recipe)
        self.source = training_batches(lessons, self.recipe.training, self.seed, rank, world, self.recipe.links)
        parts = _evaluated_parts(dataset, self.recipe.evaluation.train)
        self.evaluation = Evaluation(dataset, self.recipe, self.seed, parts, rank, world, fabric.device)
        self.stepper = Stepper(
            fabric, self.recipe, self.seed, model, self.loss, self.source, self._of_all_processes, said
        )
        # After the model has moved: the moments of the optimizer go where the parameters are.
        self.progress = resume_state(run.path, model, self.stepper.optimizer, self.stepper.average)
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
        waiting: deque[Launched] = deque()
        for step, batches in enumerate(self.stepper.batches(epoch, progress.step), start=progress.step):
            waiting.append(self.stepper.launch(epoch, step, batches))
            self._take_in(waiting, self.stepper.lag, started)
            if number := self._received():
                self._take_in(waiting, 0, started)
                self._leave(number)
        self._take_in(waiting, 0, started)
        scores = self._evaluate(epoch)
        self._of_all_processes()
        if number := self._received():
            self._leave(number)
        recent = progress.recent
        if scores is not None and self.recipe.evaluation.smoothing > 1:
            recent = (*recent, scores.valid_score)[-self.recipe.evaluation.smoothing :]
            scores = scores.model_copy(update={"smoothed_score": _mean(recent)})
        better = scores is not None and self._is_better(scores)
        if self.fabric.is_global_zero:
            self._check_folder()
            if better:
                save_model(self.run.model_file, self._trained(epoch))
            seconds = time.perf_counter() - started
            rate = self.stepper.learning_rate(epoch, len(self.source) - 1)
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

    def _take_in(self, waiting: deque[Launched], left: int, started: float) -> None:
        """Read what was launched, the oldest first, until ``left`` are waiting."""
        progress = self.progress
        while len(waiting) > left:
            launched = waiting.popleft()
            loss = self.stepper.read(launched)
            progress.loss_sum += loss * launched.labels
            progress.loss_count += launched.labels
            progress.step = launched.step + 1
            progress.seconds = time.perf_counter() - started
            self.callback.on_step_end(launched.epoch, progress.step, loss)

    @property
    def evaluated(self) -> AnyNetwork:
        """The network that is evaluated and saved: with the average of the weights, where there is one."""
        if self.stepper.average is None:
            return self.model
        averaged = self.stepper.average.module
        assert isinstance(averaged, AnyNetwork)
        return averaged

    def _evaluate(self, epoch: int) -> Scores | None:
        if epoch % self.recipe.evaluation.every and epoch < self.recipe.training.epochs:
            return None
        network = self.evaluated.eval()
        with self.fabric.autocast():
            self.outputs = self.evaluation.outputs(network)
        return self.evaluation.scores(self.outputs, epoch, self.loss)

    def _trained(self, epoch: int) -> TrainedModel:
        """The network as it was evaluated last, calibrated if its loss does not yield probabilities."""
        section, task, valid = self.recipe.loss, self.dataset.task, self.dataset.split["valid"]
        teacher, calibration = self.recipe.teacher, None
        shifted = section.balance or section.name == "auc-margin" or (teacher is not None and not teacher.calibrate)
        if task.kind != "regression" and shifted:
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

    def _received(self) -> int:
        """The signal that this process, or any of several, received; 0 if there is none."""
        return self._signal if self.fabric.world_size > 1 else self.signals.received

    def _check_folder(self) -> None:
        """Check that the run is still in its place: in a folder made anew no run could be opened."""
        if not (self.run.path / "run.json").exists():
            raise InputError(
                f"{self.run.path}: was moved or removed while the run was training; expected it to stay (train "
                "--resume --out FOLDER continues one that was moved, from its last epoch)"
            )

    def _leave(self, number: int) -> None:
        if self.fabric.is_global_zero:
            self._check_folder()
        self._save_state()
        when = f"in epoch {self.progress.epoch + 1} after {self.progress.step} of its steps"
        raise Interrupted(number, self.run.path, when)

    def _save_state(self) -> None:
        if self.fabric.is_global_zero:
            stepper = self.stepper
            save_state(self.run.path / "state", self.progress, self.model, stepper.optimizer, stepper.average)

    def _of_all_processes(self, losses: float = 0.0, labels: float = 0.0) -> tuple[float, float]:
        """The sums over all processes, in one exchange that also tells them of a signal that any of them received."""
        if self.fabric.world_size == 1:
            return losses, labels
        told = gather(torch.tensor([losses, labels, self.signals.received], dtype=torch.float64))
        losses, labels, _ = told.sum(0).tolist()
        self._signal = int(told[:, 2].max())
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
        teacher = self.recipe.teacher
        return make_loss(
            self.dataset.task,
            self._loss_weight(),
            label_smoothing=section.label_smoothing,
            margin=margin,
            teacher_share=0.0 if teacher is None else teacher.share,
        )

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
    """A task on nodes computes all parts together; graphs and links of train are scored where that is asked for.

    Train nodes whose labels are inputs are not scored: the network would only repeat them.
    """
    scored = (train or dataset.task.level == "node") and dataset.label_columns is None
    return ("train", "valid", "test") if scored else ("valid", "test")
