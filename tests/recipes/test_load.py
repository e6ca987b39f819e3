"""Reading recipes: what is changed, and what is wrong with one, in a single line that names the key."""

from pathlib import Path

import pytest

from deepergcn.errors import InputError
from deepergcn.recipes import load_recipe, read_recipe
from deepergcn.recipes.load import MOST_CHARACTERS, dump_recipe

FILE = """
base: solubility
name: mine
summary: of my own
model: {num_layers: 14}
"""


def test_a_file_on_a_base_changes_only_what_it_names(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(FILE)
    mine, base = load_recipe(path), load_recipe("solubility")
    assert (mine.name, mine.model.num_layers) == ("mine", 14)
    assert mine.model.model_copy(update={"num_layers": base.model.num_layers}) == base.model
    assert mine.optimizer == base.optimizer


def test_settings_are_yaml_and_win_over_the_file() -> None:
    recipe = read_recipe(
        FILE,
        "mine.yaml",
        ["model.num_layers=3", "optimizer.lr=1e-2", "training.precision=32", "data.options={seed: 4}", "model.beta=0"],
    )
    assert recipe.model.num_layers == 3
    assert recipe.optimizer.lr == 0.01
    assert recipe.training.precision == "32"
    assert recipe.data.options == {"seed": 4}
    assert recipe.model.options()["beta"] == 0.0


@pytest.mark.parametrize(("text", "number"), [("010", 10), ("1_000", 1000), ("+7", 7)])
def test_whole_numbers_are_decimal(text: str, number: int) -> None:
    assert read_recipe(FILE, "mine.yaml", [f"training.epochs={text}"]).training.epochs == number


def test_aggregators_may_be_a_list() -> None:
    recipe = read_recipe(FILE, "mine.yaml", ["model.network=DeeperGCN", "model.aggr=[softmax, max]"])
    assert recipe.model.aggr == ("softmax", "max")
    assert read_recipe(dump_recipe(recipe), "again") == recipe
    for wrong in ("[]", "[softmax, median]", "[[max]]"):
        with pytest.raises(InputError, match=r"^mine\.yaml: model\.aggr is ") as caught:
            read_recipe(FILE, "mine.yaml", [f"model.aggr={wrong}"])
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("model.depth=3", "mine.yaml: model.depth is not a key of model; expected one of network, num_layers"),
        ("colour=red", "mine.yaml: colour is not a key of a recipe; expected one of name, summary, data"),
        (
            "data.inputs.task.kin=x",
            "data.inputs.task.kin is not a key of data.inputs.task; expected one of level, kind",
        ),
        ("model.num_layers=0", "mine.yaml: model.num_layers is 0; Input should be greater than or equal to 1"),
        ("model.num_layers=many", "mine.yaml: model.num_layers is 'many'; Input should be a valid integer"),
        ("model.num_layers=1:30", "mine.yaml: model.num_layers is '1:30'; Input should be a valid integer"),
        ("optimizer.lr=1:30.5", "mine.yaml: optimizer.lr is '1:30.5'; Input should be a valid number"),
        ("model.network=Deep", "mine.yaml: model.network is 'Deep'; Input should be 'DeeperGCN', 'PlainGCN'"),
        ("model.dropout=1", "mine.yaml: model.dropout is 1; Input should be less than 1"),
        ("optimizer.lr=.nan", "mine.yaml: optimizer.lr is nan; Input should be a finite number"),
        ("data.inputs.task.metric=mae", "task metric is 'mae'; expected accuracy"),
        ("model=3", "mine.yaml: model is 3; Input should be a valid dictionary"),
        ("name=../out", "mine.yaml: name is '../out'; String should match pattern"),
        ("name.first=x", "--set name.first=x: name in mine.yaml is 'mine'; expected a section with keys"),
        ("model.num_layers", "--set model.num_layers: expected key=value, such as model.num_layers=14"),
        ("=3", "--set =3: expected key=value"),
        ("model.beta=[", r"--set model.beta=[: the value is not YAML"),
    ],
)
def test_a_wrong_setting_is_one_line_that_names_the_key(setting: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_recipe(FILE, "mine.yaml", [setting])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: [", "mine.yaml: is not YAML"),
        ("- a\n- b", "mine.yaml: expected a recipe with the keys name, summary"),
        ("", "mine.yaml: expected a recipe with the keys name, summary"),
        ("name: mine", "mine.yaml: summary is missing"),
        ("base: nothing\nname: mine", "mine.yaml: base is 'nothing'; expected a recipe's name: minesweeper"),
        ("base: [solubility]", "mine.yaml: base is ['solubility']; expected a recipe's name"),
        ("!!python/object/apply:os.system ['exit 1']", "mine.yaml: is not YAML"),
    ],
)
def test_a_wrong_file_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_recipe(text, "mine.yaml")
    assert message in str(caught.value)


def test_a_recipe_that_is_not_there_is_refused_with_the_names_of_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"solubilty: is neither a recipe's name \(minesweeper, .*\) nor a file"):
        load_recipe("solubilty")
    with pytest.raises(InputError, match="is neither a recipe's name"):
        load_recipe(tmp_path)
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="the recipe cannot be read"):
        load_recipe(binary)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]", "is not YAML (line 2 has an alias (*)"),
        ("[" * 5_000, "is nested too deeply"),
        ("name: 2020-99-99", "is not YAML"),
        (f"name: {'9' * 5000}", "is not YAML"),
        ("#" * (MOST_CHARACTERS + 1), "expected at most"),
    ],
    ids=["aliases", "depth", "date", "digits", "length"],
)
def test_a_text_cannot_grow_without_bound(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_recipe(text, "mine.yaml")
    assert message in str(caught.value)
    with pytest.raises(InputError):
        load_recipe("solubility", [f"name={text}"])


def test_a_large_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(1 << 33)
    with pytest.raises(InputError, match=r"large\.yaml: has 8589934592 bytes; expected at most"):
        load_recipe(path)


@pytest.mark.parametrize("key", ["num_layers", "hidden_channels", "mlp_layers", "expansion"])
def test_sizes_are_bounded(key: str) -> None:
    with pytest.raises(InputError, match=rf"model\.{key} is 1000000000; Input should be less than or equal to"):
        load_recipe("solubility", [f"model.{key}=1000000000"])
