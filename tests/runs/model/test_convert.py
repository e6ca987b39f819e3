"""The authors' checkpoints of every task become networks with their parameter counts and their outputs."""

import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

import deepergcn
from deepergcn.categories import ATOM_SIZES_2020, BOND_SIZES
from deepergcn.errors import InputError
from deepergcn.nn import DeeperGCN, num_parameters
from deepergcn.nn.networks.authors import from_authors
from deepergcn.ops import Adjacency
from deepergcn.runs.model.convert import convert
from deepergcn.runs.model.model_file import load_model
from tests.cli.program import Program
from tests.runs.model.authors import Network

EDGES = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])
BATCH = torch.tensor([0, 0, 0, 1, 1])

TASKS: dict[str, tuple[dict[str, Any], int]] = {
    "ogbn-proteins": (
        {"layers": 112, "channels": 64, "mlp_layers": 2, "norm": nn.LayerNorm, "outputs": 112, "learn_t": True}
        | {"nodes": 16, "edges": 8},
        2_374_568,
    ),
    "ogbn-arxiv": (
        {"layers": 28, "channels": 128, "mlp_layers": 1, "norm": nn.BatchNorm1d, "outputs": 40, "t": 0.1, "nodes": 128},
        491_176,
    ),
    "ogbn-products": (
        {"layers": 14, "channels": 128, "mlp_layers": 1, "norm": nn.BatchNorm1d, "outputs": 47, "t": 0.1, "nodes": 100},
        253_743,
    ),
    "ogbg-ppa": (
        {"layers": 28, "channels": 128, "mlp_layers": 2, "norm": nn.LayerNorm, "outputs": 37, "t": 0.01}
        | {"nodes": 7, "edges": 7},
        2_336_421,
    ),
    "ogbg-molhiv": (
        {"layers": 7, "channels": 256, "mlp_layers": 1, "norm": nn.BatchNorm1d, "outputs": 1, "learn_t": True}
        | {"nodes": ATOM_SIZES_2020, "edges": BOND_SIZES},
        531_976,
    ),
    "ogbg-molpcba": (
        {"layers": 14, "channels": 256, "mlp_layers": 2, "norm": nn.BatchNorm1d, "outputs": 128, "t": 0.1}
        | {"virtual": True, "nodes": ATOM_SIZES_2020, "edges": BOND_SIZES},
        5_550_208,
    ),
}


def features(widths: Any, rows: int) -> Tensor | None:
    if widths is None:
        return None
    if isinstance(widths, int):
        return torch.rand(rows, widths)
    return torch.stack([torch.randint(0, size, (rows,)) for size in widths], dim=1)


def checkpoint(path: Path, model: nn.Module, **others: Any) -> Path:
    """A file as their ``save_ckpt`` writes it."""
    torch.save({"epoch": 17, "model_state_dict": model.state_dict(), "loss": 0.5, **others}, path)
    return path


def small(path: Path, **changes: Any) -> tuple[Path, Path, Network]:
    """A small checkpoint like that of ogbg-molhiv, the recipe that it fits, and its network."""
    torch.manual_seed(0)
    model = Network("ogbg-molhiv", **{**TASKS["ogbg-molhiv"][0], "layers": 2, "channels": 8, **changes}).eval()
    recipe = path / "small.yaml"
    recipe.write_text("base: ogbg-molhiv\nname: small\nmodel: {num_layers: 2, hidden_channels: 8}\n")
    return checkpoint(path / "best.pth", model), recipe, model


@pytest.mark.parametrize("task", TASKS)
def test_parameters_and_outputs_are_theirs(task: str, tmp_path: Path) -> None:
    options, parameters = TASKS[task]
    torch.manual_seed(0)
    theirs = Network(task, **options).eval()
    for module in theirs.modules():
        if isinstance(module, nn.BatchNorm1d) and module.running_mean is not None:
            module.running_mean.uniform_(-1, 1)
    file, info = convert(checkpoint(tmp_path / "best.pth", theirs), task, tmp_path / "model.safetensors")
    assert info.parameters == parameters
    ours = load_model(file)
    assert ours.epoch == 17
    x, edge = features(options["nodes"], 5), features(options.get("edges"), 6)
    assert x is not None
    with torch.no_grad():
        expected = theirs(x, Adjacency.from_edge_index(EDGES, 5), edge, BATCH)
        assert_close(ours.model(x, EDGES, edge, BATCH), expected, rtol=1e-4, atol=1e-4)


def test_the_encoder_of_ogbl_collab() -> None:
    torch.manual_seed(0)
    theirs = Network(
        "ogbl-collab", layers=7, channels=128, mlp_layers=1, norm=nn.BatchNorm1d, outputs=None, learn_t=True
    ).eval()
    ours = DeeperGCN(None, None, hidden_channels=128, num_layers=7, mlp_layers=1, learn_beta=True).eval()
    assert num_parameters(ours) == 117_383
    parallel = {f"module.{name}": value for name, value in theirs.state_dict().items()}
    ours.load_state_dict(from_authors(parallel, ours))
    x = torch.rand(5, 128)
    assert_close(ours(x, EDGES), theirs(x, Adjacency.from_edge_index(EDGES, 5), None, BATCH), rtol=1e-4, atol=1e-5)


def test_message_scale_and_degree_scaling() -> None:
    ours = DeeperGCN(None, None, hidden_channels=4, num_layers=1, mlp_layers=1, msg_norm=True, learn_s=False, y=0.5)
    tensors = {f"gcns.0.mlp.0.{name}": value for name, value in ours.layers[0].conv.mlp[0].state_dict().items()}  # type: ignore[union-attr,index]
    tensors |= {f"norms.0.{name}": value for name, value in ours.norm.state_dict().items()}  # type: ignore[union-attr]
    tensors |= {"gcns.0.msg_norm.msg_scale": torch.ones(1), "gcns.0.y": torch.zeros(1)}
    assert_close(from_authors(tensors, ours), dict(ours.state_dict()))
    with pytest.raises(InputError, match=r"gcns.0.y stands for 0\.731059; the network keeps it at 0.5"):
        from_authors(tensors | {"gcns.0.y": torch.ones(1)}, ours)
    learned = DeeperGCN(None, None, hidden_channels=4, num_layers=1, mlp_layers=1, msg_norm=True, learn_y=True)
    state = from_authors(tensors | {"gcns.0.y": torch.ones(1)}, learned)
    assert float(state["layers.0.conv.aggregation.y"]) == pytest.approx(0.731059)


def test_the_program_makes_a_run_that_predicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = Program(monkeypatch, capsys)
    file, recipe, theirs = small(tmp_path)
    answer = program("convert", file, "--recipe", recipe, "--out", tmp_path / "run")
    parameters = sum(value.numel() for value in theirs.parameters())
    assert answer.code == 0, answer.err
    assert (
        answer.out.splitlines()[0]
        == f"{tmp_path / 'run' / 'model.safetensors'}: {parameters:,} parameters, for ogbg-molhiv"
    )
    model = deepergcn.load(tmp_path / "run")
    x, edge = features(ATOM_SIZES_2020, 5), features(BOND_SIZES, 6)
    assert x is not None
    assert_close(model.network(x, EDGES, edge, BATCH), theirs(x, Adjacency.from_edge_index(EDGES, 5), edge, BATCH))
    again = program("convert", file, "--recipe", recipe, "--out", tmp_path / "run")
    assert again.code == 2
    assert again.err == f"error: {tmp_path / 'run'}: exists already; expected another --out\n"


class Hostile:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return Path.touch, (Path("hostile-was-here"),)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("changes", "content", "message"),
    [
        ({}, b"not a checkpoint", "best.pth: is not a checkpoint of tensors and plain values"),
        ({}, pickle.dumps(Hostile()), "best.pth: is not a checkpoint of tensors and plain values"),
        (
            {"layers": 1},
            None,
            r"best.pth: has no weight gcns.1.edge_encoder.bond_embedding_list.0.weight.*\(recipe small\)",
        ),
        ({"layers": 3}, None, "best.pth: has the weight gcns.2.edge_encoder.bond_embedding_list.0.weight, which the"),
        ({"channels": 16}, None, r"the weight .* is float32 \[173, 16\]; the network expects float32 \[173, 8\]"),
        ({"learn_t": False}, None, "has no weight gcns.0.t, which the network needs as layers.0.conv.aggregation.beta"),
    ],
)
def test_bad_checkpoints_are_one_clear_error(
    changes: dict[str, Any], content: bytes | None, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file, recipe, _ = small(tmp_path, **changes)
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError, match=message):
        convert(file, recipe, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert not (tmp_path / "hostile-was-here").exists()


def test_a_hostile_archive_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _, recipe, _ = small(tmp_path)
    torch.save({"model_state_dict": Hostile()}, tmp_path / "bad.pth")
    with pytest.raises(InputError, match="refused: it asks for code to be run"):
        convert(tmp_path / "bad.pth", recipe, tmp_path / "out.safetensors")
    assert not (tmp_path / "hostile-was-here").exists()


def test_other_bad_input(tmp_path: Path) -> None:
    file, recipe, _ = small(tmp_path)
    with pytest.raises(InputError, match=r"nothing.pth: there is no such file"):
        convert(tmp_path / "nothing.pth", recipe, tmp_path / "run")
    with pytest.raises(InputError, match=f"{tmp_path}: is a folder; expected a checkpoint"):
        convert(tmp_path, recipe, tmp_path / "run")
    with pytest.raises(InputError, match=r"recipe own-molecules: has no data.inputs"):
        convert(file, "own-molecules", tmp_path / "run")
    torch.save({"epoch": 3}, tmp_path / "empty.pth")
    with pytest.raises(InputError, match=r"empty.pth: has no weights; expected a checkpoint with model_state_dict"):
        convert(tmp_path / "empty.pth", recipe, tmp_path / "run")
    with pytest.raises(
        InputError, match=r"has the weight gcns.0.t, which the network has no place for; expected a .*learn_beta"
    ):
        convert(file, recipe, tmp_path / "run", ["model.network=ResGEN"])
