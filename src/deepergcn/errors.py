"""The one error for what a user can put right."""


class InputError(ValueError):
    """Bad input: the message names the file, the row or the argument, and what was expected."""
