"""Very deep graph networks: the system of *DeeperGCN: All You Need to Train Deeper GCNs*."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from deepergcn.version import __version__

if TYPE_CHECKING:
    from deepergcn.inference.predictor import load
    from deepergcn.nn.pyg.accelerate import accelerate
    from deepergcn.training.train import train

__all__ = ["__version__", "accelerate", "load", "train"]

# Where each name is found when it is first asked for, so that importing the package stays light.
_LAZY = {
    "accelerate": "deepergcn.nn.pyg.accelerate",
    "load": "deepergcn.inference.predictor",
    "train": "deepergcn.training.train",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
