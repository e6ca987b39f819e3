"""From files to batches: every source becomes a :class:`Dataset`, and every input is checked.

Names are imported on first use, so that the program can list datasets without loading torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepergcn.data.batching.batch import GraphBatch
    from deepergcn.data.batching.loader import GraphLoader
    from deepergcn.data.batching.output_mean import OutputMean
    from deepergcn.data.batching.partitions import ClusterPartitions, RandomPartitions, WholeGraph
    from deepergcn.data.dataset import Dataset
    from deepergcn.data.links.read import read_links
    from deepergcn.data.molecules.read import read_molecules, read_molecules_to_predict
    from deepergcn.data.ogb.layout_writer import write_layout
    from deepergcn.data.registry import load_dataset
    from deepergcn.data.tables.read import read_tables, read_tables_to_predict
    from deepergcn.data.task import Task
    from deepergcn.data.transforms import apply_transforms
    from deepergcn.data.typed.dataset import TypedDataset
    from deepergcn.data.typed.read import read_typed_tables, read_typed_tables_to_predict

_HOMES = {
    "ClusterPartitions": "batching.partitions",
    "Dataset": "dataset",
    "GraphBatch": "batching.batch",
    "GraphLoader": "batching.loader",
    "OutputMean": "batching.output_mean",
    "RandomPartitions": "batching.partitions",
    "Task": "task",
    "TypedDataset": "typed.dataset",
    "WholeGraph": "batching.partitions",
    "apply_transforms": "transforms",
    "load_dataset": "registry",
    "read_links": "links.read",
    "read_molecules": "molecules.read",
    "read_molecules_to_predict": "molecules.read",
    "read_tables": "tables.read",
    "read_tables_to_predict": "tables.read",
    "read_typed_tables": "typed.read",
    "read_typed_tables_to_predict": "typed.read",
    "write_layout": "ogb.layout_writer",
}

__all__ = [
    "ClusterPartitions",
    "Dataset",
    "GraphBatch",
    "GraphLoader",
    "OutputMean",
    "RandomPartitions",
    "Task",
    "TypedDataset",
    "WholeGraph",
    "apply_transforms",
    "load_dataset",
    "read_links",
    "read_molecules",
    "read_molecules_to_predict",
    "read_tables",
    "read_tables_to_predict",
    "read_typed_tables",
    "read_typed_tables_to_predict",
    "write_layout",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
