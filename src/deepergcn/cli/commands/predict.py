"""``deepergcn predict``: write the rows of the input in their order, with probabilities and class names."""

from pathlib import Path
from typing import Annotated

import typer

from deepergcn.cli.loading import loading
from deepergcn.cli.option_group import with_options
from deepergcn.cli.options import InputArgument, ReadingOptions, RunArgument
from deepergcn.cli.part_options import PartOptions
from deepergcn.errors import InputError


@with_options("reading", ReadingOptions)
@with_options("parts", PartOptions)
def predict(
    run: RunArgument,
    data: InputArgument = None,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="A .csv or .parquet file, or a folder of parts.")],
    inputs: Annotated[
        bool, typer.Option("--inputs/--no-inputs", help="Write the columns of INPUT too, before the predictions.")
    ] = True,
    spreadsheet: Annotated[
        bool,
        typer.Option("--spreadsheet", help="Escape cells of the CSV file that a spreadsheet would run as formulas."),
    ] = False,
    parts: PartOptions,
    reading: ReadingOptions,
) -> None:
    """Predict the properties of molecules, graphs or nodes, or which nodes are linked, with a trained network.

    A file of molecules of any length is read, predicted and written in parts. To continue after an interruption, run
    the same command again: finished parts are kept. The nodes of a graph are predicted all at once.
    """
    with loading():
        from deepergcn.inference.predictions import PREDICTION_NAMES
        from deepergcn.inference.predictor import load

    if parts.ending(output, PREDICTION_NAMES) != ".csv" and spreadsheet:
        raise InputError(f"--spreadsheet: {output} is not a CSV file; expected a name that ends in .csv")
    arguments = reading.arguments(data)
    with loading():
        model = load(run)
    how = {"inputs": inputs, "spreadsheet": spreadsheet}
    parts.write("predict", run, model, output, PREDICTION_NAMES, arguments, **how)
