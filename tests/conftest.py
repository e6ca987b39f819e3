"""Property tests draw the same examples on every machine, and are never judged by the clock.

Data that a test has read is cached in a folder of the test session, not in the user's.
"""

import atexit
import os
import shutil
import tempfile

# Tests run side by side and on small tensors: threads that wait for work by spinning would take the others' time.
# OpenMP reads this once, when torch is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

if "DEEPERGCN_DATA" not in os.environ:
    _data = tempfile.mkdtemp(prefix="deepergcn-tests-")
    atexit.register(shutil.rmtree, _data, ignore_errors=True)
    os.environ["DEEPERGCN_DATA"] = _data

import torch
from hypothesis import settings

settings.register_profile("deepergcn", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("deepergcn")
torch.set_num_threads(1)
