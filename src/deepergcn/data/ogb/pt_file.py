"""The ``.pt`` files of OGB's splits: dictionaries of arrays of whole numbers, read without running anything in them.

They are pickles. The reader of torch (``weights_only``) takes plain values and tensors alone. Beside these only the
four names of :data:`_ALLOWED` are known, and none of them leads to NumPy: each stands for a record below, of which
an array is made here.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from deepergcn.data.storage.source_files import check_file
from deepergcn.errors import InputError

_WHOLE = {"i8": np.int64, "i4": np.int32, "i2": np.int16, "u1": np.uint8}  # in little-endian order


class _Kind:
    """Stands for ``numpy.dtype``: the name that a file gives."""

    def __init__(self, name: object = "", *_: object) -> None:
        self.name, self.state = name, ()

    def __setstate__(self, state: object) -> None:
        self.state = state if isinstance(state, tuple) else ()


class _Array:
    """Stands for ``numpy.ndarray``: its shape, kind and bytes, as the file gives them."""

    state: object = ()

    def __setstate__(self, state: object) -> None:
        self.state = state


def _new_array(*_: object) -> _Array:
    """Stands for ``numpy.core.multiarray._reconstruct``."""
    return _Array()


_ALLOWED: list[Any] = [
    (_new_array, "numpy.core.multiarray._reconstruct"),
    (_new_array, "numpy._core.multiarray._reconstruct"),
    (_Array, "numpy.ndarray"),
    (_Kind, "numpy.dtype"),
]


def read_arrays(path: Path) -> dict[str, npt.NDArray[np.int64]]:
    """The arrays of whole numbers in a file, by name; other entries are left out."""
    check_file(path)
    try:
        with torch.serialization.safe_globals(_ALLOWED), warnings.catch_warnings(action="ignore"):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except Exception as error:  # a damaged or hostile file can fail in any way
        asks_for_code = any(sign in str(error) for sign in ("Unsupported global", "is blocked", "Can only"))
        reason = "refused: it asks for code to be run" if asks_for_code else "damaged, or another format"
        raise InputError(f"{path}: cannot be read as a split of arrays and plain values ({reason})") from error
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise InputError(f"{path}: expected a dictionary of arrays by name")
    arrays = {name: _numbers(path, name, value) for name, value in content.items()}
    return {name: array for name, array in arrays.items() if array is not None}


def _numbers(path: Path, name: str, value: object) -> npt.NDArray[np.int64] | None:
    """The whole numbers of a tensor or an array; None for what is neither, or of another kind."""
    if isinstance(value, Tensor):
        whole = not value.is_floating_point() and not value.is_complex() and value.layout == torch.strided
        return value.long().numpy() if whole else None
    if not isinstance(value, _Array):
        return None
    match value.state:
        case (_, tuple() as shape, _Kind(name=kind), fortran, (bytes() | str()) as content):
            return _from_bytes(path, name, shape, str(kind), bool(fortran), content)
    raise InputError(f"{path}: the array {name!r} is damaged")


def _from_bytes(
    path: Path, name: str, shape: tuple[object, ...], kind: str, fortran: bool, content: bytes | str
) -> npt.NDArray[np.int64] | None:
    if kind not in _WHOLE:
        return None
    raw = content.encode("latin-1") if isinstance(content, str) else content
    numbers = np.frombuffer(raw, dtype=np.dtype(_WHOLE[kind]).newbyteorder("<"))
    sizes = [size for size in shape if isinstance(size, int) and size >= 0]
    if len(sizes) != len(shape) or int(np.prod(sizes, dtype=np.float64)) != len(numbers):
        raise InputError(f"{path}: the array {name!r} has {len(numbers)} numbers; expected the shape {shape}")
    return numbers.reshape(sizes, order="F" if fortran else "C").astype(np.int64)
