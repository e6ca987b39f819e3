"""The tutorials run as they stand, the pages link to what is there, and every command and key is documented."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import Program
from tests.repository import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
GENERATED = {"reference/commands.md", "reference/recipes.md", "measured.md", "paper.md"}

_BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_links_lead_to_pages(page: Path) -> None:
    known = {str(other.relative_to(DOCS)) for other in PAGES} | GENERATED
    for target in re.findall(r"\]\(([^)#:]+\.md)(?:#[\w-]+)?\)", page.read_text(encoding="utf-8")):
        path = (page.parent / target).resolve().relative_to(DOCS)
        assert str(path) in known, f"{page.name} links to {target}"


def test_every_page_is_in_the_navigation() -> None:
    shown = set(re.findall(r": ([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    assert shown == {str(page.relative_to(DOCS)) for page in PAGES} | GENERATED
