"""Trains once when it is imported: processes that are forked from here find every kernel loaded."""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch

import deepergcn.report.plots
from deepergcn.training.train import train
from tests import one_pixel
from tests.training.small import molecule_settings, molecules

torch.set_num_threads(1)
deepergcn.report.plots._save = one_pixel.save
with TemporaryDirectory() as _folder:
    train("solubility", settings=molecule_settings(molecules(Path(_folder))), out=Path(_folder) / "run", epochs=1)
