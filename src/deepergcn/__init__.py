"""Very deep graph networks: the system of *DeeperGCN: All You Need to Train Deeper GCNs*."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from deepergcn.extras import TRAIN, advice, missing
from deepergcn.version import __version__

if TYPE_CHECKING:
    from deepergcn.inference.predictor import load
    from deepergcn.nn.pyg.accelerate import accelerate
    from deepergcn.training.train import train

__all__ = ["__version__", "accelerate", "load", "train"]

# Each name is imported when it is first used, so that importing the package stays fast.
_LAZY = {
    "accelerate": "deepergcn.nn.pyg.accelerate",
    "load": "deepergcn.inference.predictor",
    "train": "deepergcn.training.train",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        try:
            return getattr(import_module(_LAZY[name]), name)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] not in TRAIN:
                raise
            raise ImportError(advice(f"deepergcn.{name}", missing()), name=error.name) from error
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
