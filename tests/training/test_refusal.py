"""Malicious and damaged model files: refused in one line, and nothing in them is executed."""

import json
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from deepergcn.errors import InputError
from deepergcn.inference.predictor import load
from deepergcn.runs.model.model_file import ENTRY, checksum
from deepergcn.training.train import train
from tests.training.trained import make_run, molecule_file, small_recipe

Change = Callable[[dict[str, Tensor], dict[str, str]], Any]


class Trap:
    """Unpickled, it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEEPERGCN_DATA", str(tmp_path / "data"))
    return make_run(tmp_path, small_recipe(molecule_file(tmp_path), targets=["target"]))


def refusal(run: Path) -> str:
    """What is said about the model of this run, and about the file alone."""
    with pytest.raises(InputError) as error:
        load(run)
    message = str(error.value)
    with pytest.raises(InputError) as alone:
        load(run / "model.safetensors")
    assert str(alone.value) == message
    assert "\n" not in message
    assert "model.safetensors" in message
    return message


def change(run: Path, how: Change, sign: bool = True) -> None:
    """Change a model file as someone who knows the format would, with a new checksum, or as an accident would."""
    file = run / "model.safetensors"
    with safe_open(file, framework="pt") as opened:
        metadata = json.loads(opened.metadata()[ENTRY])
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    how(tensors, metadata)
    if sign:
        metadata.pop("checksum", None)
        metadata["checksum"] = checksum(metadata, tensors)
    save_file(tensors, file, metadata={ENTRY: json.dumps(metadata)})


def test_the_file_as_it_was_written_loads(run: Path) -> None:
    assert load(run).predict(["CCO"]).values.shape == (1, 3)


def test_a_pickle_is_refused_and_not_executed(run: Path, tmp_path: Path) -> None:
    trap = tmp_path / "executed"
    for content in (pickle.dumps(Trap(trap)), pickle.dumps({"model": Trap(trap)}, protocol=0)):
        (run / "model.safetensors").write_bytes(content)
        assert "is not a safetensors file" in refusal(run)
    torch.save({"model": Trap(trap)}, run / "model.safetensors")
    assert "is not a safetensors file" in refusal(run)
    assert not trap.exists()


def test_yaml_that_calls_functions_is_refused_and_not_executed(run: Path, tmp_path: Path) -> None:
    trap = tmp_path / "executed"
    call = f'!!python/object/apply:os.mkdir ["{trap}"]'

    def put_in_metadata(tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
        metadata["recipe"] = metadata["recipe"].replace("name: solubility", f"name: {call}")

    change(run, put_in_metadata)
    assert "is not YAML" in refusal(run)
    (run / "recipe.yaml").write_text(f"name: {call}\n")
    with pytest.raises(InputError, match=r"recipe\.yaml: is not YAML"):
        load(run)
    assert not trap.exists()


@pytest.mark.parametrize(
    ("found", "put", "words"),
    [
        ("network: DyResGEN", "network: EvilNet", ("model.network", "'EvilNet'", "DyResGEN")),
        ("aggr: softmax", "aggr: os.system", ("model.aggr", "'os.system'", "softmax")),
        ("model:\n", "model:\n  plugin: evil.module\n", ("model.plugin", "is not a key")),
        ("num_layers: 2", "num_layers: 2.5", ("model.num_layers", "2.5")),
        ("num_layers: 2", "num_layers: 1000000000", ("model.num_layers", "1000000000", "less than")),
        ("num_layers: 2", "num_layers: 10000", ("num_layers 10000", "expect more")),
        ("mlp_layers: 1", "mlp_layers: 1000000000", ("model.mlp_layers", "1000000000", "less than")),
        ("mlp_layers: 1", "mlp_layers: 64", ("mlp_layers 64", "expect more")),
        ("model:\n", "model:\n  expansion: 1000000000\n", ("model.expansion", "1000000000", "less than")),
        ("hidden_channels: 8", "hidden_channels: 100000000000", ("model.hidden_channels", "less than")),
        ("hidden_channels: 8", "hidden_channels: 16", ("8]", "16]")),
    ],
)
def test_a_recipe_with_an_unknown_component_is_refused(run: Path, found: str, put: str, words: tuple[str, ...]) -> None:
    def edit(tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
        assert found in metadata["recipe"]
        metadata["recipe"] = metadata["recipe"].replace(found, put)

    change(run, edit)
    message = refusal(run)
    for word in words:
        assert word in message


def _widen(tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    tensors["head.weight"] = torch.zeros(3, 9)


def _narrow_type(tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    tensors["head.weight"] = tensors["head.weight"].double()


def _add(tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    tensors["head.secret"] = torch.zeros(1)


def _remove(tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    del tensors["head.bias"]


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (_widen, "the weight head.weight is float32 [3, 9]; its recipe expects float32 [3, 8]"),
        (_narrow_type, "the weight head.weight is float64 [3, 8]; its recipe expects float32 [3, 8]"),
        (_add, "the weight head.secret is float32 [1]; its recipe expects not there"),
        (_remove, "the weight head.bias is not there; its recipe expects float32 [3]"),
    ],
)
def test_weights_that_do_not_fit_the_recipe_are_named(run: Path, how: Change, words: str) -> None:
    change(run, how)
    assert words in refusal(run)


def test_weights_that_are_not_finite_are_refused(run: Path) -> None:
    change(run, lambda tensors, metadata: tensors["head.weight"].fill_(torch.nan))
    assert "the weight head.weight has values that are not finite" in refusal(run)


@pytest.mark.parametrize("field", ["nodes", "outputs"])
def test_inputs_without_bounds_are_refused(run: Path, field: str) -> None:
    def widen(tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
        info = json.loads(metadata["run"])
        if field == "nodes":
            info["inputs"]["nodes"] = 10**15
        else:
            info["inputs"]["task"]["outputs"] = 10**15
        metadata["run"] = json.dumps(info)

    change(run, widen)
    assert field in refusal(run)


@pytest.mark.parametrize("what", ["a weight", "the recipe", "the run", "the epoch"])
def test_a_change_without_the_checksum_is_noticed(run: Path, what: str) -> None:
    def edit(tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
        if what == "a weight":
            tensors["head.bias"][0] += 1
        else:
            key = what.removeprefix("the ")
            metadata[key] = metadata[key] + ("7" if key == "epoch" else " ")

    change(run, edit, sign=False)
    assert "is damaged: its content does not match its checksum" in refusal(run)


def test_every_flipped_byte_of_a_model_file_is_noticed(run: Path) -> None:
    file = run / "model.safetensors"
    good = file.read_bytes()
    for place in range(0, len(good), max(len(good) // 60, 1)):
        if good[place : place + 1] == b" ":  # the blanks that pad the header carry nothing
            continue
        file.write_bytes(good[:place] + bytes([good[place] ^ 0x04]) + good[place + 1 :])
        refusal(run)


def test_models_of_version_0_1_0_without_a_checksum_still_load(run: Path) -> None:
    file = run / "model.safetensors"
    with safe_open(file, framework="pt") as opened:
        content = json.loads(opened.metadata()[ENTRY])
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    del content["checksum"]
    info = json.loads(content["run"])
    del info["environment"]
    save_file(tensors, file, metadata=content | {"format": "1", "run": json.dumps(info | {"format": 1})})
    (run / "run.json").write_text(json.dumps(info | {"format": 1}))
    assert load(run).predict(["CCO"]).values.shape == (1, 3)
    save_file(tensors, file, metadata=content)
    assert "has no checksum in its metadata" in refusal(run)


@pytest.mark.parametrize(
    "options", [{"skipped_file": "{trap}"}, {"root": "{trap}"}, {"workers": 1}, {"progress": "{trap}"}]
)
def test_a_model_or_recipe_never_names_a_file_to_write(run: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    trap = tmp_path / "trap"
    named = {"targets": ["target"]} | {k: str(v).format(trap=trap) for k, v in options.items()}
    source = str(tmp_path / "classes.csv")

    def name_files(tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
        recipe = yaml.safe_load(metadata["recipe"])
        recipe["data"] = {"source": source, "options": named}
        metadata["recipe"] = yaml.safe_dump(recipe)
        (run / "recipe.yaml").write_text(metadata["recipe"])

    change(run, name_files)
    bad = tmp_path / "bad.csv"
    bad.write_text("smiles,target\n" + "CCO,high\nnonsense,low\n" * 8)
    expected = f"has no option '{next(iter(options))}'"
    with pytest.raises(InputError, match=expected):
        load(run).evaluate(data=bad)
    with pytest.raises(InputError, match=expected):
        load(run).evaluate()
    with pytest.raises(InputError, match=expected):
        train(run / "recipe.yaml", out=tmp_path / "new")
    assert len(load(run).predict(bad)) == 16
    assert not trap.exists()
    assert not (tmp_path / "new").exists()


def test_a_model_file_alone_reads_only_what_its_user_names(run: Path, tmp_path: Path) -> None:
    expected = load(run).evaluate()
    alone = load(run / "model.safetensors")
    with pytest.raises(InputError, match=r"classes\.csv: is not read for a model file alone.*or the data"):
        alone.evaluate()
    assert alone.evaluate(data=tmp_path / "classes.csv") == expected


@pytest.mark.parametrize("key", ["format", "recipe", "run", "epoch"])
def test_missing_metadata_is_named(run: Path, key: str) -> None:
    change(run, lambda tensors, metadata: metadata.pop(key))
    assert key in refusal(run)


@pytest.mark.parametrize(
    ("key", "value"),
    [("format", "99"), ("recipe", "[]"), ("recipe", "{"), ("run", "{}"), ("run", "[" * 9999), ("epoch", "soon")],
)
def test_wrong_metadata_is_refused(run: Path, key: str, value: str) -> None:
    change(run, lambda tensors, metadata: metadata.update({key: value}))
    refusal(run)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a model",
        struct.pack("<Q", 2**62) + b"{}",
        struct.pack("<Q", 2) + b"{}",
        struct.pack("<Q", 8) + b'{"a":{}}',
    ],
)
def test_files_of_another_kind_are_refused(run: Path, content: bytes) -> None:
    (run / "model.safetensors").write_bytes(content)
    refusal(run)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_truncated_file_is_refused(run: Path, share: float) -> None:
    file = run / "model.safetensors"
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])
    assert "is not a safetensors file" in refusal(run)
