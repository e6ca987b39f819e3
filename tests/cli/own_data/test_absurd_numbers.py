"""Numbers that cannot be meant: one clear line each, before anything is written."""

import os
from pathlib import Path

import pytest

from tests.cli.program import Program
from tests.training.trained import make_run, molecule_file, small_recipe

BIG = 10**11
CORES = os.cpu_count() or 1
OWN = ("train", "--molecules", "binary.csv", "--target", "target", "--out", "out")
STUDY = ("reproduce", "table-1", "--layers", 3, "--out", "out")
TUNE = ("tune", "--molecules", "binary.csv", "--target", "target", "--trials", 1, "--out", "out")
PREDICT = ("predict", "run", "binary.csv", "-o", "out")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((*OWN, "--folds", 1), "--folds is 1; expected from 2 to 1000"),
        ((*OWN, "--folds", BIG), f"--folds is {BIG}; expected from 2 to 1000"),
        ((*OWN, "--runs", BIG), f"--runs is {BIG}; expected from 1 to 10000"),
        ((*OWN, "--seed", 10**30), f"seed is {10**30}; expected a whole number from 0 to 2^63 - 1"),
        ((*OWN, "--runs", 2, "--seed", 10**30), f"--seed is {10**30}; expected a whole number from 0 to 2^63 - 1"),
        ((*OWN, "--split-seed", -1), "seed is -1; expected an integer of at least 0"),
        ((*OWN, "--epochs", BIG), f"own-molecules: training.epochs is {BIG}; Input should be less than 2147483648"),
        (
            (*OWN, "--set", f"training.batch_size={BIG}"),
            f"training.batch_size is {BIG}; Input should be less",
        ),
        ((*OWN, "--set", f"evaluation.every={BIG}"), f"own-molecules: evaluation.every is {BIG}; Input should be less"),
        ((*OWN, "--set", "optimizer.eps=1.0e-320"), "own-molecules: optimizer.eps is 1e-320; Input should be greater"),
        ((*OWN, "--set", "training.flag_step=1.0e+300"), "training.flag_step is 1e+300; Input should be less than or"),
        ((*OWN, "--set", f"blend.min_leaf={10**30}"), f"blend.min_leaf is {10**30}; Input should be less than"),
        ((*OWN, "--set", "model.beta=1.0e+308"), "beta: expected a number that float32 can hold, got 1e+308"),
        ((*OWN, "--set", "evaluation.metrics=[rmse]"), "task metric is 'rmse'; expected rocauc or ap or"),
        ((*OWN, "--devices", BIG), f"--devices is {BIG}; this machine has "),
        ((*STUDY, "--seeds", BIG), f"--seeds is {BIG}; expected from 1 to 10000"),
        ((*STUDY, "--first-seed", 10**30), f"--first-seed is {10**30}; expected a whole number from 0 to 2^63 - 1"),
        ((*STUDY, "--jobs", BIG), f"--jobs is {BIG}; expected from 1 to {4 * CORES}, 4 for every core"),
        ((*STUDY, "--threads", BIG), f"--threads is {BIG}; expected from 1 to {CORES}, one for every core"),
        ((*STUDY, "--epochs", BIG), f"training.epochs is {BIG}; Input should be less than 2147483648"),
        ((*STUDY[:2], "--layers", BIG), f"model.num_layers is {BIG}; Input should be less than or equal to 10000"),
        ((*PREDICT, "--jobs", BIG), f"--jobs is {BIG}; expected from 1 to {4 * CORES}, 4 for every core"),
        ((*PREDICT, "--shard", f"1/{'9' * 5000}"), "expected i/n with i from 1 to n, such as 1/4"),
        ((*TUNE, "--trials", BIG), f"--trials is {BIG}; expected from 1 to 10000, or --minutes"),
        ((*TUNE, "--seed", 10**30), f"--seed is {10**30}; expected a whole number from 0 to 2^63 - 1"),
        ((*PREDICT, "--jobs", 0), f"--jobs is 0; expected from 1 to {4 * CORES}, 4 for every core"),
    ],
)
def test_it_is_one_line(
    arguments: tuple[object, ...],
    expected: str,
    deepergcn: Program,
    tmp_path: Path,
) -> None:
    file = molecule_file(tmp_path, "binary")
    if arguments[0] == "predict":
        make_run(tmp_path, small_recipe(file, targets=["target"]))
    before = set(tmp_path.iterdir())
    answer = deepergcn(*arguments)
    assert answer.code == 2
    *_, last = answer.err.splitlines()  # warnings about the file may stand before it
    assert last.startswith("error: ")
    assert expected in last
    assert answer.err.count("error: ") == 1
    assert set(tmp_path.iterdir()) - before <= {tmp_path / "data"}  # the cache of what was read
