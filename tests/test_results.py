"""The tables and pictures of the README files are those of the results."""

from pathlib import Path

import pytest
from results.figures import HERE, build

from deepergcn.errors import InputError
from deepergcn.report.results import Result, add_results
from results import claims


def test_tables_and_pictures_are_up_to_date() -> None:
    for path, text in build().items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: is not up to date; expected make figures"


def test_every_study_with_results_is_shown() -> None:
    text = (HERE / "README.md").read_text(encoding="utf-8")
    for file in HERE.glob("*.csv"):
        assert f"<!-- results: {file.stem}" in text or f"<!-- figure: {file.stem} -->" in text


def test_scores_in_the_text_are_those_of_the_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = (("a", 3, 0, 0.8), ("a", 3, 1, 0.9), ("a", 7, 0, 0.6), ("b", 3, 0, 0.5))
    first = Result(
        study="table-1", dataset="yeast_proteins", recipe="yeast-proteins", column="", row="", seed=0, epochs=100
    )
    runs = [
        first.model_copy(update={"column": column, "row": f"layers-{layers}", "seed": seed, "test": test})
        for column, layers, seed, test in cells
    ]
    runs += [runs[0].model_copy(update=changes) for changes in ({"settings": "x.y=1", "test": 0.1}, {"epochs": 20})]
    add_results(tmp_path / "table-1.csv", runs)
    monkeypatch.setattr(claims, "HERE", tmp_path)
    monkeypatch.setattr(claims, "TEXT", tmp_path / "claims.md")
    text = "Text {table-1 a 3,7}.\n\n- First {table-1 a 7 -\n  b 3}\n- {table-1 a,b 3} {table-1 a 3 x.y=1} "
    claims.TEXT.write_text(text + "{table-1 a 3 20 epochs}")
    expected = "Text 0.850 ± 0.071 and 0.600.\n\n- First 0.100\n- 0.500 to 0.850 0.100 0.800\n"
    assert claims.claims() == expected
    for wrong, message in (("table-1 a", "expected a study"), ("table-1 b 7", "no such run of 7 layers")):
        claims.TEXT.write_text("{" + wrong + "}")
        with pytest.raises(InputError, match=message):
            claims.claims()
