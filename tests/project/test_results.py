"""The tables and pictures of the README files are those of the results."""

from pathlib import Path

import pytest
from results.figures import HERE, build

from deepergcn.errors import InputError
from deepergcn.report.results import Result, add_results
from deepergcn.report.tables import NONE
from results import claims


def test_tables_and_pictures_are_up_to_date() -> None:
    for path, text in build().items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: is not up to date; expected make figures"


def test_every_study_with_results_is_shown() -> None:
    text = (HERE / "README.md").read_text(encoding="utf-8")
    for file in HERE.glob("*.csv"):
        assert f"<!-- results: {file.stem}" in text or f"<!-- figure: {file.stem} -->" in text


def write_results(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Column a with two seeds at 3 layers and one at 7, b at 3, and two runs with something else."""
    cells = (("a", 3, 0, 0.8), ("a", 3, 1, 0.9), ("a", 7, 0, 0.6), ("b", 3, 0, 0.5))
    first = Result(
        study="table-1", dataset="yeast_proteins", recipe="yeast-proteins", column="", row="", seed=0, epochs=100
    )
    runs = [
        first.model_copy(update={"column": column, "row": f"layers-{layers}", "seed": seed, "test": test})
        for column, layers, seed, test in cells
    ]
    runs += [runs[0].model_copy(update=changes) for changes in ({"settings": "x.y=1", "test": 0.1}, {"epochs": 20})]
    add_results(folder / "table-1.csv", runs)
    monkeypatch.setattr(claims, "HERE", folder)
    monkeypatch.setattr(claims, "TEXT", folder / "claims.md")


def test_scores_in_the_text_are_those_of_the_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_results(tmp_path, monkeypatch)
    text = "Text {table-1 a 3,7}.\n\n- First {table-1 a 7 -\n  b 3}\n- {table-1 a,b 3} {table-1 a 3 x.y=1} "
    claims.TEXT.write_text(text + "{table-1 a 3 20 epochs}")
    expected = "Text 0.850 ± 0.071 and 0.600.\n\n- First 0.100\n- 0.500 to 0.850 0.100 0.800\n"
    assert claims.claims() == expected
    rows = "".join(f"| {name} | {{cells table-1 {name} 3,7,14}} |\n" for name in "abc")
    claims.TEXT.write_text(f"| x | 3 | 7 | 14 |\n|---|---|---|---|\n{rows}")
    expected = f"| x | 3 | 7 |\n|---|---|---|\n| a | 0.850 ± 0.071 | 0.600 |\n| b | 0.500 | {NONE} |\n"
    assert claims.claims() == expected  # without what has no run at all
    claims.TEXT.write_text("{verdicts}\n\n### A claim, short\n\n**Holds** with\n{table-1 a 7}.\n\nMore.")
    table = "| claim | what came out here |\n|---|---|\n| [A claim, short](#a-claim-short) | **Holds** with 0.600. |\n"
    assert claims.claims() == f"{table}\n### A claim, short\n\n**Holds** with 0.600.\n\nMore.\n"
    for wrong, message in (
        ("table-1 a", "expected a study"),
        ("table-1 b 3,7", "does not have a run at every depth"),
        ("while table-1 a 3", "expected cells, > or <, and cells"),
    ):
        claims.TEXT.write_text("{" + wrong + "}")
        with pytest.raises(InputError, match=message):
            claims.claims()


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("table-1 a 3 > table-1 b 3", True),
        ("table-1 a 3 < table-1 b 3", False),
        ("table-1 a 3,7 > table-1 b 3,7 + 0.3", True),  # b has not been run at 7 layers
        ("table-1 a 3 > table-1 b 3 + 0.4", False),
        ("table-1 b 3 > table-1 a 3 - 0.4", True),
        ("table-1 b 3,3 > table-1 a 7,3 - 0.3", False),
        ("table-1 a,b 3 < table-1 a 3 + 0.1", True),
        ("table-1 b,a 3 < table-1 b 3 + 0.1", False),
    ],
)
def test_words_that_results_contradict_are_an_error(
    condition: str, holds: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_results(tmp_path, monkeypatch)
    claims.TEXT.write_text(f"It is so. {{while {condition}}}\n")
    if holds:
        assert claims.claims() == "It is so.\n"
        return
    with pytest.raises(InputError, match="is not true of 0"):
        claims.claims()
