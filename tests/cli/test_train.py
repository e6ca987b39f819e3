"""``deepergcn train`` and ``deepergcn recipes``, as typed."""

import json
import re
import shlex
import signal
from pathlib import Path

import pytest

from deepergcn.runs.run import Run
from deepergcn.studies import seeds
from deepergcn.studies.seeds import RunsSummary
from deepergcn.training import train as training
from deepergcn.training.signals import Interrupted
from tests.cli.program import Program
from tests.training.small import molecule_settings, molecules

HUGE = ("--set", "model.expansion=64", "--set", "model.mlp_layers=8", "--set", "model.num_layers=100")


@pytest.fixture
def small(tmp_path: Path) -> list[str]:
    settings = molecule_settings(molecules(tmp_path))
    return [word for setting in settings for word in ("--set", setting)]


def test_training_says_the_score_where_the_run_is_and_what_to_do_next(
    deepergcn: Program, small: list[str], tmp_path: Path
) -> None:
    answer = deepergcn("train", "--epochs", 2, *small)
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert lines[0].startswith("solubility: DyResGEN with 3 layers and ")
    assert lines[1].startswith("epoch 1/2  loss ")
    assert "valid rocauc" in lines[1]
    assert lines[-3].startswith("test rocauc ")
    assert lines[-2] == "run  runs/solubility"
    assert lines[-1].startswith("next deepergcn predict runs/solubility runs/solubility/sample.csv ")
    following = deepergcn(*lines[-1].split()[2:])
    assert following.code == 0, following.err
    assert (tmp_path / "predictions.csv").is_file()


def test_runs_that_nobody_named_are_numbered_and_the_newest_is_resumed(deepergcn: Program, small: list[str]) -> None:
    assert "run  runs/solubility\n" in deepergcn("train", "--epochs", 1, *small).out
    assert "run  runs/solubility-2\n" in deepergcn("train", "--epochs", 1, *small).out
    resumed = deepergcn("train", "--resume", "--epochs", 3)
    assert "resumed after epoch 1" in resumed.out
    assert "run  runs/solubility-2\n" in resumed.out
    assert [row["epoch"] for row in Run.open("runs/solubility-2").metrics()] == [1, 2, 3]


def test_several_seeds_end_with_mean_and_deviation(deepergcn: Program, small: list[str]) -> None:
    answer = deepergcn("train", "--runs", 2, "--epochs", 1, "--out", "both", *small)
    assert answer.code == 0, answer.err
    summary = RunsSummary.model_validate_json(Path("both/summary.json").read_text())
    expected = f"test rocauc {summary.test_mean:.4f} ± {summary.test_deviation:.4f} over 2 seeds"
    assert answer.out.splitlines()[-2:] == [expected, "runs both"]


def test_seeds_are_resumed_where_they_stopped_and_nothing_is_written_beside_them(
    deepergcn: Program, small: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = deepergcn("train", "--runs", 3, "--epochs", 2, "--out", "whole", *small)
    begun: list[int] = []

    def stop_in_the_second(*args: object, seed: int, out: Path, **options: object) -> Run:
        begun.append(seed)
        if len(begun) == 2:
            raise Interrupted(signal.SIGTERM, out, "in epoch 1")
        return training.train(*args, seed=seed, out=out, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(seeds, "train", stop_in_the_second)
        stopped = deepergcn("train", "--runs", 3, "--epochs", 2, *small)
    assert stopped.code == 143
    assert "continue with: deepergcn train --resume --out runs/solubility\n" in stopped.err
    resumed = deepergcn("train", "--resume")
    assert resumed.code == 0, resumed.err
    assert "seed 1, in runs/solubility/seed-1" in resumed.out
    assert resumed.out.splitlines()[-2:] == [whole.out.splitlines()[-2], "runs runs/solubility"]
    assert {path.name for path in Path("runs/solubility").iterdir()} == {
        "seed-0",
        "seed-1",
        "seed-2",
        "seeds.json",
        "summary.json",
    }
    for arguments, message in (
        (["--out", "whole"], "whole: has the runs of several seeds or folds; expected one of them, or another --out"),
        (
            ["--out", "whole", "--runs", "3"],
            "whole: has the runs of several seeds; continue them with --resume, or choose",
        ),
    ):
        answer = deepergcn("train", *arguments)
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert message in answer.err


def test_a_mistake_with_several_seeds_leaves_nothing_behind(deepergcn: Program, tmp_path: Path) -> None:
    answer = deepergcn("train", "--runs", 2, "--data", "nowhere")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert not list(tmp_path.glob("runs/*"))


@pytest.mark.parametrize("content", ["", "notes.txt"])
def test_a_folder_that_is_no_run_is_not_resumed(deepergcn: Program, content: str) -> None:
    Path("folder").mkdir()
    if content:
        Path("folder", content).touch()
    answer = deepergcn("train", "--resume", "--out", "folder")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "folder: is not a run directory; expected one to resume" in answer.err
    assert [path.name for path in Path("folder").iterdir()] == [content] * bool(content)


def test_a_signal_ends_in_one_line_that_says_how_to_go_on(deepergcn: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object, **kwargs: object) -> Run:
        raise Interrupted(signal.SIGTERM, Path("runs/my run; $(x)"), "in epoch 5 after 7 of its steps")

    monkeypatch.setattr(training, "train", interrupted)
    answer = deepergcn("train")
    assert answer.code == 143
    assert answer.err == (
        "stopped by SIGTERM in epoch 5 after 7 of its steps; all is saved, continue with: "
        "deepergcn train --resume --out 'runs/my run; $(x)'\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "nothing: is neither a recipe's name ("),
        (["--set", "model.depth=3"], "solubility: model.depth is not a key of model; expected one of network, "),
        (["--set", "model.norm=big"], "solubility: model.norm is 'big'; Input should be 'batch', 'layer', "),
        (["--set", "model.edge_encoder=shared", "--set", "model.network=GraphSAGE"], "GraphSAGE"),
        (["--set", "data.transforms=[shiny]"], "there is no transform 'shiny'; expected one of "),
        (["--set", "data.options={size: 3}"], "solubility: has no option 'size'; its options: seed"),
        (["--data", "nowhere"], "nowhere: is neither the name of a dataset (solubility, "),
        (["yeast-proteins"], "yeast_proteins: is neither the name of a dataset (solubility, "),
        (["--out", ""], "--out is empty; expected a value, or leave it out"),
        (["--out=", "--resume"], "--out is empty; expected a value, or leave it out"),
        ([""], "RECIPE is empty; expected a value, or leave it out"),
        (["--resume", "--out", "nowhere"], "nowhere: is not a run directory; expected one to resume"),
        (["--ray", "auto"], "--ray: expected --runs with the number of seeds"),
        (["--ray", "auto", "--runs", "2", "--devices", "2"], "--devices: cannot be combined with --ray"),
        (["--threads", "2"], "--threads: works with --ray only"),
        (["--resume"], "runs: there is no run to resume; name a run directory with --out"),
        (["ogbg-ppa", "--resume"], "runs/ogbg-ppa: there is no run to resume; name a run directory with --out"),
        (["--precision", "16"], "solubility: training.precision is '16'; Input should be '32' or 'bf16'"),
        (["--devices", "4096"], "--devices is 4096; this machine has "),
        (["--nodes", "2"], "--nodes: expected --label with the column to predict"),
        (["--nodes", "2", "--label", "y"], "2: is a single file; expected a table of edges too"),
        (["--molecules", "nowhere.csv", "--target", "y"], "nowhere.csv: "),
        (["--molecules", "nowhere.csv"], "--molecules: expected --target with the column to predict"),
        (["--edges", "edges.csv"], "--edges: expected --nodes with the table of nodes, and --label"),
    ],
)
def test_a_mistake_is_answered_in_one_line(
    deepergcn: Program, tmp_path: Path, arguments: list[str], message: str
) -> None:
    answer = deepergcn("train", *arguments)
    assert answer.code == 2
    assert message in answer.err
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    assert not list(tmp_path.glob("runs/*"))


def test_a_run_is_neither_overwritten_nor_resumed_as_another(deepergcn: Program, small: list[str]) -> None:
    assert deepergcn("train", "--out", "run", "--epochs", 2, *small).code == 0
    for arguments, message in (
        (["--out", "run"], "run: already has a run; resume it with --resume, or choose another --out"),
        (["--out", "run", "--runs", "2"], "run: has a single run; expected another --out for several seeds"),
        (["--resume", "--out", "run", "--seed", "7"], "run: was started with seed 0; it cannot be resumed with seed 7"),
        (
            ["--resume", "--out", "run", "--epochs", "1"],
            "training.epochs is 1; expected at least 2, since run has finished 2",
        ),
        (["--resume", "--out", "run", "--set", "model.dropout=0.9"], "was started with model.dropout 0.3 and cannot"),
        (["ogbg-ppa", "--resume", "--out", "run"], "run: was started with name solubility and cannot be resumed with "),
    ):
        answer = deepergcn("train", *arguments)
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert message in answer.err


def test_data_that_has_been_moved_is_named_anew_and_must_be_the_same(
    deepergcn: Program, small: list[str], tmp_path: Path
) -> None:
    assert deepergcn("train", "--out", "whole", "--epochs", 2, *small).code == 0
    assert deepergcn("train", "--out", "runs/moved", "--runs", 2, "--epochs", 1, *small).code == 0
    (tmp_path / "molecules.csv").rename(tmp_path / "elsewhere.csv")
    (tmp_path / "other.csv").write_text((tmp_path / "elsewhere.csv").read_text().replace("C", "CC"))
    again = ["train", "--resume", "--out", "runs/moved", "--epochs", 2]
    for more, message in (
        ([], "molecules.csv: does not exist any more, and runs/moved/seed-0 was started with it; if it was moved, "),
        (["--set", "data.source=other.csv"], "the data in " + str(tmp_path / "other.csv") + " has changed since"),
    ):
        answer = deepergcn(*again, *more)
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert message in answer.err
    assert deepergcn(*again, "--set", "data.source=elsewhere.csv").code == 0
    resumed, whole = Run.open("runs/moved/seed-0"), Run.open("whole")
    assert resumed.recipe.data.source == str(tmp_path / "elsewhere.csv")
    assert [row["train_loss"] for row in resumed.metrics()] == [row["train_loss"] for row in whole.metrics()]


def test_a_relative_path_is_stored_as_an_absolute_one(
    deepergcn: Program, small: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relative = ["--set", "data.source=molecules.csv"]
    assert deepergcn("train", "--out", "run", "--epochs", 1, *small, *relative).code == 0
    assert Run.open("run").recipe.data.source == str(tmp_path / "molecules.csv")
    assert deepergcn("train", "--resume", "--out", "run", "--epochs", 2, *small, *relative).code == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert deepergcn("evaluate", "../run").code == 0


def test_without_an_edge_encoder_edge_features_are_dropped(deepergcn: Program, small: list[str]) -> None:
    without = ["--set", "model.edge_encoder=none"]
    answer = deepergcn("train", "--out", "run", "--epochs", 1, *small, *without)
    assert answer.code == 0, answer.err
    assert Run.open("run").info.inputs.edges is None
    assert deepergcn("evaluate", "run").code == 0
    assert deepergcn("predict", "run", "molecules.csv", "-o", "predictions.csv").code == 0


@pytest.mark.parametrize("option", ["targets: 5", "fractions: many", "seed: [1]", "strict: {}", "split: 3"])
def test_an_option_of_the_wrong_type_is_named(deepergcn: Program, tmp_path: Path, option: str) -> None:
    source = molecules(tmp_path)
    answer = deepergcn("train", "--set", f"data={{source: {source}, options: {{targets: active, {option}}}}}")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert f"option {option.partition(':')[0]!r} is " in answer.err


def test_an_internal_type_error_is_not_told_as_the_users_mistake(
    deepergcn: Program, small: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> None:
        raise TypeError("a defect of the program")

    monkeypatch.setattr("deepergcn.runs.model.network._node_encoder", broken)
    with pytest.raises(TypeError, match="a defect of the program"):
        deepergcn("train", *small)


def test_printed_commands_are_quoted_for_the_shell(deepergcn: Program, small: list[str]) -> None:
    answer = deepergcn("train", "--out", "my run; $(touch x)", "--epochs", 1, *small)
    assert "next deepergcn predict 'my run; $(touch x)' 'my run; $(touch x)/sample.csv' --id-column" in answer.out
    following = deepergcn(*shlex.split(answer.out.splitlines()[-1])[2:])
    assert following.code == 0, following.err


def test_another_environment_is_told_in_one_line(deepergcn: Program, small: list[str]) -> None:
    assert deepergcn("train", "--out", "run", "--epochs", 1, *small).code == 0
    info = json.loads(Path("run/run.json").read_text())
    info["environment"] |= {"processor": "another", "threads": 77}
    info["versions"]["torch"] = "1.0"
    Path("run/run.json").write_text(json.dumps(info))
    answer = deepergcn("train", "--resume", "--out", "run", "--epochs", 2)
    assert answer.code == 0
    assert answer.err.count("\n") == 1
    assert answer.err.startswith("warning: run: was trained with torch 1.0 (now ")
    assert "processor another (now " in answer.err
    assert "threads 77 (now " in answer.err
    evaluated = deepergcn("evaluate", "run")
    assert evaluated.code == 0
    assert "was trained with torch 1.0" in evaluated.err
    assert "threads" not in evaluated.err


def test_data_that_has_changed_is_noticed(deepergcn: Program, small: list[str], tmp_path: Path) -> None:
    assert deepergcn("train", "--out", "run", "--epochs", 1, *small).code == 0
    with (tmp_path / "molecules.csv").open("a") as file:
        file.write("CCCC,1,train\n")
    answer = deepergcn("train", "--resume", "--out", "run", "--epochs", 2)
    assert answer.code == 2
    assert "molecules.csv has changed since the run was started; expected it as it was" in answer.err


def test_changed_tables_are_all_named(deepergcn: Program, tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("id,size,y\n" + "".join(f"{i},{i},{'ab'[i % 2]}\n" for i in range(40)))
    (tmp_path / "e.csv").write_text("source,target\n" + "".join(f"{i},{i + 1}\n" for i in range(39)))
    small = ("--set", "model.num_layers=2", "--set", "model.hidden_channels=8")
    files = ("--nodes", tmp_path / "n.csv", "--edges", tmp_path / "e.csv", "--label", "y")
    assert deepergcn("train", *files, *small, "--out", "run", "--epochs", 1).code == 0
    with (tmp_path / "e.csv").open("a") as file:
        file.write("1,7\n")
    answer = deepergcn("train", "--resume", "--out", "run", "--epochs", 2)
    assert f"{tmp_path / 'n.csv'} or {tmp_path / 'e.csv'} has changed" in answer.err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("run.json", "{}", "run.json: "),
        ("run.json", "no json", "run.json: "),
        ("recipe.yaml", "name: x\nshape: round", "recipe.yaml: "),
        ("recipe.yaml", "name: [", "recipe.yaml: is not YAML"),
    ],
)
def test_a_spoiled_run_directory_is_answered_in_one_line(
    deepergcn: Program, small: list[str], name: str, content: str, message: str
) -> None:
    assert deepergcn("train", "--out", "run", "--epochs", 1, *small).code == 0
    Path("run", name).write_text(content)
    answer = deepergcn("train", "--resume", "--out", "run", "--epochs", 2)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert message in answer.err


def test_the_keys_of_recipes_are_explained_with_their_papers(deepergcn: Program) -> None:
    found = json.loads(deepergcn("recipes", "--keys", "all", "--json").out)
    keys = {f"{key['section']}.{key['name']}": key for key in found}
    assert not [name for name, key in keys.items() if not key["meaning"]]
    for name in (
        "data.transforms",
        "model.root_weight",
        "optimizer.name",
        "loss.name",
        "loss.label_smoothing",
        "training.average",
        "training.drop_edge",
        "training.flag_ascents",
        "training.shown_labels",
        "blend.class_weight",
    ):
        assert re.search(r"[A-Z][a-z]+[^()]* \d{4}\)", keys[name]["meaning"]), name
    assert keys["training.average"]["default"] == "None"
    assert keys["training.epochs"]["default"] == "required"
    assert "Averaging Weights" in " ".join(deepergcn("recipes", "--keys", "training.average").out.split())
    assert "its sections: data, model, optimizer" in deepergcn("recipes", "--keys", "nothing").err


def test_recipes_are_listed(deepergcn: Program) -> None:
    entries = {entry["name"]: entry for entry in json.loads(deepergcn("recipes", "--json").out)}
    assert entries["ogbn-proteins"]["parameters"] == 2_374_568
    assert entries["ogbn-proteins"]["layers"] == 112
    assert entries["ogbn-proteins"]["aggregator"] == "softmax, beta 1 learned"
    assert entries["ogbg-ppa"]["aggregator"] == "softmax, beta 0.01"
    assert entries["ogbn-arxiv"]["published"] == 0.7192
    assert entries["own-tables"]["parameters"] is None
    table = deepergcn("recipes").out
    assert all(name in table for name in entries)
    assert "0.8580 ± 0.0017" in table  # in a pipe nothing is cut or broken


def test_a_network_that_memory_cannot_hold_is_answered_in_one_line(
    deepergcn: Program, small: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = deepergcn("train", "--out", "run", *small, "--set", "model.hidden_channels=60000", *HUGE)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert (
        "parameters of recipe solubility, with gradients and Adam's moments, need 142,295,171 GB of memory;"
        in answer.err
    )
    assert not Path("run").exists()

    def full(*args: object, **kwargs: object) -> Run:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(training, "train", full)
    answer = deepergcn("train", "--out", "run", *small)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "error: there is not enough memory; decrease training.batch_size or model.hidden_channels" in answer.err


def test_a_library_that_memory_cannot_hold_is_answered_in_one_line(
    deepergcn: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(message: str) -> None:
        raise ImportError(message)

    monkeypatch.setattr(training, "train", lambda *_, **__: fail("a.so: failed to map segment from shared object"))
    answer = deepergcn("train")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert answer.err.startswith("error: there is not enough memory to load the program (a.so: failed to map")
    monkeypatch.setattr(training, "train", lambda *_, **__: fail("a defect of the program"))
    with pytest.raises(ImportError, match="a defect of the program"):
        deepergcn("train")
