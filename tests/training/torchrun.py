"""What torchrun starts in a test: ``python -m tests.training.torchrun OUT new SETTING ..., or ... OUT resume``."""

import sys

import torch

from deepergcn.training.train import train

if __name__ == "__main__":
    torch.set_num_threads(1)
    out, what, *settings = sys.argv[1:]
    if what == "resume":
        train(out=out, resume=True, epochs=3)
    else:
        train("yeast-proteins", settings=settings, out=out)
