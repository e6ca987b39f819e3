"""A run with descriptors: they are computed again wherever its network is used, without being told."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from deepergcn.data.molecules.descriptors import morgan_shares
from deepergcn.data.molecules.read import read_molecules_to_predict
from deepergcn.errors import InputError
from deepergcn.inference.explain import explain
from deepergcn.inference.export import example
from deepergcn.inference.predictor import load
from deepergcn.nn.descriptors import DescriptorEncoder, DescriptorScale
from deepergcn.training.own_data import Choices, own_molecules
from deepergcn.training.train import train
from tests.training.small import trained_run
from tests.training.trained import write_lines

SETTINGS = ("data.descriptors=[morgan, rdkit]", "training.epochs=1", "model.num_layers=2")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained_run(tmp_path_factory.mktemp("described"), *SETTINGS)


@pytest.fixture(autouse=True)
def own_cache(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPERGCN_DATA", str(run.parent / "data"))


def test_the_model_file_alone_predicts_embeds_and_explains(run: Path, tmp_path: Path) -> None:
    model = load(run / "model.safetensors")
    file = write_lines(tmp_path / "new.csv", "smiles", "CCO", "CCN", "no molecule")
    listed, read = model.predict(["CCO", "CCN"]), model.predict(file)
    np.testing.assert_allclose(read.values[:2], listed.values, rtol=1e-6)
    assert np.isnan(read.values[2]).all()
    assert model.embed(["CCO"]).values.shape == (1, 16)
    (explained,) = explain(model, ["CCO"], neighbours=False)
    assert explained.descriptors is not None
    parts = sum(v for _, v in explained.nodes) + sum(v for *_, v in explained.edges) + explained.descriptors
    assert parts + explained.residual == pytest.approx(explained.value - explained.baseline, abs=1e-5)
    assert example(model)["descriptors"].shape[1] == 2048 + 215


def test_what_morgan_counts_contribute_falls_on_the_atoms_that_they_count(run: Path) -> None:
    model = load(run / "model.safetensors")
    shares = morgan_shares("CCN")
    assert shares is not None
    nitrogen = int((shares[2] == 1).nonzero()[0][0])
    (encoder,) = (module for module in model.network.modules() if isinstance(module, DescriptorEncoder))
    with torch.no_grad():  # the graph says nothing, and of all descriptors the one count of the nitrogen alone
        head = next(module for module in reversed(list(model.network.modules())) if isinstance(module, torch.nn.Linear))
        head.weight[:, :8] = 0.0
        head.weight[:, 8:] = 1.0
        encoder.linear.weight.zero_()
        encoder.linear.weight[:, nitrogen] = 1.0
    (explained,) = explain(model, ["CCN"], neighbours=False)
    contributions = [value for _, value in explained.nodes]
    assert contributions[:2] == pytest.approx([0.0, 0.0], abs=1e-6)
    assert contributions[2] == pytest.approx(explained.value - explained.baseline, rel=0.02)
    assert contributions[2] > 0.1
    assert explained.descriptors == pytest.approx(0.0, abs=1e-6)


def test_the_scale_is_that_of_the_train_part_and_the_run_evaluates(run: Path) -> None:
    model = load(run)
    dataset = model.dataset()
    assert dataset.descriptors is not None
    train_part = dataset.descriptors[dataset.split["train"]]
    (scale,) = (module for module in model.network.modules() if isinstance(module, DescriptorScale))
    assert_close(scale.mean, train_part.double().nanmean(0).float(), rtol=1e-4, atol=1e-5)
    assert set(model.evaluate()) == {"train", "valid", "test"}


def test_a_resumed_run_takes_them_again(run: Path) -> None:
    again = train(out=run, resume=True, epochs=2)
    assert len(again.metrics()) == 2


def test_a_dataset_without_them_is_refused(run: Path) -> None:
    model = load(run)
    bare = model.dataset().replace(fingerprints=None, descriptors=None)
    with pytest.raises(
        InputError, match=r"has 0 descriptors per graph, from RDKit .*; the network was trained on 2263, from RDKit"
    ):
        model.predict(bare)


def test_the_report_names_them_and_wrong_ones_are_refused(tmp_path: Path) -> None:
    file = write_lines(
        tmp_path / "own.csv",
        "smiles,y,heat,part",
        *(f"{'C' * (i % 9 + 1)}O,{i % 2},{i * 1.5},train" for i in range(40)),
    )
    found = own_molecules(file, targets="y", descriptors=("maccs", "heat"), root=tmp_path)
    assert (
        "features",
        "the graph, and the descriptors maccs (167 keys), column heat; change them with --descriptors",
    ) in found.lines()
    assert 'data.descriptors=["maccs", "heat"]' in found.settings
    assert found.loaded.dataset.descriptors is not None
    for names, message in ((("y",), "is a target or the split"), (("hot",), "--descriptors is 'hot'; expected morgan")):
        with pytest.raises(InputError, match=message):
            own_molecules(file, targets="y", descriptors=names, choices=Choices(), root=tmp_path)


def test_datasets_without_molecules_say_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no option 'descriptors'"):
        train("synthetic-proteins", settings=["data.descriptors=[morgan]"], out=tmp_path / "run")
    assert not (tmp_path / "run" / "run.json").exists()


def test_gaps_of_a_column_are_said_where_the_mean_fills_them(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "m.csv"
    file.write_text(
        "smiles,mass,size,y\n" + "".join(f"{'C' * i},{'' if i == 3 else i},{i},{i}\n" for i in range(1, 25))
    )
    found = own_molecules(file, targets="y", descriptors=("mass", "size"), root=tmp_path)
    lines = dict(found.lines())
    assert "descriptors column mass (1 gaps filled with the mean), column size;" in lines["features"]
    read_molecules_to_predict(file, found.loaded.dataset.task, descriptors=("mass", "size"), warn=False)
    assert "m.csv: column 'mass' is empty in some rows; the mean of the training data is used there" in caplog.text
    assert "'size'" not in caplog.text
