"""Text of files and names that is harmless on any terminal."""

import logging


def clean(text: str) -> str:
    """The text with control characters written out, such as ``\\x1b``: those of a file must not reach a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


class CleanFormatter(logging.Formatter):
    """A record of the log as one line, such as ``warning: m.csv: 2 rows are skipped``."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        return clean(f"{record.levelname.lower()}: {record.getMessage()}")
