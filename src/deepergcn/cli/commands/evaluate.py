"""``deepergcn evaluate``: the scores of a trained network on the data that it was trained on."""

from typing import Annotated

import typer

from deepergcn.cli.options import EdgesOption, RunArgument
from deepergcn.cli.terminal import say


def evaluate(
    run: RunArgument,
    split: Annotated[
        list[str] | None, typer.Option("--split", help="train, valid or test; may be repeated. Default: all three.")
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", help="Where the dataset lies, if not where the run says; a name or a path.")
    ] = None,
    edges: EdgesOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the scores as JSON.")] = False,
) -> None:
    """Evaluate a trained network on the parts of its dataset."""
    from deepergcn.data.dataset import PARTS
    from deepergcn.inference.predictor import load

    model = load(run)
    scores = model.evaluate(split or PARTS, data, edges)
    if as_json:
        import json

        typer.echo(json.dumps({"metric": model.task.metric, "epoch": model.epoch, **scores}))
        return
    for part, score in scores.items():
        say(f"{part} {model.task.metric} {'has no labels to score' if score is None else f'{score:.4f}'}")
