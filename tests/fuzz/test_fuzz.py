"""A sample of the hostile inputs; ``python -m tests.fuzz`` goes on for as long as one likes."""

import pytest

from tests.fuzz.__main__ import attack
from tests.fuzz.calls import FLAGS, OPTIONS
from tests.fuzz.runs import KEYS


def test_hostile_inputs_end_in_a_success_or_a_clean_error() -> None:
    said: list[str] = []
    counts = attack(0, cases=121, new_process=120, tell=said.append)
    if counts.verdicts["other"]:
        pytest.fail("\n".join([*said, str(counts)]))
    assert counts.verdicts["clean error"] > counts.verdicts["success"] > 0


def test_every_key_of_a_recipe_is_attacked() -> None:
    assert {"model.num_layers", "data.inputs.task.outputs", "training.epochs", "published.score"} <= set(KEYS)


def test_every_option_of_every_command_is_attacked() -> None:
    assert {"train", "predict", "explain", "tune", "convert", "datasets"} <= set(OPTIONS)
    assert ("--unseen", True) in OPTIONS["predict"]
    assert ("--tensorboard", False) in OPTIONS["train"]
    assert {"--positive", "--split-fractions", "--descriptors", "--runs"} <= set(FLAGS)
