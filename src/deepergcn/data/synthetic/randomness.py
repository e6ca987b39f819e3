"""Random numbers for generated graphs: the same for the same seed and names, on any number of threads."""

import numpy as np
import numpy.typing as npt

from deepergcn.data.kernels.generate import fill_uniform
from deepergcn.data.storage.digest import text_digest

Floats = npt.NDArray[np.float64]


def key(seed: int, *names: str | int) -> np.uint64:
    """A key derived from these names."""
    return np.uint64(int(text_digest(seed, *names)[:16], 16))


def uniforms(key: np.uint64, *shape: int) -> Floats:
    """Uniform numbers in [0, 1)."""
    out = np.empty(int(np.prod(shape, dtype=np.int64)))
    fill_uniform(key, out)
    return out.reshape(shape)


def normals(key: np.uint64, *shape: int) -> Floats:
    """Standard normal numbers by the Box-Muller transform."""
    radius, angle = uniforms(key, 2, *shape)
    normal: Floats = np.sqrt(-2.0 * np.log1p(-radius)) * np.cos(2.0 * np.pi * angle)
    return normal
