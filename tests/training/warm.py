"""Trains once when it is imported: processes that are forked from here find every kernel loaded."""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from deepergcn.training.train import train
from tests.training.small import molecule_settings, molecules

torch.set_num_threads(1)
with TemporaryDirectory() as _folder:
    train("solubility", settings=molecule_settings(molecules(Path(_folder))), out=Path(_folder) / "run", epochs=1)
