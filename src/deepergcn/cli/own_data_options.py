"""The options of ``deepergcn train`` for a user's own data.

A new option is a field of :class:`OwnDataOptions`, a name in a group of ``read_own_data`` and an argument of a reader.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

Text = str | None
Texts = list[str] | None
Number = int | None


def _option(flag: str, help_text: str, metavar: str | None = None) -> Any:
    return typer.Option(flag, help=help_text, metavar=metavar, rich_help_panel="Your own data")


@dataclass(frozen=True)
class OwnDataOptions:
    """The options for a user's own files; options for one kind of data are rejected for another."""

    molecules: Annotated[
        Text, _option("--molecules", "Your file of molecules: CSV, TSV, Parquet, XLSX, SDF or SMI.", "FILE")
    ] = None
    smiles_column: Annotated[Text, _option("--smiles-column", "Column of SMILES. Default: smiles.", "COLUMN")] = None
    target: Annotated[
        Texts, _option("--target", "Column of --molecules to predict; several separated by commas, or all.", "COLUMN")
    ] = None
    nodes: Annotated[
        Texts,
        _option("--nodes", "Your table of nodes: CSV, TSV, Parquet, XLSX; or TYPE=FILE for each node type.", "FILE"),
    ] = None
    edges: Annotated[
        Texts,
        _option(
            "--edges",
            "Your table of edges, for --nodes or --links; or SOURCE,RELATION,TARGET=FILE for each edge type.",
            "FILE",
        ),
    ] = None
    graphs: Annotated[
        Text, _option("--graphs", "Your folder of graphs, as deepergcn.train(graphs=...) writes it.", "FOLDER")
    ] = None
    links: Annotated[
        Text, _option("--links", "Your table of links to predict, with columns source and target.", "FILE")
    ] = None
    label: Annotated[
        Texts,
        _option(
            "--label",
            "Column of --nodes or --graphs to predict; several separated by commas; TYPE.COLUMN if nodes have types.",
            "COLUMN",
        ),
    ] = None
    source_column: Annotated[
        Text, _option("--source-column", "Column of --edges or --links with the source. Default: source.", "COLUMN")
    ] = None
    target_column: Annotated[
        Text, _option("--target-column", "Column of --edges or --links with the target. Default: target.", "COLUMN")
    ] = None
    directed: Annotated[bool, _option("--directed", "Edges point from source to target only.")] = False
    features: Annotated[
        Texts, _option("--features", "Columns of --nodes to use as features. Default: all that qualify.", "COLUMNS")
    ] = None
    edge_features: Annotated[Texts, _option("--edge-features", "Columns of --edges to use as features.", "COLUMNS")] = (
        None
    )
    drop: Annotated[Texts, _option("--drop", "Columns not to use as features.", "COLUMNS")] = None
    numeric: Annotated[Texts, _option("--numeric", "Features that must be numeric.", "COLUMNS")] = None
    categorical: Annotated[Texts, _option("--categorical", "Features to treat as categories.", "COLUMNS")] = None
    id_column: Annotated[
        Text, _option("--id-column", "Column of ids. Default: id; for molecules, their SMILES.", "COLUMN")
    ] = None
    node_features: Annotated[
        Text,
        _option(
            "--node-features", "Sparse features of --nodes: scipy's .npz (CSR), or a table id, feature, value.", "FILE"
        ),
    ] = None
    projection: Annotated[
        Number,
        _option(
            "--projection", "Number of channels to project --node-features to, 0 for none. Default: 512 above 2 GB."
        ),
    ] = None
    encoding: Annotated[
        Text,
        _option(
            "--encoding",
            "Features from the graph itself: degree, random-walk, learned or edges (sums over edges).",
            "NAME",
        ),
    ] = None
    known_labels: Annotated[
        bool, _option("--known-labels", "Give the network the labels of other training nodes as inputs.")
    ] = False
    task: Annotated[Text, _option("--task", "regression, binary, multi-class or multi-label.", "NAME")] = None
    metric: Annotated[
        Texts,
        _option(
            "--metric",
            "rocauc, pr-auc, accuracy, balanced-accuracy, mcc, f1; rmse, mae, r2, spearman. Separate several with "
            "commas; the first selects the best epoch.",
            "NAMES",
        ),
    ] = None
    positive: Annotated[Texts, _option("--positive", "The positive class, or one for each target.", "CLASS")] = None
    missing: Annotated[
        Texts, _option("--missing", "Value that marks a missing label, such as -1; '' for empty cells only.", "VALUE")
    ] = None
    split: Annotated[
        Text, _option("--split", "stratified, random, scaffold (molecules), or a column of train, valid, test.", "NAME")
    ] = None
    split_fractions: Annotated[
        Text, _option("--split-fractions", "Sizes of train, valid and test. Default: 0.8,0.1,0.1.", "SIZES")
    ] = None
    folds: Annotated[
        Number, _option("--folds", "Number of cross-validation folds; reports the mean of their scores.")
    ] = None
    split_seed: Annotated[Number, _option("--split-seed", "Seed of a random or stratified split. Default: 0.")] = None
    delimiter: Annotated[
        Text, _option("--delimiter", "Delimiter between cells: comma, semicolon, tab or any character.", "NAME")
    ] = None
    fragments: Annotated[
        Text, _option("--fragments", "largest drops salts and solvents; all keeps them. Default: all.", "NAME")
    ] = None
    descriptors: Annotated[
        Texts,
        _option(
            "--descriptors",
            "Descriptors to use with the graph of each molecule: morgan, maccs, properties, rdkit, columns of numbers, "
            "or none. Default: morgan,properties.",
            "NAMES",
        ),
    ] = None
    blend: Annotated[
        Text,
        _option(
            "--blend",
            "forest averages the network with a random forest on the same descriptors; none turns it off. "
            "Default: forest up to 10,000 molecules.",
            "NAME",
        ),
    ] = None
    strict: Annotated[bool, _option("--strict", "Fail if a molecule cannot be read, instead of skipping it.")] = False

    def given(self, *names: str) -> str | None:
        """The flag of the first of these options that was given, or None."""
        return next((_flag(name) for name in names if getattr(self, name) not in (None, False)), None)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
