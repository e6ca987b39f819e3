"""Where the files of the repository are, for the tests that read them."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
