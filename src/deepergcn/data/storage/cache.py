"""Cached datasets as safetensors: memory-mapped, and rebuilt when stale or damaged."""

import json
import logging
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from deepergcn.data.dataset import PARTS, Dataset
from deepergcn.data.provenance import ADAPTER
from deepergcn.data.storage.digest import text_digest
from deepergcn.data.storage.files import remove_abandoned, write_tensors
from deepergcn.data.task import Task
from deepergcn.errors import InputError

FORMAT = 3
"""The version of this format; a cache of any other version is stale."""

_HEADER, _CHECKSUM = "deepergcn", "checksum"
_ARRAYS = ("node_ptr", "edge_ptr", "edge_index", "x", "edge_attr", "y", "pairs")
_VALUES = ("name", "symmetric", "digest")
_TUPLES = ("x_categories", "edge_categories", "label_names")
_NAMES = ("ids", "node_ids")
_EXTRA = "node_extra."

_log = logging.getLogger(__name__)


def cache_file(root: Path, name: str, *identity: Any) -> Path:
    """The cache file of a source: a readable name, and a hash of its identity (path, options)."""
    safe = "".join(c if (c.isascii() and c.isalnum()) or c in "-_" else "_" for c in name)[:80]
    return root / "arrays" / f"{safe}-{text_digest(*identity)[:12]}.safetensors"


def cached(path: Path, key: str, build: Callable[[], Dataset]) -> Dataset:
    """Load the dataset in ``path`` if its key is ``key``, else build it with ``build`` and save it there.

    The key is a digest of everything the dataset depends on. If the folder is not writable, the dataset is not cached.
    """
    found = load(path, key)
    if found is not None:
        return found
    dataset = build()
    try:
        save(dataset, path, key)
    except InputError as error:
        _log.warning("the dataset is not cached: %s", error)
    return dataset


def save(dataset: Dataset, path: Path, key: str) -> None:
    """Write the file atomically."""
    arrays = _arrays(dataset)
    header = json.dumps(_header(dataset, key, arrays))
    metadata = {_HEADER: header, _CHECKSUM: str(zlib.crc32(header.encode()))}
    remove_abandoned(path.parent)
    write_tensors(path, arrays, metadata)


def load(path: Path, key: str) -> Dataset | None:
    """Load the dataset in ``path``; None if it is missing, has another key, or is damaged."""
    if not path.is_file():
        return None
    try:
        return _load(path, key)
    except (SafetensorError, OSError, InputError, ValueError, KeyError, TypeError) as error:
        _log.warning("%s: the cache is damaged and will be rebuilt (%s)", path, error)
        return None


def _load(path: Path, key: str) -> Dataset | None:
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata() or {}
        text = metadata[_HEADER]
        if zlib.crc32(text.encode()) != int(metadata[_CHECKSUM]):
            raise InputError("the header does not match its checksum")
        header = json.loads(text)
        if header["format"] != FORMAT or header["key"] != key:
            return None
        names = file.keys()
        arrays = {name: file.get_tensor(name) for name in names}
    if _checksums(arrays) != header["checksums"]:
        raise InputError("an array does not match its checksum")
    fields: dict[str, Any] = {name: header[name] for name in _VALUES}
    fields |= {name: None if header[name] is None else tuple(header[name]) for name in _TUPLES}
    fields |= {name: arrays.get(name) for name in _ARRAYS}
    for name in _NAMES:
        if name in arrays:
            fields[name] = tuple(json.loads(arrays[name].numpy().tobytes()))
    return Dataset(
        provenance=ADAPTER.validate_python(header["provenance"]),
        task=Task(**header["task"]),
        split={part: arrays[f"split.{part}"] for part in PARTS},
        node_extra={n.removeprefix(_EXTRA): a for n, a in arrays.items() if n.startswith(_EXTRA)},
        **fields,
    )


def _header(dataset: Dataset, key: str, arrays: Mapping[str, Tensor]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "key": key,
        "task": asdict(dataset.task),
        "provenance": ADAPTER.dump_python(dataset.provenance, mode="json"),
        "checksums": _checksums(arrays),
        **{name: getattr(dataset, name) for name in (*_VALUES, *_TUPLES)},
    }


def _arrays(dataset: Dataset) -> dict[str, Tensor]:
    arrays = {name: getattr(dataset, name) for name in _ARRAYS}
    arrays |= {f"split.{part}": index for part, index in dataset.split.items()}
    arrays |= {f"{_EXTRA}{name}": values for name, values in dataset.node_extra.items()}
    for name in _NAMES:
        if getattr(dataset, name):
            arrays[name] = torch.frombuffer(bytearray(json.dumps(getattr(dataset, name)).encode()), dtype=torch.uint8)
    return {name: _whole(array) for name, array in arrays.items() if array is not None}


def _whole(array: Tensor) -> Tensor:
    """The array in contiguous memory of its own, as safetensors requires."""
    own = array.is_contiguous() and array.untyped_storage().nbytes() == array.nbytes
    return array if own else array.clone(memory_format=torch.contiguous_format)


def _checksums(arrays: Mapping[str, Tensor]) -> dict[str, int]:
    with ThreadPoolExecutor() as pool:
        sums = pool.map(lambda array: zlib.crc32(array.numpy()), arrays.values())
        return dict(zip(arrays, sums, strict=True))
