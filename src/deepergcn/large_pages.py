"""Let PyTorch ask Linux for large pages.

It then does for tensors of 2 MB and more, where the system gives them on request: a tensor of 87 MB costs 42 page
faults instead of 21,000. PyTorch reads the setting with its first tensor, and Lightning Fabric, torchmetrics and
PyTorch Geometric make one when they are imported: the setting has to be made before.
"""

import os
import sys

_SETTING = "THP_MEM_ALLOC_ENABLE"


def ask_for_large_pages() -> None:
    """Make the setting, unless the user has made it."""
    if sys.platform.startswith("linux"):
        os.environ.setdefault(_SETTING, "1")
