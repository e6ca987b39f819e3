"""``deepergcn embed``: the features of nodes or graphs before a trained network's head."""

from pathlib import Path
from typing import Annotated

import typer

from deepergcn.cli.commands.predict import left_empty
from deepergcn.cli.option_group import with_options
from deepergcn.cli.options import InputArgument, ReadingOptions, RunArgument
from deepergcn.cli.terminal import say


@with_options("reading", ReadingOptions)
def embed(
    run: RunArgument,
    data: InputArgument = None,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write, .npz or .parquet.")],
    reading: ReadingOptions,
) -> None:
    """Write the embeddings that a trained network computes for molecules or nodes."""
    from deepergcn.cli.progress import molecule_bar
    from deepergcn.inference.predictions import EMBEDDING_NAMES, check_ending
    from deepergcn.inference.predictor import load

    check_ending(output, EMBEDDING_NAMES)
    arguments = reading.arguments(data)
    model = load(run)
    with molecule_bar() as progress:
        embeddings = model.embed(**arguments, progress=progress)
    embeddings.write(output)
    rows, channels = embeddings.values.shape
    say(f"{output}: {rows} rows of {channels} channels{left_empty(embeddings.skipped)}")
