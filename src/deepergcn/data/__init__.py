"""From files to batches: every source becomes one kind of dataset, and every input is checked.

The names below are imported when they are first used, so that the program can list datasets without loading torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepergcn.data.batch import GraphBatch
    from deepergcn.data.dataset import Dataset
    from deepergcn.data.layout_writer import write_layout
    from deepergcn.data.loader import GraphLoader
    from deepergcn.data.molecules import read_molecules, read_molecules_to_predict
    from deepergcn.data.output_mean import OutputMean
    from deepergcn.data.partitions import ClusterPartitions, RandomPartitions, WholeGraph
    from deepergcn.data.registry import load_dataset
    from deepergcn.data.tables import read_tables, read_tables_to_predict
    from deepergcn.data.task import Task
    from deepergcn.data.transforms import apply_transforms

_HOMES = {
    "ClusterPartitions": "partitions",
    "Dataset": "dataset",
    "GraphBatch": "batch",
    "GraphLoader": "loader",
    "OutputMean": "output_mean",
    "RandomPartitions": "partitions",
    "Task": "task",
    "WholeGraph": "partitions",
    "apply_transforms": "transforms",
    "load_dataset": "registry",
    "read_molecules": "molecules",
    "read_molecules_to_predict": "molecules",
    "read_tables": "tables",
    "read_tables_to_predict": "tables",
    "write_layout": "layout_writer",
}

__all__ = [
    "ClusterPartitions",
    "Dataset",
    "GraphBatch",
    "GraphLoader",
    "OutputMean",
    "RandomPartitions",
    "Task",
    "WholeGraph",
    "apply_transforms",
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
