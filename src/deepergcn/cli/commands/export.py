"""``deepergcn export``: a trained network as an ONNX model or a ``torch.export`` program."""

from pathlib import Path
from typing import Annotated

import typer

from deepergcn.cli.options import RunArgument
from deepergcn.cli.terminal import say


def export(
    run: RunArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write: .onnx or .pt2.")],
    form: Annotated[str, typer.Option("--format", help="onnx or torch-export.")] = "onnx",
) -> None:
    """Export a trained network to ONNX or torch.export; its inputs may have any number of nodes, edges and graphs."""
    from typing import cast

    from deepergcn.inference.export import Format
    from deepergcn.inference.export import export as write
    from deepergcn.inference.predictor import load

    model = load(run)
    inputs = write(model, output, cast("Format", form))
    returns = "the same as deepergcn predict" if model.blend is None else "the network's outputs, without the forest"
    say(f"{output}: takes {', '.join(inputs)}; returns {returns}")
