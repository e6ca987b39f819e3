"""One file from its parts, copied a part at a time."""

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet

from deepergcn.data.storage.files import replacing
from deepergcn.inference.parts.folder import PartFolder


def join_parts(folder: PartFolder, numbers: Sequence[int], output: Path) -> None:
    """Write all parts to one file of the same kind, whole or not at all."""
    files = [folder.file(number) for number in numbers]
    with replacing(output) as target:
        if folder.ending == ".csv":
            with target.open("wb") as file:
                for place, number in enumerate(numbers):
                    content = folder.file(number).read_bytes()
                    file.write(content[folder.record(number).header if place else 0 :])
        elif folder.ending == ".parquet":
            with pyarrow.parquet.ParquetWriter(target, pyarrow.parquet.read_schema(files[0])) as writer:
                for part in files:
                    writer.write_table(pyarrow.parquet.read_table(part))
        else:
            _join_arrays(files, target)


def _join_arrays(files: Sequence[Path], target: Path) -> None:
    """The arrays ``id`` and ``embedding`` of all files, each of which is read once for either."""
    with zipfile.ZipFile(target, "w", allowZip64=True) as archive:
        for name in ("id", "embedding"):
            shapes = [(array.shape, array.dtype) for array in _arrays(files, name)]
            rows = sum(shape[0] for shape, _ in shapes)
            dtype = max((dtype for _, dtype in shapes), key=lambda dtype: dtype.itemsize)  # the longest text
            header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False}
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array_header_2_0(entry, {**header, "shape": (rows, *shapes[0][0][1:])})
                for array in _arrays(files, name):
                    entry.write(np.ascontiguousarray(array, dtype=dtype).tobytes())


def _arrays(files: Sequence[Path], name: str) -> Iterator[Any]:
    for file in files:
        with np.load(file, allow_pickle=False) as arrays:
            yield arrays[name]
