"""Commands whose help shows no type after a flag, since a flag takes no value, and which reject empty values."""

from typing import Any

from typer.core import TyperCommand, TyperGroup, TyperOption

from deepergcn.errors import InputError, quote

_LONGEST_NAME = 50


class Command(TyperCommand):
    """A command of the program."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters of the command, including ``--help``."""
        return _without_types_of_flags(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; an empty one is an error: as a path it would be the current folder.

        An unset shell variable gives such an argument.
        """
        given, *_ = self.make_parser(ctx).parse_args(args=list(args))
        for parameter in self.get_params(ctx):
            if given.get(parameter.name) == "":
                name = parameter.opts[0] if isinstance(parameter, TyperOption) else parameter.metavar
                raise InputError(f"{name} is empty; expected a value, or leave it out")
        return super().parse_args(ctx, args)


class Group(TyperGroup):
    """A command with commands of its own."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters of the command, including ``--help``."""
        return _without_types_of_flags(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the arguments name; a text in its place, which would fill the terminal, is shortened."""
        if len(args[0]) > _LONGEST_NAME and self.get_command(ctx, args[0]) is None:
            raise InputError(f"there is no command {quote(args[0])}; expected one that deepergcn --help lists")
        return super().resolve_command(ctx, args)


def _without_types_of_flags(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if isinstance(parameter, TyperOption) and parameter.is_flag:
            parameter.metavar = ""
    return parameters
