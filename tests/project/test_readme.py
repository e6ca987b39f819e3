"""The README's code runs as it stands, its links lead somewhere, and every number in its tables is made from a file."""

import re
from typing import Any

import pytest
import torch_geometric.nn as pyg
from results.figures import _FIGURES

from tests.repository import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_block_for_users_of_pytorch_geometric_runs(capsys: pytest.CaptureFixture[str]) -> None:
    model = pyg.DeepGCNLayer(pyg.GENConv(8, 8), pyg.LayerNorm(8))
    names: dict[str, Any] = {"model": model}
    [block] = BLOCKS
    exec(compile(block, "README.md", "exec"), names)
    assert type(names["ours"]).__module__.startswith("deepergcn.")
    assert "modules on the fast path" in capsys.readouterr().out


def test_links_lead_to_files() -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", README):
        assert (ROOT / target).exists(), target


def test_every_table_is_made() -> None:
    made = re.sub(r"<!-- figure: [\w ]+ -->.*?<!-- end -->", "", README, flags=re.DOTALL)
    assert "|---|" not in made
    assert set(re.findall(r"<!-- figure: ([\w ]+) -->", README)) == {"speed", "scores"} <= set(_FIGURES)
    assert "](results/depth.svg)" in README


def test_it_is_short() -> None:
    assert len(README.splitlines()) < 150
