"""Two processes train to the same result as one with the same global batch."""

from pathlib import Path

import pytest
from safetensors.torch import load_file

from deepergcn.errors import InputError
from deepergcn.runs.run import Run
from deepergcn.training.forests.taught import FILE, MOLECULES
from deepergcn.training.train import train
from tests.training.small import molecule_settings, molecules, network, network_settings
from tests.training.torchrun import torchrun

LOSSES = ("train_loss", "valid_loss", "test_loss")


def assert_close(one: Run, two: Run, tolerance: float) -> None:
    """The losses of all epochs agree. Sums are in another order, and Adam carries their rounding errors on."""
    for left, right in zip(one.metrics(), two.metrics(), strict=True):
        for name in LOSSES:
            assert left[name] == pytest.approx(right[name], rel=tolerance), (name, left["epoch"])
    weights, others = load_file(one.model_file), load_file(two.model_file)
    assert {name: weight.shape for name, weight in weights.items()} == {n: w.shape for n, w in others.items()}


def test_two_processes_share_batches_of_graphs_and_their_normalization(tmp_path: Path) -> None:
    # 20 graphs in batches of 7: the last has 6, and one of the labels is missing. The gradient of a bias before batch
    # normalization is 0 but for rounding, which Adam would make a step of full length, was its eps as small as usual:
    # nothing in training sees that, but the running means lag behind it.
    settings = molecule_settings(
        molecules(tmp_path), "model.dropout=0", "training.batch_size=7", "training.epochs=3", "optimizer.eps=0.01"
    )
    one = train("solubility", settings=settings, out=tmp_path / "one")
    two = train("solubility", settings=settings, out=tmp_path / "two", devices=2)
    assert_close(one, two, 1e-5)


def test_torchrun_shares_partitions_and_goes_on_with_a_run(tmp_path: Path) -> None:
    # 5 partitions, 2 in a step: the last step has one, and one process has nothing to learn from.
    settings = network_settings(
        network(tmp_path), "model.dropout=0", "training.partitions=5", "training.batch_size=2", "training.epochs=3"
    )
    one = train("yeast-proteins", settings=settings, out=tmp_path / "one")
    torchrun(tmp_path / "two", "new", *settings, "training.epochs=2")
    torchrun(tmp_path / "two", "resume")
    assert_close(one, Run.open(tmp_path / "two"), 1e-4)


def test_too_few_graphs_or_partitions_for_the_processes_are_refused_in_one_line(tmp_path: Path) -> None:
    settings = network_settings(network(tmp_path), "training.batch_size=1")
    with pytest.raises(InputError, match=r"training.batch_size is 1 and there are 4 partitions; expected at least 2"):
        train("yeast-proteins", settings=settings, out=tmp_path / "run", devices=2)


def test_more_devices_than_there_are_are_refused(tmp_path: Path) -> None:
    settings = molecule_settings(molecules(tmp_path))
    with pytest.raises(InputError, match=r"--devices is 4096; this machine has \d+"):
        train("solubility", settings=settings, out=tmp_path / "a", devices=4096)


def test_two_processes_are_taught_the_same_as_one(tmp_path: Path) -> None:
    # 20 graphs and 7 new ones in batches of 13: the last has one, and one process repeats it without learning from it.
    settings = molecule_settings(
        molecules(tmp_path),
        "data.descriptors=[maccs]",
        "model.descriptors=false",
        "model.dropout=0",
        "teacher={folds: 4, trees: 5, recombined: 7}",
        "training.batch_size=13",
        "training.epochs=2",
        "optimizer.eps=0.01",  # as above
    )
    one = train("solubility", settings=settings, out=tmp_path / "one")
    two = train("solubility", settings=settings, out=tmp_path / "two", devices=2)
    for file in (FILE, MOLECULES):
        assert (one.path / file).read_bytes() == (two.path / file).read_bytes()
    losses = [[row["train_loss"] for row in run.metrics()] for run in (one, two)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
