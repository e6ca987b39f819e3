"""``explain``: from a file to contributions that add up, a page, and the nearest training examples."""

import csv
from pathlib import Path

import pytest

from deepergcn.cli.main import app
from deepergcn.errors import InputError
from deepergcn.inference.explain import explain
from deepergcn.inference.predictor import load
from deepergcn.report.molecules import draw_molecule
from tests.training.trained import make_run, molecule_file, small_recipe, table_files, write_lines


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPERGCN_DATA", str(tmp_path / "data"))


def molecule_run(folder: Path, kind: str = "classes") -> Path:
    return make_run(folder, small_recipe(molecule_file(folder, kind), targets=["target"], smiles_column="smiles"))


def test_contributions_of_a_file_add_up_and_are_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = molecule_run(tmp_path)
    data = write_lines(tmp_path / "new.csv", "key,smiles", "a,CCCO", "b,not a molecule", "c,c1ccccc1")
    out = tmp_path / "why.csv"
    arguments = ["explain", str(run), str(data), "--id-column", "key", "--output", str(out)]
    app(arguments, standalone_mode=False)
    assert "1 of 3 rows cannot be read and are not explained; row 2 is 'not a molecule': syntax error" in caplog.text
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(dict.fromkeys(row["id"] for row in rows)) == ["a", "c"]
    predictions = load(run).rows(data, id_column="key")
    outputs = load(run).outputs(predictions.dataset)
    for number, (name, atoms, bonds) in enumerate((("a", 4, 3), ("c", 6, 6))):
        mine = [row for row in rows if row["id"] == name]
        assert [sum(row["part"] == part for row in mine) for part in ("node", "edge")] == [atoms, bonds]
        total = sum(float(row["contribution"]) for row in mine)
        assert total == pytest.approx(float(outputs[number].max()), abs=1e-4)
        names = load(run).output_names()
        assert {row["output"] for row in mine} == {names[int(outputs[number].argmax())]}
    page = out.with_suffix(".html").read_text()
    assert page.count("<svg") == 2
    assert "nearest training examples" in page


def test_a_training_molecule_is_its_own_nearest_example(tmp_path: Path) -> None:
    model = load(molecule_run(tmp_path, "numbers"))
    training = model.dataset()
    item = int(training.split["train"][0])
    found = explain(model, [training.ids[item]])
    assert len(found) == 1
    assert found[0].nearest[0][0] == training.ids[item]
    assert found[0].nearest[0][1] == pytest.approx(0, abs=1e-3)
    assert found[0].outside is False
    assert explain(model, ["CCO"], neighbours=False)[0].nearest == ()


def test_the_positive_class_of_a_label_is_named(tmp_path: Path) -> None:
    model = load(molecule_run(tmp_path, "binary"))
    (one,) = explain(model, ["CCO"], output="target", neighbours=False)
    assert one.output == "target=yes"
    assert one.value == pytest.approx(float(model.outputs(model.rows(["CCO"]).dataset)[0, 0]), abs=1e-5)


def test_nodes_of_a_table_are_explained_by_their_ids(tmp_path: Path) -> None:
    nodes, edges = table_files(tmp_path)
    run = make_run(tmp_path, small_recipe(nodes, edges, label="y", id_column="id"))
    model = load(run)
    found = explain(model, nodes, edges, items=["n3"], output="b")
    assert [(one.id, one.output) for one in found] == [("n3", "b")]
    one = found[0]
    assert {name for name, _ in one.nodes} == {f"n{i}" for i in range(15)}
    total = sum(value for _, value in one.nodes) + sum(value for *_, value in one.edges)
    assert total + one.residual == pytest.approx(one.value - one.baseline, abs=1e-5)
    outputs = model.outputs(model.rows(nodes, edges).dataset)
    assert one.value == pytest.approx(float(outputs[3, 1]), abs=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output": "blue"}, r"output \(--of\) is 'blue'; expected one of high, low, none"),
        ({"items": ["x"]}, "--item is 'x'; expected the id of a row"),
        ({"items": ["CCO", "CO"], "most": 1}, "--item: 2 ids were given; expected at most 1"),
        ({"most": 0}, "most is 0; expected at least 1"),
    ],
)
def test_what_is_not_there_is_one_clear_line(tmp_path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        explain(load(molecule_run(tmp_path)), ["CCO", "CO"], **options)  # type: ignore[arg-type]


def test_a_molecule_is_drawn_with_its_contributions_or_not_at_all() -> None:
    plain = draw_molecule("CCO")
    shown = draw_molecule("CCO", {0: 1.0, 1: -0.5, 2: 0.0}, {(0, 1): 0.2, (1, 2): -1.0})
    assert plain.startswith("<svg")
    orange = "#d65e00"  # the atom that raises the output the most has the full colour
    assert orange in shown.lower()
    assert orange not in plain.lower()
    assert draw_molecule("no molecule") == ""
    assert draw_molecule("CCO", {0: 1.0}) == ""
    assert draw_molecule("C" * 20_000) == ""  # RDKit would look for the places of its atoms during hours
