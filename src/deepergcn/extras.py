"""The extra ``train``: the packages that the program needs besides those of the library."""

from importlib.util import find_spec

TRAIN = {
    "joblib": "joblib",
    "lightning_fabric": "lightning-fabric",
    "matplotlib": "matplotlib",
    "pyarrow": "pyarrow",
    "pydantic": "pydantic",
    "rdkit": "rdkit",
    "rich": "rich",
    "torchmetrics": "torchmetrics",
    "typer": "typer",
    "yaml": "pyyaml",
}
"""Package by module, for the modules of the extra."""


def missing() -> tuple[str, ...]:
    """The packages of the extra that are not installed."""
    return tuple(package for module, package in TRAIN.items() if find_spec(module) is None)


def advice(what: str, packages: tuple[str, ...]) -> str:
    """One line that tells what to install."""
    return f"{what} needs {', '.join(packages)}; install the extra: pip install 'deepergcn[train]'"
