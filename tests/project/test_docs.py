"""The tutorials run as they stand, the pages link to what is there, and the program knows every command they show."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from deepergcn.cli.main import app
from tests.cli.program import Program
from tests.data.links.tables import links_file, nodes_file, random_links, write
from tests.data.typed.shop import shop
from tests.repository import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TUTORIALS = [*sorted((DOCS / "tutorials").glob("*.md")), DOCS / "extending.md"]
GENERATED = {"reference/commands.md", "reference/recipes.md", "paper.md", "examples.md", "changes.md"}

_BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^(?:    (?:torchrun .* -m )?|\$ (?:\.venv/bin/)?)deepergcn\b(.*)$", re.MULTILINE)


def commands() -> Iterator[Any]:
    """Every command of the README and of the pages, with a name for the test."""
    for page in (ROOT / "README.md", *PAGES):
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for number, line in enumerate(_COMMAND.findall(text), start=1):
            yield pytest.param(line, id=f"{page.stem}-{number}")


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    return Program(monkeypatch, capsys)


# A study's report and two processes are tested elsewhere: here they would take as long as all other tutorials together.
_ELSEWHERE = ("report studies/", "--devices 2")


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Program) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    blocks = _BLOCK.findall(page.read_text(encoding="utf-8"))
    assert blocks
    for kind, text in blocks:
        if kind == "python":
            exec(compile(text, str(page), "exec"), names)
            continue
        for line in text.splitlines():
            command = shlex.split(line.removeprefix("$ "), comments=True)
            assert line.startswith("$ ")
            if command[0] == "deepergcn" and not any(part in line for part in _ELSEWHERE):
                answer = program(*command[1:])
                assert answer.code == 0, answer.err


SMALL = ("--epochs", "2", "--set", "model.num_layers=2", "--set", "model.hidden_channels=8")


def example(name: str) -> list[list[str]]:
    """The arguments of the commands of an example on the page about own data."""
    page = (DOCS / "own-data.md").read_text(encoding="utf-8").replace("\\\n", " ")
    text = page.partition(f"<!-- example: {name} -->")[2].partition("<!-- end -->")[0]
    return [shlex.split(line)[1:] for line in text.strip().splitlines()]


def test_the_commands_for_typed_tables_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Program) -> None:
    """As they stand, with a small network."""
    shop(tmp_path)
    monkeypatch.chdir(tmp_path)
    training, prediction = example("typed")
    assert program(*training, *SMALL).code == 0
    assert program(*prediction).code == 0
    assert len((tmp_path / "happy.csv").read_text().splitlines()) == 61


def test_the_commands_for_links_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Program) -> None:
    links_file(tmp_path, nodes=50, count=600)
    nodes_file(tmp_path, nodes=50)
    write(tmp_path / "pairs.csv", ("source", "target"), random_links(50, 7, seed=2))
    monkeypatch.chdir(tmp_path)
    training, evaluation, prediction = example("links")
    assert program(*training, *SMALL).code == 0
    assert program(*evaluation).code == 0
    assert program(*prediction).code == 0
    assert len((tmp_path / "scores.csv").read_text().splitlines()) == 8


@pytest.mark.parametrize("line", list(commands()))
def test_the_program_knows_the_command(line: str) -> None:
    """Only parsed: nothing is read or trained."""
    program = typer.main.get_command(app)
    context = typer.Context(program)
    name, *arguments = shlex.split(line, comments=True) or ["--help"]
    if name.startswith("--"):
        return
    command = program.get_command(context, name)  # type: ignore[attr-defined]
    assert command is not None, name
    command.make_context(name, arguments, parent=context)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_links_lead_to_pages(page: Path) -> None:
    known = {str(other.relative_to(DOCS)) for other in PAGES} | GENERATED
    for target in re.findall(r"\]\(([^)#:]+\.md)(?:#[\w-]+)?\)", page.read_text(encoding="utf-8")):
        path = (page.parent / target).resolve().relative_to(DOCS)
        assert str(path) in known, f"{page.name} links to {target}"


def test_every_page_is_in_the_navigation() -> None:
    shown = set(re.findall(r": ([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    assert shown == {str(page.relative_to(DOCS)) for page in PAGES} | GENERATED


def test_every_question_names_its_page_and_its_thread() -> None:
    text = (DOCS / "questions.md").read_text(encoding="utf-8")
    questions = [part for part in text.split("\n\n") if part.startswith("**")]
    assert len(questions) >= 20
    for question in questions:
        assert re.search(r"\]\([\w/-]+\.md(?:#[\w-]+)?\)", question), question
        [(repository, number, url)] = re.findall(r"\*Asked\s+in \[([\w/.-]+)#(\d+)\]\((\S+)\)\.\*", question)
        assert re.fullmatch(rf"https://github\.com/{re.escape(repository)}/(?:issues|pull)/{number}", url)
