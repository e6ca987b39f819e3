"""``deepergcn datasets``: list the known datasets, and download them."""

from pathlib import Path
from typing import Annotated

import typer

from deepergcn.cli.command import Command, Group
from deepergcn.cli.table import print_table
from deepergcn.cli.terminal import say

app = typer.Typer(cls=Group, help="List the datasets, or download one.", invoke_without_command=True)

Root = Annotated[
    Path | None,
    typer.Option("--root", help="Folder for data. Default: $DEEPERGCN_DATA, or the user's cache folder."),
]


@app.callback()
def datasets(
    context: typer.Context,
    root: Root = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List the named datasets with a description, their state on disk and their sizes."""
    if context.invoked_subcommand is not None:
        return
    from dataclasses import asdict

    from deepergcn.data.registry import inventory
    from deepergcn.data.storage.folders import data_root

    base = data_root(root)
    entries = inventory(base)
    if as_json:
        import json

        typer.echo(json.dumps([asdict(entry) for entry in entries], indent=1, default=str))
        return

    from rich.filesize import decimal

    rows = (
        (
            entry.name,
            entry.summary,
            entry.state,
            *(decimal(n) if n else "" for n in (entry.raw_bytes, entry.cache_bytes)),
        )
        for entry in entries
    )
    print_table(("name", "what", "state", "raw files", "cache"), rows, right=["raw files", "cache"])
    say(f"data: {base}")


@app.command(cls=Command)
def get(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of a dataset, such as ogbg-molhiv.")],
    root: Root = None,
) -> None:
    """Download a dataset, or verify the files on disk."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from deepergcn.data.ogb.fetch import fetch
    from deepergcn.data.ogb.known import KNOWN
    from deepergcn.data.registry import SOURCES
    from deepergcn.data.storage.folders import data_root
    from deepergcn.errors import InputError

    if name not in KNOWN:
        if name in SOURCES:
            say(f"{name} is built in: there is nothing to download")
            return
        raise InputError(f"there is no dataset {name!r} to download; expected one of {', '.join(KNOWN)}")
    parent = context.parent.params.get("root") if context.parent else None
    columns = (TextColumn(name), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None)
        folder = fetch(
            KNOWN[name],
            data_root(root or parent),
            lambda done, total: bar.update(task, completed=done, total=total),
        )
    say(f"{name} is complete and verified in {folder}")
