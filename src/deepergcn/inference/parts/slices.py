"""Predictions and embeddings to files, some rows at a time: as text, all of them would take many times their memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet

from deepergcn.data.storage.csv_text import header_length
from deepergcn.data.storage.files import replacing

if TYPE_CHECKING:
    from deepergcn.inference.predictions import Embeddings, Predictions

ROWS = 50_000
"""Rows at a time."""


def slices(results: "Predictions | Embeddings", rows: int = ROWS) -> Iterator[Any]:
    """The results in slices of this number of rows, in order; at least one slice, which may be empty."""
    for start in range(0, max(len(results), 1), rows):
        yield results.slice(start, min(start + rows, len(results)))


def write_slices(results: "Predictions | Embeddings", path: Path, ending: str, **how: Any) -> None:
    """Write a CSV or parquet file, whole or not at all; ``how`` goes to ``content`` and ``table``."""
    with replacing(path) as target:
        if ending == ".csv":
            with target.open("wb") as file:
                for number, some in enumerate(slices(results)):
                    content = some.content(ending, **how)
                    file.write(content[header_length(content) if number else 0 :])
            return
        tables = (some.table(**how) for some in slices(results))
        first = next(tables)
        with pyarrow.parquet.ParquetWriter(target, first.schema) as writer:
            writer.write_table(first)
            for table in tables:
                writer.write_table(table)
