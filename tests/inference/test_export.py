"""Exported networks give the predictions of their run, for inputs of other sizes than those they were traced with."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch

import deepergcn
from deepergcn.errors import InputError
from deepergcn.inference.export import FORMATS, export
from deepergcn.inference.inputs import read_rows_to_predict
from deepergcn.inference.predictor import Predictor
from tests.training.trained import make_run, molecule_file, small_recipe, table_files


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPERGCN_DATA", str(tmp_path / "data"))


def run_exported(path: Path, inputs: dict[str, torch.Tensor]) -> np.ndarray[Any, Any]:
    if path.suffix == ".onnx":
        session = onnxruntime.InferenceSession(path)
        (out,) = session.run(None, {name: tensor.numpy() for name, tensor in inputs.items()})
        return np.asarray(out)
    program = torch.export.load(path)
    with torch.no_grad():
        result: np.ndarray[Any, Any] = program.module()(*inputs.values()).numpy()
    return result


def molecules(folder: Path, *settings: str) -> tuple[Predictor, dict[str, torch.Tensor], np.ndarray[Any, Any]]:
    recipe = small_recipe(molecule_file(folder), settings=settings, targets=["target"])
    model = deepergcn.load(make_run(folder, recipe))
    smiles = ["CCO", "c1ccccc1O", "CC(=O)N", "CCCCCCCC", "C1CC1", "CN", "OCC(O)CO"]
    dataset = read_rows_to_predict(smiles, None, model.recipe, model.info).dataset
    graphs = [dataset.graph(i) for i in range(len(dataset))]
    shift = dataset.node_ptr
    inputs = {
        "x": torch.cat([graph.x for graph in graphs]),
        "edge_index": torch.cat([graph.edge_index + shift[i] for i, graph in enumerate(graphs)], dim=1),
        "edge_attr": torch.cat([graph.edge_attr for graph in graphs]),
        "ptr": shift,
    }
    return model, inputs, model.predict(smiles).values


def walks(folder: Path) -> tuple[Predictor, dict[str, torch.Tensor], np.ndarray[Any, Any]]:
    """Molecules whose atoms have numbers beside their categories."""
    return molecules(folder, "data.transforms=[random-walk]")


def nodes(folder: Path) -> tuple[Predictor, dict[str, torch.Tensor], np.ndarray[Any, Any]]:
    files = table_files(folder)
    model = deepergcn.load(make_run(folder, small_recipe(*files, label="y")))
    graph = read_rows_to_predict(files[0], files[1], model.recipe, model.info).dataset.graph(0)
    inputs = {"x": graph.x, "edge_index": graph.edge_index, "edge_attr": graph.edge_attr}
    return model, inputs, model.predict(*files).values


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", [molecules, walks, nodes])
def test_equal_to_the_predictions_of_the_run_and_silent(
    kind: Any, form: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model, inputs, expected = kind(tmp_path)
    path = tmp_path / f"model{FORMATS[form]}"
    assert export(model, path, form) == tuple(inputs)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    np.testing.assert_allclose(run_exported(path, inputs), expected, rtol=1e-4, atol=1e-5)


def test_refusals(tmp_path: Path) -> None:
    model, _, _ = molecules(tmp_path)
    with pytest.raises(InputError, match=r"ends in \.onnx"):
        export(model, tmp_path / "model.pt2", "onnx")
    with pytest.raises(InputError, match="expected one of onnx, torch-export"):
        export(model, tmp_path / "model.onnx", "tflite")  # type: ignore[arg-type]
