"""The README's code runs as it stands, and the program knows every command and option that it shows."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import torch_geometric.nn as pyg
import typer
from torch_geometric.data import Batch

from deepergcn.cli.main import app
from deepergcn.data import load_dataset
from tests.cli.program import Program
from tests.data.tables.shop import shop
from tests.repository import ROOT
from tests.training.trained import make_run, molecule_file, small_recipe

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = re.findall(r"^    (?:torchrun .* -m )?deepergcn (.*)$", README, re.MULTILINE)


def run(block: str, **names: Any) -> dict[str, Any]:
    """The names after the block, which may use these."""
    exec(compile(block, "README.md", "exec"), names)
    return names


def test_no_block_is_forgotten() -> None:
    assert len(BLOCKS) == 4


def test_a_trained_network_predicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_run(tmp_path, small_recipe(molecule_file(tmp_path), targets=["target"]))
    (tmp_path / "runs").mkdir()
    path.rename(tmp_path / "runs" / "mine")
    monkeypatch.chdir(tmp_path)
    assert run(BLOCKS[0])["model"].task.outputs == 3


def test_the_ten_lines_train_a_network(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(BLOCKS[1])["loss"].isfinite()
    assert capsys.readouterr().out.startswith("{'beta': ")


def test_a_network_for_molecules() -> None:
    dataset = load_dataset("solubility")
    batch = Batch.from_data_list([dataset.graph(i) for i in range(4)])
    assert run(BLOCKS[2], batch=batch)["out"].shape == (4, 1)


def test_networks_of_pytorch_geometric(capsys: pytest.CaptureFixture[str]) -> None:
    model = pyg.DeepGCNLayer(pyg.GENConv(8, 8), pyg.LayerNorm(8))
    ours = run(BLOCKS[3], model=model)["ours"]
    assert type(ours).__module__.startswith("deepergcn.")
    assert "modules on the fast path" in capsys.readouterr().out


def test_the_commands_for_typed_tables_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As they stand, with a small network."""
    shop(tmp_path)
    monkeypatch.chdir(tmp_path)
    program = Program(monkeypatch, capsys)
    example = README.partition("<!-- example: typed -->")[2].partition("<!-- end -->")[0]
    training, prediction = (shlex.split(line)[1:] for line in example.strip().splitlines())
    small = ("--epochs", "2", "--set", "model.num_layers=2", "--set", "model.hidden_channels=8")
    assert program(*training, *small).code == 0
    assert program(*prediction).code == 0
    assert len((tmp_path / "happy.csv").read_text().splitlines()) == 61


@pytest.mark.parametrize("line", COMMANDS)
def test_the_program_knows_the_command(line: str) -> None:
    """Only parsed: nothing is read or trained."""
    program = typer.main.get_command(app)
    name, *arguments = shlex.split(line, comments=True)
    context = typer.Context(program)
    command = program.get_command(context, name)  # type: ignore[attr-defined]
    assert command is not None, name
    command.make_context(name, arguments, parent=context)
