"""The extra ``train``: what the program and its data need beyond the library."""

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
"""The package behind every module that only the extra brings."""


def missing() -> tuple[str, ...]:
    """The packages of the extra that are not installed."""
    return tuple(package for module, package in TRAIN.items() if find_spec(module) is None)


def advice(what: str, packages: tuple[str, ...]) -> str:
    """One line that says what to install."""
    return f"{what} needs {', '.join(packages)}; install the extra: pip install 'deepergcn[train]'"
