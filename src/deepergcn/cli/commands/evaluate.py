"""``deepergcn evaluate``: the scores of a trained network on its own data, or on another file with labels."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deepergcn.cli.loading import loading
from deepergcn.cli.options import (
    DelimiterOption,
    EdgesOption,
    NodeFeaturesOption,
    NodesOption,
    RunArgument,
    SmilesColumnOption,
    UnseenOption,
    unseen_choice,
)
from deepergcn.cli.terminal import say
from deepergcn.cli.typed_tables import input_tables
from deepergcn.errors import InputError

if TYPE_CHECKING:
    from deepergcn.runs.run import MetricScore


def evaluate(
    run: RunArgument,
    split: Annotated[
        list[str] | None,
        typer.Option("--split", metavar="PART", help="train, valid or test; may be repeated. Default: all three."),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option("--data", help="Another file with labels; or the new location of the dataset, if it has moved."),
    ] = None,
    nodes: NodesOption = None,
    edges: EdgesOption = None,
    node_features: NodeFeaturesOption = None,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="NAMES", help="Metrics, separated by commas. Default: those of the run."),
    ] = None,
    smiles_column: SmilesColumnOption = None,
    delimiter: DelimiterOption = None,
    unseen: UnseenOption = "error",
    as_json: Annotated[bool, typer.Option("--json", help="Print the scores as JSON.")] = False,
) -> None:
    """Evaluate a trained network on the parts of its dataset, or on another file with labels."""
    with loading():
        from deepergcn.cli.progress import molecule_bar
        from deepergcn.data.dataset import PARTS
        from deepergcn.inference.predictor import load
        from deepergcn.training.own_data import Choices

    given, edge_tables, its_nodes = input_tables(data, nodes, edges)
    model = load(run)
    asked = [name.strip() for text in metric or () for name in text.split(",") if name.strip()]
    metrics = Choices(metrics=asked).metric_names(model.task.kind, model.task.level)[0] if asked else ()
    plain = None if isinstance(edge_tables, dict) else edge_tables
    if data is not None and model.info.provenance is not None and not model.is_trained_on(data, plain, node_features):
        if split:
            raise InputError(f"--split: {data} is not the training data and has no parts; expected --data without it")
        with molecule_bar() as progress:
            rows, scores = model.evaluate_file(
                data,
                plain,
                metrics=metrics,
                unseen=unseen_choice(unseen),
                progress=progress,
                node_features=node_features,
                smiles_column=smiles_column,
                delimiter=delimiter,
            )
        found, names = {"all": scores}, {"all": f"{Path(data).name} ({rows} rows with a label)"}
    else:
        if smiles_column or delimiter:
            flag = "--smiles-column" if smiles_column else "--delimiter"
            raise InputError(f"{flag}: the training data is read as in training; expected --data with another file")
        found = model.evaluate_all(split or PARTS, given, edge_tables, metrics, its_nodes, node_features)
        names = {part: part for part in found}
    if as_json:
        import json

        first = next(iter(next(iter(found.values()))))
        typer.echo(
            json.dumps(
                {
                    "metric": first,
                    "epoch": model.epoch,
                    **{part: scores[first].score for part, scores in found.items()},
                    "scores": {
                        part: {name: score.model_dump() for name, score in scores.items()}
                        for part, scores in found.items()
                    },
                }
            )
        )
        return
    for part, scores in found.items():
        for line in score_lines(scores):
            say(f"{names[part]} {line}")


def score_lines(scores: "Mapping[str, MetricScore]") -> list[str]:
    """A line for every metric, and one for every target if there are several."""
    lines = []
    for metric, found in scores.items():
        lines.append(f"{metric} {_shown(found.score)}")
        lines += [f"{metric} {_shown(score)} of {name}" for name, score in found.targets.items()]
    return lines


def _shown(score: float | None) -> str:
    return "cannot be computed on these labels" if score is None else f"{score:.4f}"
