"""Write files beside and rename them, so that each is whole whenever it is there."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from deepergcn.errors import InputError


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all."""
    with _beside(path) as part, part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write a safetensors file, whole or not at all."""
    with _beside(path) as part:
        part.touch()
        usual_mode = part.stat().st_mode
        owned = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        try:
            save_file(owned, part, metadata=dict(metadata))
        except SafetensorError as error:
            raise InputError(f"{path}: cannot be written ({error})") from error
        part.chmod(usual_mode)  # safetensors makes files that only their owner can read
        with part.open("rb") as file:
            os.fsync(file.fileno())


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    part = path.with_name(f"{path.name}.{uuid4().hex}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        part.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        part.unlink(missing_ok=True)
