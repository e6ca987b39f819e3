"""``deepergcn embed``: the features of nodes or graphs before a trained network's head."""

from pathlib import Path
from typing import Annotated

import typer

from deepergcn.cli.commands.predict import left_empty
from deepergcn.cli.options import (
    DelimiterOption,
    EdgesOption,
    IdColumnOption,
    InputArgument,
    NodesOption,
    RunArgument,
    SkippedOption,
    SmilesColumnOption,
    UnseenOption,
    unseen_choice,
)
from deepergcn.cli.terminal import say
from deepergcn.cli.typed_tables import required_tables


def embed(
    run: RunArgument,
    data: InputArgument = None,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write, .npz or .parquet.")],
    nodes: NodesOption = None,
    edges: EdgesOption = None,
    smiles_column: SmilesColumnOption = None,
    id_column: IdColumnOption = None,
    delimiter: DelimiterOption = None,
    unseen: UnseenOption = "error",
    skipped: SkippedOption = None,
) -> None:
    """Write the embeddings of molecules or nodes by a trained network."""
    from deepergcn.cli.progress import molecule_bar
    from deepergcn.inference.predictions import EMBEDDING_NAMES, check_ending
    from deepergcn.inference.predictor import load

    check_ending(output, EMBEDDING_NAMES)
    given, its_edges, its_nodes = required_tables(data, nodes, edges)
    model = load(run)
    with molecule_bar() as progress:
        embeddings = model.embed(
            given,
            its_edges,
            smiles_column=smiles_column,
            id_column=id_column,
            delimiter=delimiter,
            unseen=unseen_choice(unseen),
            skipped_file=skipped,
            progress=progress,
            nodes=its_nodes,
        )
    embeddings.write(output)
    rows, channels = embeddings.values.shape
    say(f"{output}: {rows} rows of {channels} channels{left_empty(embeddings.skipped)}")
