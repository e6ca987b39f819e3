"""``deepergcn embed``: the features of nodes or graphs before a trained network's head."""

from pathlib import Path
from typing import Annotated

import typer

from deepergcn.cli.loading import loading
from deepergcn.cli.option_group import with_options
from deepergcn.cli.options import InputArgument, ReadingOptions, RunArgument
from deepergcn.cli.part_options import PartOptions


@with_options("reading", ReadingOptions)
@with_options("parts", PartOptions)
def embed(
    run: RunArgument,
    data: InputArgument = None,
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="An .npz, .parquet or .csv file, or a folder of parts.")
    ],
    parts: PartOptions,
    reading: ReadingOptions,
) -> None:
    """Write a trained network's embeddings of molecules or nodes; molecules are embedded in parts."""
    with loading():
        from deepergcn.inference.predictions import EMBEDDING_NAMES
        from deepergcn.inference.predictor import load

    parts.ending(output, EMBEDDING_NAMES)
    arguments = reading.arguments(data)
    with loading():
        model = load(run)
    parts.write("embed", run, model, output, EMBEDDING_NAMES, arguments)
