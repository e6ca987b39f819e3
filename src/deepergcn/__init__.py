"""Very deep graph networks: the system of *DeeperGCN: All You Need to Train Deeper GCNs*."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from deepergcn.errors import InputError
from deepergcn.extras import TRAIN, advice, missing
from deepergcn.large_pages import ask_for_large_pages
from deepergcn.version import __version__

if TYPE_CHECKING:
    from deepergcn import data, inference, nn, ops, recipes, report, runs, studies, training
    from deepergcn.api.molecules import MoleculeClassifier, MoleculeRegressor
    from deepergcn.api.nodes import NodeClassifier, NodeRegressor
    from deepergcn.api.train import train
    from deepergcn.inference.predictor import load
    from deepergcn.nn.pyg.accelerate import accelerate, accelerated, deaccelerate
    from deepergcn.runs.callbacks import Callback

__all__ = [
    "Callback",
    "InputError",
    "MoleculeClassifier",
    "MoleculeRegressor",
    "NodeClassifier",
    "NodeRegressor",
    "__version__",
    "accelerate",
    "accelerated",
    "data",
    "deaccelerate",
    "inference",
    "load",
    "nn",
    "ops",
    "recipes",
    "report",
    "runs",
    "studies",
    "train",
    "training",
]

ask_for_large_pages()

# Where each name is found when it is first used, so that importing the package is fast. All others are subpackages.
_LAZY = {
    "Callback": "deepergcn.runs.callbacks",
    "MoleculeClassifier": "deepergcn.api.molecules",
    "MoleculeRegressor": "deepergcn.api.molecules",
    "NodeClassifier": "deepergcn.api.nodes",
    "NodeRegressor": "deepergcn.api.nodes",
    "accelerate": "deepergcn.nn.pyg.accelerate",
    "accelerated": "deepergcn.nn.pyg.accelerate",
    "deaccelerate": "deepergcn.nn.pyg.accelerate",
    "load": "deepergcn.inference.predictor",
    "train": "deepergcn.api.train",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        if name in _LAZY:
            return getattr(import_module(_LAZY[name]), name)
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "sklearn":
            text = f"deepergcn.{name} needs scikit-learn; install the extra: pip install 'deepergcn[sklearn]'"
            raise ImportError(text, name=error.name) from error
        if package not in TRAIN:
            raise
        raise ImportError(advice(f"deepergcn.{name}", missing()), name=error.name) from error


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
