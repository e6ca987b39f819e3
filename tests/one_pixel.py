"""Plots of one pixel: to draw those of a small run takes as long as to train it."""

import base64
from pathlib import Path

from deepergcn.data.storage.files import write_bytes

_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg=="


def save(figure: object, path: Path) -> Path:
    """In the place of ``deepergcn.report.plots._save``: the same file, whatever the figure."""
    write_bytes(path, base64.b64decode(_PNG))
    return path
