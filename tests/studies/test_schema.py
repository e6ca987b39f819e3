"""Studies: the paper's tables with every value, and errors that say where a file is wrong."""

from pathlib import Path

import pytest

from deepergcn.errors import InputError
from deepergcn.recipes.load import load_recipe
from deepergcn.runs.model.network import count_parameters
from deepergcn.studies.cells import Grid, Source, plan_cells
from deepergcn.studies.schema import load_study, study_names
from tests.studies.grids import YAML, small_study

AVERAGES = {
    "table-1": [0.820, 0.801, 0.826, 0.836, 0.804, 0.844, 0.842, 0.811, 0.848],
    "table-2": [0.811, 0.814, 0.809, 0.815, 0.838, 0.843, 0.847, 0.849, 0.849, 0.848],
    "table-3": [0.823, 0.786, 0.812, 0.829, 0.838, 0.843, 0.845],
    "table-4": [0.838, 0.850, 0.850, 0.812, 0.838, 0.848],
}
"""The row "avg." of the paper's tables; of p = 3 it prints 0.838 for a mean of 0.8365."""


@pytest.mark.parametrize("name", AVERAGES)
def test_the_published_values_have_the_averages_that_the_paper_prints(name: str) -> None:
    published = [column.published for column in load_study(name).columns if column.published]
    for values, average in zip(published, AVERAGES[name], strict=True):
        known = [value for value in values if value is not None]
        assert sum(known) / len(known) == pytest.approx(average, abs=0.0016)


def test_the_cells_that_the_paper_leaves_empty_are_part_of_the_studies() -> None:
    table = load_study("table-4")
    empty = [
        (column.name, layers)
        for column in table.columns
        for layers, value in zip(table.layers, column.published, strict=True)
        if value is None
    ]
    assert empty == [("p", 112), ("p-s", 56), ("p-s", 112)]
    beyond = [column.set["model.p"] for column in load_study("table-3").columns if not column.published]
    assert beyond == [10, 100, 1000]


def test_no_cell_of_table_1_has_dropout_which_a_deep_resgcn_cannot_learn_with() -> None:
    study = load_study("table-1")
    cells = plan_cells(study, Grid(), {row.name: Source("ogbn-proteins") for row in study.rows()}, Path("x"))
    assert {cell.recipe.model.dropout for cell in cells} == {0}
    assert {load_recipe("ogbn-proteins").model.dropout} == {0.1}


@pytest.mark.parametrize("name", study_names())
def test_every_cell_is_a_network_that_can_be_built(name: str, tmp_path: Path) -> None:
    study = load_study(name)
    rows = study.rows()[:1] if study.layers else study.rows()
    sources = {row.name: Source(study.recipe_of(row)) for row in study.rows()}
    cells = plan_cells(study, Grid(seeds=1), sources, tmp_path)
    for cell in cells:
        if cell.row in rows:
            inputs = load_recipe(cell.setup.source.recipe).data.inputs
            assert inputs is not None
            assert count_parameters(cell.recipe, inputs) > 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("layers: [1, 2]", "layers: []", "expected either layers or tasks as rows"),
        ("[0.5, null]", "[0.5]", "column plain has 1 values; expected 2"),
        ("name: res+", "name: plain", "expected columns with different names"),
        ("kind: depth", "kind: deep", "charts.0.kind"),
        ("title: depth}", "title: depth, columns: [none]}", "none is not among plain, res"),
        ("claim: none", "claims: none", "claim: Field required"),
    ],
)
def test_an_error_names_what_is_wrong_in_a_study(old: str, new: str, message: str, tmp_path: Path) -> None:
    small_study(tmp_path)
    (tmp_path / "wrong.yaml").write_text(YAML.replace(old, new))
    with pytest.raises(InputError, match=rf"wrong\.yaml: .*{message}"):
        load_study(tmp_path / "wrong.yaml")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[" * 50_000, "is nested too deeply"),
        (b"a: &a [x, x]\nb: [*a, *a]", "has an alias"),
        (b"\xff\xfe", "the study cannot be read"),
    ],
    ids=["depth", "aliases", "bytes"],
)
def test_a_file_that_is_no_study_is_one_clear_error(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "hostile.yaml").write_bytes(content)
    with pytest.raises(InputError, match=rf"hostile\.yaml: .*{message}"):
        load_study(tmp_path / "hostile.yaml")


def test_an_unknown_study_lists_those_that_there_are() -> None:
    with pytest.raises(InputError, match=r"table-9: is neither a study's name .*table-1, table-2"):
        load_study("table-9")
