"""Errors of the readers for calls from Python: they name arguments instead of options, and data instead of files."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from deepergcn.errors import InputError

_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")


@contextmanager
def in_python(names: Mapping[str, str]) -> Iterator[None]:
    """Let errors name arguments (``split_seed`` for ``--split-seed``) and data in memory.

    Args:
        names: The names in errors of the files that were written for the data.
    """
    try:
        yield
    except InputError as error:
        text = str(error)
        for path in sorted(names, key=len, reverse=True):
            text = text.replace(path, names[path])
        raise InputError(_OPTION.sub(lambda found: found[1].replace("-", "_"), text)) from None
