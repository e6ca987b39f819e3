"""The library works without the packages of the extra ``train``; the program says how to install them."""

import subprocess
import sys
import tomllib
from pathlib import Path

from deepergcn.extras import TRAIN

WITHOUT = """
import sys

class Hides:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in HIDDEN else self.finder.find_spec(name, path, target)

sys.meta_path = [Hides(finder) for finder in sys.meta_path]
"""

USES_THE_LIBRARY = """
import torch, torch_geometric.nn as pyg, deepergcn
from deepergcn import nn, ops
edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
x = torch.rand(3, 4)
mean = ops.mean(x, ops.Adjacency.from_edge_index(edges, 3))
nn.DyResGEN(4, 2, hidden_channels=8, num_layers=3)(x, edges).sum().backward()
theirs = pyg.GENConv(4, 4).eval()
expected = theirs(x, edges)
torch.testing.assert_close(nn.from_pyg(theirs)(x, edges), expected)
deepergcn.accelerate(theirs)
torch.testing.assert_close(theirs(x, edges), expected)
"""

NAMES_THE_EXTRA = """
for name in ("load", "train"):
    try:
        getattr(deepergcn, name)
    except ImportError as error:
        print(error)
from deepergcn.__main__ import main
try:
    main()
except SystemExit as left:
    print(left.code)
"""

IN_MEMORY = """
HIDDEN.clear()
HIDDEN.update(("pandas", "sklearn"))
from deepergcn.data.memory.graph import graph_tables, is_graph
from deepergcn.data.memory.molecules import molecule_table
deepergcn.train
assert molecule_table(["CCO", None], [1, 2]).table.to_pydict() == {"smiles": ["CCO", None], "target": [1, 2]}
assert not is_graph([1, 2])
try:
    deepergcn.NodeClassifier
except ImportError as error:
    print(error)
"""


def test_modules_operators_and_conversions_need_the_library_alone_and_the_rest_names_the_extra() -> None:
    """One process for all of it: most of its time is the import of torch and PyTorch Geometric.

    Data in memory comes last: it needs what was hidden before, but neither pandas nor scikit-learn.
    """
    script = f"HIDDEN = {set(TRAIN)!r}\n{WITHOUT}{USES_THE_LIBRARY}{NAMES_THE_EXTRA}{IN_MEMORY}"
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, "train"], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    *lines, code, in_memory = answer.stdout.splitlines()
    assert [line.partition(" needs ")[0] for line in lines] == ["deepergcn.load", "deepergcn.train"], answer.stderr
    assert all(line.endswith("; install the extra: pip install 'deepergcn[train]'") for line in lines)
    assert code == "2"
    assert answer.stderr.count("\n") == 1
    assert answer.stderr.startswith("error: the program deepergcn needs joblib, ")
    assert "pip install 'deepergcn[train]'" in answer.stderr
    needs = "deepergcn.NodeClassifier needs scikit-learn; install the extra: pip install 'deepergcn[sklearn]'"
    assert in_memory == needs


def test_the_extra_is_what_the_program_asks_for() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = {requirement.partition(">")[0] for requirement in project["optional-dependencies"]["train"]}
    # PyTorch and PyTorch Geometric bring the first as well; a forest alone needs the second, and names it.
    assert extra - {"jinja2", "scikit-learn"} == set(TRAIN.values())
    assert "deepergcn[train]" in project["optional-dependencies"]["dev"]
