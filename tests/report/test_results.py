"""Results as data: what is written is what is read, and a run done again takes the place of the one before."""

from pathlib import Path

import pytest

from deepergcn.errors import InputError
from deepergcn.report.results import add_results, collect, read_results
from deepergcn.report.study import read_study, write_study
from deepergcn.report.tables import latex, markdown, score_table, table_csv
from tests.report.made import made_study


def test_results_go_to_a_file_and_back(tmp_path: Path) -> None:
    results = collect(made_study(tmp_path / "small"))
    file = tmp_path / "results" / "small.csv"
    add_results(file, results)
    assert sorted(read_results(file), key=str) == sorted(results, key=str)
    first = results[0]
    assert (first.test, first.published, first.epochs, first.seconds) == (0.80, 0.834, 3, 6.0)
    assert (first.peak_memory_mb, first.version, first.commit) == (103.0, "1.2.3", "abc")
    assert results[-1].failure == "no <memory>"


def test_a_run_that_is_done_again_takes_the_place_of_the_first(tmp_path: Path) -> None:
    results = collect(made_study(tmp_path / "small"))
    file = tmp_path / "small.csv"
    add_results(file, results)
    again = [results[0].model_copy(update={"test": 0.9})]
    assert len(add_results(file, again)) == len(results)
    assert 0.9 in [result.test for result in read_results(file)]


def test_other_settings_do_not_take_the_place_of_the_recipes_own(tmp_path: Path) -> None:
    results = collect(made_study(tmp_path / "small"))
    file = tmp_path / "small.csv"
    add_results(file, results)
    study = read_study(tmp_path / "small")
    runs = tuple(run.model_copy(update={"settings": ("optimizer.lr=0.1", "model.dropout=0")}) for run in study.runs)
    write_study(tmp_path / "small", study.model_copy(update={"runs": runs}))
    both = add_results(file, collect(tmp_path / "small"))
    assert len(both) == 2 * len(results)
    assert {result.settings for result in read_results(file)} == {"", "optimizer.lr=0.1 model.dropout=0"}


def test_a_run_that_succeeds_takes_the_place_of_its_failure(tmp_path: Path) -> None:
    results = collect(made_study(tmp_path / "small"))
    file = tmp_path / "small.csv"
    add_results(file, results)
    mended = results[-1].model_copy(update={"failure": "", "epochs": 3, "test": 0.5})
    assert [result.failure for result in add_results(file, [mended])] == [""] * len(results)


def test_a_damaged_file_is_named_with_its_row(tmp_path: Path) -> None:
    file = tmp_path / "small.csv"
    add_results(file, collect(made_study(tmp_path / "small")))
    file.write_text(file.read_text().replace("0.85,", "high,", 1))
    with pytest.raises(InputError, match=r"small\.csv: row \d: "):
        read_results(file)


def test_the_table_in_three_forms(tmp_path: Path) -> None:
    folder = made_study(tmp_path / "small")
    study = read_study(folder)
    table = score_table(collect(folder), study.rows, study.columns, study.published)
    assert markdown(table).splitlines() == [
        "| layers | Plain max_1 | Res+ β |",
        "|---|---|---|",
        "| 3 | 0.810 ± 0.014 (0.834) | 0.850 (0.829) |",
        "| 7 | failed (\u2013) | \u2013 (0.845) |",
    ]
    assert table_csv(table).splitlines()[1] == "3,Plain max_1,0.81,0.0141421,2,0.834,-0.024"
    text = latex(table)
    assert "\\multicolumn{1}{c}{Plain} & \\multicolumn{1}{c}{Res+}" in text
    assert "\\#layers & max\\_1 & $\\beta$ \\\\" in text
    assert "\\textbf{0.850} {\\scriptsize (0.829)}" in text
    averages = table.averages()
    assert averages[0].ours == pytest.approx(0.81)
    assert averages[1].paper == pytest.approx(0.829)
