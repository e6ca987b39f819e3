"""``deepergcn predict``: rows in, the same rows with probabilities and class names out, in the same order."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deepergcn.cli.option_group import with_options
from deepergcn.cli.options import InputArgument, ReadingOptions, RunArgument
from deepergcn.cli.terminal import say
from deepergcn.errors import InputError

if TYPE_CHECKING:
    from deepergcn.data.molecules.skipped import Skipped

_MOST_NAMED_ROWS = 10


@with_options("reading", ReadingOptions)
def predict(
    run: RunArgument,
    data: InputArgument = None,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write, .csv or .parquet.")],
    inputs: Annotated[
        bool, typer.Option("--inputs/--no-inputs", help="Write the columns of INPUT too, before the predictions.")
    ] = True,
    spreadsheet: Annotated[
        bool,
        typer.Option("--spreadsheet", help="Escape texts of the CSV that a spreadsheet would take for formulas."),
    ] = False,
    reading: ReadingOptions,
) -> None:
    """Predict the molecules of a file, or the nodes of tables, with a trained network."""
    from deepergcn.cli.progress import molecule_bar
    from deepergcn.inference.predictions import PREDICTION_NAMES, check_ending
    from deepergcn.inference.predictor import load

    if check_ending(output, PREDICTION_NAMES) != ".csv" and spreadsheet:
        raise InputError(f"--spreadsheet: {output} is not a CSV file; expected a name that ends in .csv")
    arguments = reading.arguments(data)
    model = load(run)
    with molecule_bar() as progress:
        predictions = model.predict(**arguments, progress=progress)
    predictions.write(output, spreadsheet=spreadsheet, inputs=inputs)
    say(f"{output}: {len(predictions)} rows{left_empty(predictions.skipped)}")
    if predictions.made_of:
        say(f"predictions are {predictions.made_of}")
    for line in predictions.decisions():
        say(line)


def left_empty(skipped: "tuple[Skipped, ...]") -> str:
    """Which rows could not be read, for the summary line of a command."""
    if not skipped:
        return ""
    numbers = ", ".join(str(row.row) for row in skipped[:_MOST_NAMED_ROWS])
    more = f" and {len(skipped) - _MOST_NAMED_ROWS} more" if len(skipped) > _MOST_NAMED_ROWS else ""
    return f", of which {len(skipped)} could not be read and are empty: row {numbers}{more}"
