"""The program ``deepergcn``. Heavy imports happen inside commands, so that help is immediate."""

import os
from typing import Annotated, NoReturn

import typer

from deepergcn.cli.command import Command, Group
from deepergcn.cli.commands import datasets
from deepergcn.cli.commands.card import card
from deepergcn.cli.commands.convert import convert
from deepergcn.cli.commands.embed import embed
from deepergcn.cli.commands.evaluate import evaluate
from deepergcn.cli.commands.explain import explain
from deepergcn.cli.commands.export import export
from deepergcn.cli.commands.plan import plan
from deepergcn.cli.commands.predict import predict
from deepergcn.cli.commands.recipes import recipes
from deepergcn.cli.commands.report import report
from deepergcn.cli.commands.reproduce import reproduce
from deepergcn.cli.commands.train import train
from deepergcn.cli.commands.tune import tune
from deepergcn.cli.terminal import prepare_streams, say
from deepergcn.errors import InputError
from deepergcn.user_cache import lend_folder
from deepergcn.version import __version__

_LONGEST = 3_000  # characters of an error: what it quotes of a file may be of any length

app = typer.Typer(
    name="deepergcn",
    cls=Group,
    help="Train very deep graph networks.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(datasets.app, name="datasets")
_COMMANDS = (train, plan, tune, recipes, evaluate, predict, explain, embed, reproduce, report, card, convert, export)
for command in _COMMANDS:
    app.command(cls=Command)(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"deepergcn {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Train very deep graph networks."""


def main() -> None:
    """Run the program (the console script); errors that a user can fix are one line, without a traceback."""
    prepare_streams()
    try:
        os.getcwd()
    except OSError as error:  # torch would end the process
        _fail(f"the current folder cannot be read ({error.strerror}); expected another working folder")
    lend_folder("MPLCONFIGDIR", "matplotlib")
    try:
        app()
    except InputError as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except ImportError as error:
        if not _is_out_of_memory(error):
            raise
        _fail(f"there is not enough memory to load the program ({error})")
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        _fail(
            "there is not enough memory; decrease training.batch_size or model.hidden_channels, increase "
            "training.partitions or evaluation.partitions, or set training.memory, which recomputes layers "
            f"({error})"
        )


def _is_out_of_memory(error: Exception) -> bool:
    """Whether Python, NumPy, torch or the dynamic linker ran out of memory; the last two say so in the message only."""
    said = str(error).lower()
    words = ("can't allocate memory", "cannot allocate memory", "out of memory", "failed to map segment")
    return isinstance(error, MemoryError) or any(word in said for word in words)


def _fail(message: str) -> NoReturn:
    text = " ".join(message.split())
    say(f"error: {text if len(text) <= _LONGEST else f'{text[: _LONGEST - 500]} ... {text[-500:]}'}", err=True)
    raise SystemExit(2)
