"""The source distribution and the wheel hold all that the package needs, and work where nothing else of it is."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from deepergcn import __version__
from tests.repository import ROOT

BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_{kind}(sys.argv[1]))"

USE = """
from importlib.metadata import version

import deepergcn
from deepergcn.data import load_dataset
from deepergcn.recipes.load import recipe_names

print(deepergcn.__file__, deepergcn.__version__, version("deepergcn"))
print(len(load_dataset("solubility")))
print(*recipe_names())
"""


def call(*command: object, folder: Path, **environment: str) -> str:
    """What the command prints. The sources of this repository are not on its path."""
    hidden = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    answer = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=hidden | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree, out = tmp_path_factory.mktemp("tree") / "deepergcn", tmp_path_factory.mktemp("sdist")
    tree.mkdir()
    shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    call(sys.executable, "-c", BUILD.format(kind="sdist"), out, folder=tree)
    [archive] = out.iterdir()
    return archive


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the source distribution, which thus lacks nothing."""
    tree, out = tmp_path_factory.mktemp("unpacked"), tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        archive.extractall(tree, filter="data")
    [top] = tree.iterdir()
    call(sys.executable, "-c", BUILD.format(kind="wheel"), out, folder=top)
    [built] = out.iterdir()
    return built


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    source = ROOT / "src"
    here = {
        path.relative_to(source).as_posix()
        for path in (source / "deepergcn").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        there = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert there == here
    assert {"deepergcn/py.typed", "deepergcn/recipes/solubility.yaml"} < there
    assert "deepergcn/data/molecules/solubility.csv.gz" in there


def test_both_carry_the_licences(sdist: Path, wheel: Path) -> None:
    with tarfile.open(sdist) as archive:
        source = archive.getnames()
    with zipfile.ZipFile(wheel) as archive:
        binary = archive.namelist()
    for names in (source, binary):
        assert any(name.endswith("/LICENSE") for name in names)
        assert any(name.endswith("/solubility.LICENSE.txt") for name in names)


def test_the_wheel_works_in_a_clean_environment(wheel: Path, tmp_path: Path) -> None:
    """The environment has nothing but the wheel; what that depends on is on its path."""
    environment = tmp_path / "environment"
    call(sys.executable, "-m", "venv", "--without-pip", environment, folder=tmp_path)
    python = environment / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python)
    call(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, folder=tmp_path)
    packages = Path(call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=tmp_path))
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    about, molecules, recipes = call(python, "-W", "ignore", "-c", USE, folder=tmp_path).splitlines()
    place, *versions = about.rsplit(maxsplit=2)
    assert Path(place).is_relative_to(packages)
    assert versions == [__version__, __version__]
    assert molecules == "1282"
    assert "solubility" in recipes.split()
    assert "Usage: deepergcn" in call(environment / "bin" / "deepergcn", "--help", folder=tmp_path, COLUMNS="80")
