"""The program ``deepergcn``. Heavy imports happen inside commands, so that help is immediate."""

from typing import Annotated

import typer

from deepergcn.version import __version__

app = typer.Typer(
    name="deepergcn",
    help="Train very deep graph networks.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"deepergcn {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and leave.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Train very deep graph networks."""


def main() -> None:
    """Run the program; the console script of the package."""
    app()
