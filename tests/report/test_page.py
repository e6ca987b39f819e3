"""The page: one file that needs no other, with every score, curve and command, and no error in a browser."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from deepergcn.errors import InputError
from deepergcn.report.page import render, run_page, study_page
from deepergcn.report.study import read_study, write_study
from deepergcn.studies.write_report import write_report
from tests.report.made import ended_run, made_study
from tests.report.test_outcomes import classes

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def test_the_page_of_a_study_has_both_scores_and_every_run(tmp_path: Path) -> None:
    page = study_page(made_study(tmp_path / "small"))
    text = render([page])
    assert "<b>0.810 ± 0.014</b></a><small>0.834 (-0.024)</small>" in text
    assert "<b>0.850</b></a><small>0.829 (+0.021)</small>" in text
    assert "small: A &amp; B" in text
    assert "failed: no &lt;memory&gt;" in text
    assert re.findall(r'<details id="small-([^"]+)"', text) == [
        "plain-layers-3-0",
        "plain-layers-3-1",
        "plain-layers-7-0",
        "res+-layers-3-0",
        "res+-layers-7-0",
    ]
    assert 'title="2 seeds"><a href="#small-plain-layers-3-0">' in text
    assert "Changed in every cell" not in text
    assert "deepergcn train x" in text
    assert [chart.title for chart in page.drawn] == [
        *("depth", "sweep", "compare"),
        "β of every layer: Plain max_1, 3 layers, seed 0",
        "β of every layer: Plain max_1, 3 layers, seed 1",
        "β of every layer: Res+ β, 3 layers, seed 0",
    ]
    for anchor in set(re.findall(r'href="#([^"]+)"', text)):
        assert f'id="{anchor}"' in text


def test_the_page_says_what_was_changed_in_every_cell(tmp_path: Path) -> None:
    folder = made_study(tmp_path / "small")
    study = read_study(folder)
    runs = tuple(run.model_copy(update={"settings": ("optimizer.lr=0.1",)}) for run in study.runs)
    write_study(folder, study.model_copy(update={"runs": runs}))
    assert "Changed in every cell: optimizer.lr=0.1." in render([study_page(folder)])


def test_the_page_loads_nothing(tmp_path: Path) -> None:
    text = render([study_page(made_study(tmp_path / "small"))])
    addresses = re.findall(r'(?:src|href|url)\s*[=(]\s*["\']?([^"\')\s>]+)', text)
    assert all(address.startswith(("#", "data:")) for address in addresses)


def test_the_page_of_a_run_has_scores_curves_and_recipe(tmp_path: Path) -> None:
    page = run_page(ended_run(tmp_path / "run", seed=4, test=0.8125).path)
    text = render([page])
    assert "<title>yeast-proteins, seed 4</title>" in text
    assert "0.8125" in text
    assert "103 MB" in text
    assert "num_layers: 3" in text
    assert [chart.title for chart in page.drawn] == ["loss", "rocauc", "β of every layer"]


def test_the_page_of_a_run_shows_confusion_and_the_molecules_of_the_worst_errors(tmp_path: Path) -> None:
    text = render([run_page(ended_run(tmp_path / "run", seed=0, test=0.8).path, classes())])
    assert "<th>predicted high</th>" in text
    assert text.count("<figure><svg ") == 3
    assert "&lt;svg" not in text
    assert "c1ccccc1<br>label mid, predicted low (0.70)" in text


def test_a_report_writes_the_page_the_figures_the_tables_and_the_results(tmp_path: Path) -> None:
    study = made_study(tmp_path / "small")
    run = ended_run(tmp_path / "run", seed=0, test=0.8).path
    written = write_report([study, run], export=tmp_path / "export", results=tmp_path / "results", predictions=False)
    assert written[0] == study / "report.html"
    names = {path.name for path in written[1:]}
    assert {"small-1.png", "small-1.svg", "small.csv", "small.md", "small.tex", "run-1.png"} <= names
    assert all(path.is_file() for path in written)
    text = written[0].read_text()
    assert '<a href="#small">' in text
    assert '<a href="#run">' in text


def test_a_folder_of_seeds_is_the_page_of_its_runs(tmp_path: Path) -> None:
    for seed in (0, 1):
        ended_run(tmp_path / f"seed-{seed}", seed=seed, test=0.8)
    (page,) = write_report([tmp_path], predictions=False)
    assert page == tmp_path / "report.html"
    assert all(f'<a href="#seed-{seed}">' in page.read_text() for seed in (0, 1))


def test_a_folder_that_is_neither_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no run, study or search"):
        write_report([tmp_path])


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium")
def test_a_browser_opens_the_page_and_the_runs_of_a_cell_without_an_error(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    run = run_page(ended_run(tmp_path / "run", seed=0, test=0.8).path)
    file.write_text(render([study_page(made_study(tmp_path / "small")), run]), encoding="utf-8")
    address = f"{file.as_uri()}#small-plain-layers-3-0"
    quiet = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    quiet += ["--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}"]
    answer = subprocess.run(
        [str(CHROMIUM), "--headless", "--no-sandbox", *quiet, "--enable-logging=stderr", "--dump-dom", address],
        capture_output=True,
        text=True,
        check=False,
    )
    assert 'data-ready="yes"' in answer.stdout
    opened = re.findall(r'<details id="([^"]+)"[^>]* open=""', answer.stdout)
    assert opened == ["small-plain-layers-3-0", "small-plain-layers-3-1"]
    assert [line for line in answer.stderr.splitlines() if "CONSOLE" in line] == []
