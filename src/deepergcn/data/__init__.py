"""From files to batches: every source becomes one kind of dataset, and every input is checked.

The names below are imported when they are first used, so that the program can list datasets without loading torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepergcn.data.dataset import Dataset
    from deepergcn.data.layout_writer import write_layout
    from deepergcn.data.molecules import read_molecules, read_molecules_to_predict
    from deepergcn.data.registry import load_dataset
    from deepergcn.data.tables import read_tables, read_tables_to_predict
    from deepergcn.data.task import Task

_HOMES = {
    "Dataset": "dataset",
    "Task": "task",
    "load_dataset": "registry",
    "read_molecules": "molecules",
    "read_molecules_to_predict": "molecules",
    "read_tables": "tables",
    "read_tables_to_predict": "tables",
    "write_layout": "layout_writer",
}

__all__ = [
    "Dataset",
    "Task",
    "load_dataset",
    "read_molecules",
    "read_molecules_to_predict",
    "read_tables",
    "read_tables_to_predict",
    "write_layout",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
