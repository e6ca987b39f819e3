"""The lock names every package that an installation brings, at the version of constraints.txt where that has one.

The libraries of CUDA are left out: some builds of torch bring them, others none, and each names the versions it needs.
"""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.repository import ROOT

OF_CUDA = "(nvidia|cuda)-"


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    found = [line.split("==") for line in lines if line and not line.startswith("#")]
    assert all(len(pin) == 2 for pin in found), "every line is one package and its version"
    return {canonicalize_name(package): version for package, version in found}


def direct() -> list[Requirement]:
    """What pyproject.toml asks for, its extras included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = [*project["dependencies"], *(text for extra in project["optional-dependencies"].values() for text in extra)]
    return [need for need in map(Requirement, texts) if need.name != "deepergcn"]


def needs(requirement: Requirement, locked: str | None) -> list[Requirement]:
    """What the package of this name asks for on this machine, if it is installed as locked."""
    try:
        package = distribution(requirement.name)
    except PackageNotFoundError:
        return []
    if package.version.partition("+")[0] != locked:
        return []
    found = [Requirement(text) for text in package.requires or () if not re.match(OF_CUDA, text)]
    extras = ("", *requirement.extras)
    return [need for need in found if need.marker is None or any(need.marker.evaluate({"extra": e}) for e in extras)]


def test_every_direct_dependency_is_pinned_alike() -> None:
    lock, constraints = pins("requirements.lock"), pins("constraints.txt")
    assert set(constraints) == {canonicalize_name(need.name) for need in direct()}
    assert {name: lock.get(name) for name in constraints} == constraints
    assert all(constraints[canonicalize_name(need.name)] in need.specifier for need in direct())


def test_all_that_they_bring_is_locked() -> None:
    lock, seen, open_ = pins("requirements.lock"), set(), direct()
    while open_:
        need = open_.pop()
        key = (canonicalize_name(need.name), frozenset(need.extras))
        if key not in seen:
            seen.add(key)
            open_ += needs(need, lock.get(key[0]))
    assert {name for name, _ in seen} - set(lock) == set()


def test_torch_stands_first_and_no_place_is_named() -> None:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    assert lines[1] == "torch==2.13.0"
    assert not [line for line in lines[1:] if "/" in line or "@" in line or re.match(OF_CUDA, line)]
