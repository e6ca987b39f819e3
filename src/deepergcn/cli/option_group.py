"""Options that belong together, declared once as the fields of a dataclass."""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, get_type_hints

R = TypeVar("R")


def with_options(name: str, group: type[Any]) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Give a command the options of ``group``, after its own, and hand them over as one argument.

    Args:
        name: The parameter of the command that gets the instance of ``group``.
        group: A dataclass; its fields are ``Annotated`` with a ``typer.Option`` and have defaults.
    """
    hints = get_type_hints(group, include_extras=True)
    options = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in dataclasses.fields(group)
    ]

    def spread(command: Callable[..., R]) -> Callable[..., R]:
        own = [parameter for parameter in inspect.signature(command).parameters.values() if parameter.name != name]

        @functools.wraps(command)
        def called(**values: Any) -> R:
            grouped = group(**{option.name: values.pop(option.name) for option in options})
            return command(**values, **{name: grouped})

        vars(called)["__signature__"] = inspect.Signature([*own, *options])
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *options)}
        return called

    return spread
