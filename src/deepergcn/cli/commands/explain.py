"""``deepergcn explain``: attribute predictions to atoms and bonds, or nodes and edges."""

from pathlib import Path
from typing import Annotated

import typer

from deepergcn.cli.loading import loading
from deepergcn.cli.options import (
    EdgesOption,
    IdColumnOption,
    InputArgument,
    NodesOption,
    RunArgument,
    SmilesColumnOption,
    check_outputs,
)
from deepergcn.cli.terminal import say
from deepergcn.cli.typed_tables import required_tables, table_paths


def explain(
    run: RunArgument,
    data: InputArgument = None,
    *,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="CSV file of contributions; an HTML page of the same name is written too."),
    ],
    nodes: NodesOption = None,
    edges: EdgesOption = None,
    of: Annotated[
        str | None,
        typer.Option("--of", help="Target, class or label to explain. Default: the predicted class, or the first."),
    ] = None,
    items: Annotated[
        list[str] | None,
        typer.Option("--item", metavar="ID", help="Id of a row to explain; may be repeated. Default: the first rows."),
    ] = None,
    most: Annotated[int, typer.Option("--most", help="Maximum number of rows to explain.", min=1)] = 20,
    smiles_column: SmilesColumnOption = None,
    id_column: IdColumnOption = None,
    neighbours: Annotated[
        bool, typer.Option(help="Look up the nearest training examples, which needs the training data.")
    ] = True,
) -> None:
    """Write the contribution of every atom and bond, or node and edge, to predictions, as CSV and as an HTML page."""
    with loading():
        from deepergcn.inference.explain import explain as explain_rows
        from deepergcn.inference.explain import write_contributions, write_page
        from deepergcn.inference.predictions import check_ending
        from deepergcn.inference.predictor import load

    check_ending(output, (".csv",))
    given, its_edges, _ = required_tables(data, nodes, edges)
    page = output.with_suffix(".html")
    check_outputs([output, page], table_paths(given, its_edges))
    found = explain_rows(
        load(run),
        given,
        its_edges,
        output=of,
        items=items or (),
        smiles_column=smiles_column,
        id_column=id_column,
        most=most,
        neighbours=neighbours,
    )
    write_contributions(output, found)
    write_page(page, found, f"{run}: {given}")
    outside = sum(bool(one.outside) for one in found)
    told = [f"{output}: {len(found)} rows explained{' (--most explains more)' if len(found) == most else ''}"]
    say(", ".join([*told, *([f"{outside} outside the training domain"] if outside else [])]))
    say(f"page {page}")
