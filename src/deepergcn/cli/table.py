"""Tables on the terminal, and whole ones in a pipe, where no line is broken."""

from collections.abc import Iterable, Sequence

from deepergcn.cli.terminal import plain
from deepergcn.printable import clean

_PIPE_WIDTH = 200


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()) -> None:
    """Print rows under their columns; the first column and those of ``right``, which are numbers, stay on one line."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0)
    for column in columns:
        number = column in right
        table.add_column(
            column, justify="right" if number else "left", no_wrap=number or column == columns[0], overflow="fold"
        )
    for row in rows:
        table.add_row(*(plain(clean(cell)) for cell in row))
    console = Console()
    (console if console.is_terminal else Console(width=_PIPE_WIDTH)).print(table)
