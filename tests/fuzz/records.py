"""Damage of files that hold trees of values: JSON, YAML, and safetensors with a record in their metadata."""

import json
import struct
from collections.abc import Callable
from random import Random
from typing import Any

import safetensors.torch
import torch
import yaml
from torch import Tensor

from deepergcn.runs.model.model_file import ENTRY, checksum
from deepergcn.runs.state import checksums
from tests.fuzz.mutate import damage_bytes, damage_tree


def damage_safetensors(random: Random, content: bytes) -> bytes:
    """Damage of the bytes, of the header, of its metadata, or of what the file says under a checksum that is right."""
    size = struct.unpack("<Q", content[:8])[0]
    header, rest = json.loads(content[8 : 8 + size]), content[8 + size :]
    match random.randrange(5):
        case 0:
            return damage_bytes(random, content)
        case 1:
            header = damage_tree(random, header)
        case 2:
            metadata = header["__metadata__"]
            key = random.choice(sorted(metadata))
            metadata[key] = damage_bytes(random, metadata[key].encode()).decode(errors="replace")
        case _:
            return _signed(random, header["__metadata__"], safetensors.torch.load(content))
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + rest


def _signed(random: Random, metadata: dict[str, str], tensors: dict[str, Tensor]) -> bytes:
    """A model or state whose record or weights are damaged, and whose checksums fit it."""
    model = ENTRY in metadata
    content: dict[str, str] = json.loads(metadata[ENTRY]) if model else dict(metadata)
    for name in ("checksum", "checksums"):
        content.pop(name, None)
    key = random.choice((*sorted(content), "weights"))
    if key == "weights":
        name = random.choice(sorted(tensors))
        tensors[name] = random.choice((tensors[name] * float("nan"), torch.ones(1), torch.zeros(0)))
    elif key == "recipe":
        content[key] = dumped(yaml.safe_dump, damage_tree(random, yaml.safe_load(content[key])))
    else:
        content[key] = dumped(json.dumps, damage_tree(random, json.loads(content[key])))
    if model:
        content["checksum"] = checksum(content, tensors)
        return safetensors.torch.save(tensors, {ENTRY: json.dumps(content)})
    content["checksums"] = json.dumps(checksums(content["progress"], tensors))
    return safetensors.torch.save(tensors, content)


def damage_tensor(random: Random, content: bytes) -> bytes:
    """A safetensors file with one tensor of another shape, type or content, or without it."""
    tensors = safetensors.torch.load(content)
    name = random.choice(sorted(tensors))
    tensor = tensors.pop(name)
    change = random.choice((*_CHANGES, None))
    if change is not None:
        tensors[name] = change(tensor).contiguous()
    return safetensors.torch.save(tensors)


_CHANGES: tuple[Callable[[Tensor], Tensor], ...] = (
    *(lambda t: t.flatten(), lambda t: t[None], lambda t: t[:0], lambda t: t[1:], lambda t: torch.cat((t, t))),
    *(lambda t: t[0], lambda t: t.flip(0), lambda t: -t, lambda t: t + 1, lambda t: t * 2**20, lambda t: t // 2),
    *(lambda t: t.bool(), lambda t: t.to(torch.uint8), lambda t: t.half(), lambda t: t.double(), lambda t: t.int()),
    *(lambda t: t * float("nan"), lambda t: t + float("inf"), lambda t: t.to(torch.complex64), lambda t: t + 2**62),
)


def damage_json(random: Random, content: bytes) -> bytes:
    """Damage of the bytes, or of the values."""
    if random.random() < 0.3:
        return damage_bytes(random, content)
    return json.dumps(damage_tree(random, json.loads(content))).encode()


def dumped(dump: Callable[[Any], str], tree: Any) -> str:
    """The text of the values; an empty mapping where they have none."""
    try:
        return dump(tree)
    except (ValueError, yaml.YAMLError):
        return "{}"
