"""Escape control characters in output."""

import logging


def clean(text: str) -> str:
    """Escape control characters, such as ``\\x1b``: those in files and names must not reach a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


class CleanFormatter(logging.Formatter):
    """Formats a log record as one line, such as ``warning: m.csv: 2 of 60 rows skipped``."""

    def format(self, record: logging.LogRecord) -> str:
        """Format the record."""
        return clean(f"{record.levelname.lower()}: {record.getMessage()}")
