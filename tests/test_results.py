"""The tables and pictures of the README files are those of the results."""

from results.figures import HERE, build


def test_tables_and_pictures_are_up_to_date() -> None:
    for path, text in build().items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: is not up to date; expected make figures"


def test_every_study_with_results_is_shown() -> None:
    text = (HERE / "README.md").read_text(encoding="utf-8")
    for file in HERE.glob("*.csv"):
        assert f"<!-- results: {file.stem}" in text
