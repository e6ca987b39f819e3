"""Property tests draw the same examples on every machine, and are never judged by the clock."""

import os

# Tests run side by side and on small tensors: threads that wait for work by spinning would take the others' time.
# OpenMP reads this once, when torch is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import torch
from hypothesis import settings

settings.register_profile("deepergcn", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("deepergcn")
torch.set_num_threads(1)
