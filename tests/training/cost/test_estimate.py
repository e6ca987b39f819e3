"""What a run takes: the line through shallow readings, the budget, and the refusal of what cannot fit."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from deepergcn.errors import InputError
from deepergcn.recipes.load import load_recipe
from deepergcn.runs.callbacks import Callback
from deepergcn.runs.dataset import load_data
from deepergcn.training import prepare
from deepergcn.training.cost import estimate as costs
from deepergcn.training.cost import refuse
from deepergcn.training.cost.estimate import Cost, is_small, time_text
from deepergcn.training.cost.probe import Probe, Reading
from deepergcn.training.train import plan_cost, train
from tests.training.small import molecule_settings, molecules, network, network_settings, repeatable

MB = 10**6


def test_what_is_kept_grows_in_a_line_and_the_generator_stays(path: Path) -> None:
    recipe = load_recipe("yeast-proteins", network_settings(path))
    probe = Probe(recipe, load_data(recipe))
    torch.manual_seed(3)
    before = torch.get_rng_state()
    saved = [probe.read(layers, 0.0).saved for layers in (2, 3, 5)]
    assert torch.equal(before, torch.get_rng_state())
    assert saved[2] - saved[1] == 2 * (saved[1] - saved[0]) > 0
    assert (probe.steps, probe.evaluated) == (4, 4)  # two partitions, two draws


@pytest.mark.parametrize(
    ("batch_size", "recombined", "steps", "full_steps"),
    [(7, 0, 3, 20 / 7), (20, 0, 1, 1.0), (64, 0, 1, 1.0), (7, 10, 5, 30 / 7), (64, 10, 1, 1.0)],
)
def test_a_small_last_batch_takes_its_share_of_a_step(
    batch_size: int, recombined: int, steps: int, full_steps: float, tmp_path: Path
) -> None:
    new = (f"teacher.recombined={recombined}",) if recombined else ()
    settings = molecule_settings(molecules(tmp_path), f"training.batch_size={batch_size}", *new)
    recipe = load_recipe("solubility", settings)
    probe = Probe(recipe, load_data(recipe))
    assert probe.steps == steps
    assert probe.full_steps == pytest.approx(full_steps)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return network(tmp_path_factory.mktemp("data"))


def cost(path: Path, *settings: str, available: int = 10**10, disturbed: float = 0.0) -> Cost:
    """Of a made-up network: 1 s and 10 MB a layer, 5 MB beside the layers, and 500 MB of the process before.

    The shallow network was ``disturbed`` for some seconds.
    """
    recipe = load_recipe("yeast-proteins", network_settings(path, "model.num_layers=100", *settings))
    readings = [
        Reading(layers, 0, 1.0 * layers, 0.25 * layers, 0.0, 10 * MB * layers, (10 * layers + 5) * MB, 20 * MB)
        for layers in (2, 4)
    ]
    readings[0] = replace(readings[0], step=readings[0].step + disturbed)
    probe = SimpleNamespace(
        dataset=load_data(recipe),
        first_draw=3.0,
        later_draw=1.0,
        steps=4,
        full_steps=4.0,
        evaluated=2,
        draw=1.0,
        score=2.0,
        nodes=31_250,  # with 8 channels an input of 1 MB
        seen=SimpleNamespace(num_nodes=31_250),
        base=500 * MB,
    )
    return costs._Line(recipe, probe, readings, 1_000).cost(available, 1)  # type: ignore[arg-type]


def test_times_and_bytes_of_the_whole_depth(path: Path) -> None:
    found = cost(path)
    assert found.step == pytest.approx(100)
    assert found.epoch == pytest.approx(3 + 3 * 1 + 4 * 100 + 2 * (1 + 25) + 2)
    assert found.run == pytest.approx(4 * found.epoch)
    assert found.memory == pytest.approx(1505 * MB, rel=0.01)  # the weights are few
    assert found.fits
    assert found.segments == ()


def test_a_disturbed_reading_does_not_make_layers_free(path: Path) -> None:
    assert cost(path, disturbed=10.0).step == pytest.approx(4 + 96 / 2)


def test_a_budget_recomputes_layers_and_says_how_many(path: Path) -> None:
    found = cost(path, "training.memory=1GB")
    assert 0 < sum(found.segments) < 100
    assert found.memory <= 10**9
    assert found.step == pytest.approx(100 + 0.25 * sum(found.segments))
    assert f"{sum(found.segments)} layers recomputed" in found.line()
    assert cost(path, "training.memory=2GB").segments == ()


def test_a_budget_that_nothing_fits_names_the_smallest_that_would(path: Path) -> None:
    with pytest.raises(
        InputError, match=r"training.memory is 300MB; this network needs at least about \d+MB; more"
    ) as error:
        cost(path, "training.memory=300MB")
    least = int(str(error.value).split("about ")[1].split("MB")[0])
    assert cost(path, f"training.memory={least}MB").memory <= least * MB
    with pytest.raises(InputError, match="needs at least"):
        cost(path, f"training.memory={least - 3}MB")


def test_a_budget_beside_checkpoint_is_refused(path: Path) -> None:
    with pytest.raises(InputError, match=r"training.memory: cannot be combined with model.checkpoint"):
        cost(path, "training.memory=1GB", "model.checkpoint=true")


def test_what_does_not_fit_says_what_to_change(path: Path) -> None:
    found = cost(path, available=1_000 * MB)
    assert not found.fits
    assert "training.partitions=9" in found.advice()  # 4 of 1005 MB now, beside 500 of the process
    assert "training.memory=1.0GB" in found.advice()
    assert "RevGEN" in found.advice()


def test_a_run_that_cannot_fit_is_refused_before_anything_is_written(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = network_settings(path)
    monkeypatch.setattr(refuse, "is_small", lambda *given: False)
    monkeypatch.setattr(costs, "available_memory", lambda: 0)
    monkeypatch.setattr(costs, "resident_memory", lambda: 10 * MB)
    with pytest.raises(InputError, match="it does not fit: expected"):
        train("yeast-proteins", settings=settings, out=tmp_path / "run")
    assert not (tmp_path / "run" / "run.json").exists()


def test_a_network_whose_weights_cannot_fit_is_never_built(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "Probe", lambda *given, **more: pytest.fail("was built"))
    settings = network_settings(path, "model.hidden_channels=65536")
    monkeypatch.setattr(costs, "_rough_memory", lambda *given: 0)
    with pytest.raises(InputError, match=r"the [\d,]+ parameters of recipe yeast-proteins, with gradients"):
        train("yeast-proteins", settings=settings, out=tmp_path / "run")
    assert not (tmp_path / "run" / "run.json").exists()


def test_neither_the_probe_nor_recomputed_segments_change_the_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = molecule_settings(molecules(tmp_path), "model.virtual_node=true", "training.epochs=2")
    plain = train("solubility", settings=settings, out=tmp_path / "plain")
    lines: list[str] = []

    class Listening(Callback):
        def on_plan(self, line: str) -> None:
            lines.append(line)

    def with_segments(*given: Any) -> tuple[int, ...]:
        refuse.foresee(*given)
        return (2,)

    monkeypatch.setattr(refuse, "is_small", lambda *given: False)
    monkeypatch.setattr(prepare, "foresee", with_segments)
    probed = train("solubility", settings=settings, out=tmp_path / "probed", callbacks=[Listening()])
    assert repeatable(plain) == repeatable(probed)
    assert len(lines) == 1
    assert lines[0].startswith("plan: about ")


def test_small_runs_are_not_probed(path: Path) -> None:
    recipe = load_recipe("yeast-proteins", network_settings(path))
    assert is_small(recipe, load_data(recipe))
    deep = load_recipe("yeast-proteins", network_settings(path, "training.epochs=100000"))
    assert not is_small(deep, load_data(deep))


def test_plan_of_a_recipe(path: Path) -> None:
    found = plan_cost("yeast-proteins", settings=network_settings(path))
    assert 0 < found.step < found.epoch < found.run
    assert 0 < found.disk < found.memory
    assert "forests" not in found.line()


def test_a_plan_says_that_it_has_no_forests(tmp_path: Path) -> None:
    settings = molecule_settings(molecules(tmp_path), "data.descriptors=[maccs]", "teacher.trees=5")
    assert " in all, without its forests, " in plan_cost("solubility", settings=settings).line()


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.123, "0.12 s"), (42, "42 s"), (600, "10 min"), (7_200, "2 h 00 min"), (1e6, "12 days")]
)
def test_times_are_told_as_people_say_them(seconds: float, text: str) -> None:
    assert time_text(seconds) == text
