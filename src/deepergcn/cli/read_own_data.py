"""Read a user's own data according to the command line; options for another kind of data are rejected."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from deepergcn.cli.own_data_options import OwnDataOptions, Text, Texts
from deepergcn.cli.typed_tables import node_and_edge_tables
from deepergcn.errors import InputError

if TYPE_CHECKING:
    from deepergcn.data.molecules.fragments import Fragments
    from deepergcn.training.own_data import Choices, OwnData

_FOR_MOLECULES = ("smiles_column", "target", "strict", "fragments", "descriptors", "blend")
_FOR_TABLES = (
    *("label", "directed", "source_column", "target_column", "features", "edge_features", "drop", "numeric"),
    *("categorical", "node_features", "projection", "encoding", "known_labels"),
)
_FOR_BOTH = (
    *("id_column", "task", "metric", "positive", "missing", "split", "split_fractions", "split_seed", "delimiter"),
    "folds",
)
_NOT_FOR_LINKS = (
    *(name for name in _FOR_TABLES if name not in ("directed", "source_column", "target_column")),
    *(name for name in _FOR_BOTH if name not in ("id_column", "split", "metric")),
)
_NOT_FOR_GRAPHS = (*(name for name in _FOR_TABLES if name != "label"), "delimiter", "folds")
_NOT_FOR_TYPES = (
    *("folds", "features", "edge_features", "drop", "numeric", "categorical", "node_features", "projection"),
    *("encoding", "known_labels"),
)
_READER = "data.options."


def read_own_data(
    options: OwnDataOptions,
    settings: Sequence[str] = (),
    recipe: str | None = None,
    *,
    root: Path | None = None,
    quiet: bool = False,
    task_reason: str | None = None,
) -> "tuple[str, OwnData] | None":
    """The recipe for the user's files and what was found in them; None if the options name no files.

    Args:
        options: The options.
        settings: Changes to the recipe, as for ``--set``; those of ``data.options`` also apply to reading.
        recipe: A recipe to use instead of the default one for these files.
        root: The folder for caches of molecules and of tables of one type.
        quiet: Show no progress.
        task_reason: Why this task was chosen, for the report.
    """
    if options.molecules is not None:
        _refuse(options, ("nodes", "edges", "links", "graphs", *_FOR_TABLES), "cannot be combined with --molecules")
        return "own-molecules", _molecules(options, options.molecules, settings, recipe or "own-molecules", root, quiet)
    if options.graphs is not None:
        _refuse(
            options, ("nodes", "edges", "links", *_FOR_MOLECULES, *_NOT_FOR_GRAPHS), "cannot be combined with --graphs"
        )
        return "own-graphs", _graphs(options, options.graphs, _choices(options, settings, task_reason))
    if options.links is not None:
        _refuse(options, (*_FOR_MOLECULES, *_NOT_FOR_LINKS), "cannot be combined with --links")
        return "own-links", _links(options, options.links)
    if options.nodes or options.edges:
        _refuse(options, _FOR_MOLECULES, "cannot be combined with --nodes and --edges")
        nodes, edges = node_and_edge_tables(options.nodes, options.edges)
        if nodes is None:
            raise InputError(
                "--edges: expected --nodes with the table of nodes, and --label with its column to predict"
            )
        if not options.label:
            raise InputError("--nodes: expected --label with the column to predict")
        if isinstance(nodes, dict) and isinstance(edges, dict):
            _refuse(options, _NOT_FOR_TYPES, "cannot be combined with types of nodes and edges")
            return "own-typed-tables", _typed_tables(options, nodes, edges, options.label, settings)
        plain = None if edges is None else str(edges)
        choices = _choices(options, settings, task_reason)
        return "own-tables", _tables(options, str(nodes), plain, options.label, choices, root)
    _refuse(
        options,
        (*_FOR_MOLECULES, *_FOR_TABLES, *_FOR_BOTH),
        "expected --molecules, --links, --graphs, or --nodes and --edges, with it",
    )
    return None


def _molecules(
    options: OwnDataOptions, path: str, settings: Sequence[str], recipe: str, root: Path | None, quiet: bool
) -> "OwnData":
    if not options.target:
        raise InputError("--molecules: expected --target with the column to predict")
    from deepergcn.cli.progress import molecule_bar
    from deepergcn.training.own_data import own_molecules

    descriptors, join = _descriptors(options.descriptors, settings, recipe)
    with nullcontext() if quiet else molecule_bar() as progress:
        return own_molecules(
            path,
            targets=options.target,
            smiles_column=options.smiles_column,
            id_column=options.id_column,
            fragments=_fragments(options.fragments),
            descriptors=descriptors,
            join=join,
            blend=_blend(options.blend, settings, recipe, bool(descriptors)),
            strict=options.strict,
            choices=_choices(options, settings),
            root=root,
            progress=progress,
        )


def _graphs(options: OwnDataOptions, folder: str, choices: "Choices") -> "OwnData":
    if not options.label:
        raise InputError("--graphs: expected --label with the column to predict")
    from deepergcn.training.own_data import own_graphs

    return own_graphs(folder, label=options.label, id_column=options.id_column, choices=choices)


def _typed_tables(
    options: OwnDataOptions, nodes: dict[str, str], edges: dict[str, str], label: list[str], settings: Sequence[str]
) -> "OwnData":
    from deepergcn.training.own_data import own_typed_tables

    return own_typed_tables(
        nodes,
        edges,
        label=label,
        **_named_columns(options),
        directed=options.directed,
        choices=_choices(options, settings),
    )


def _tables(
    options: OwnDataOptions, nodes: str, edges: str | None, label: list[str], choices: "Choices", root: Path | None
) -> "OwnData":
    from deepergcn.training.own_data import own_tables

    return own_tables(
        nodes,
        edges,
        label=label,
        **_named_columns(options),
        features=None if options.features is None else _listed(options.features),
        edge_features=None if options.edge_features is None else _listed(options.edge_features),
        drop=_listed(options.drop),
        numeric=_listed(options.numeric),
        categorical=_listed(options.categorical),
        directed=options.directed,
        sparse=options.node_features,
        projection=options.projection,
        encoding=options.encoding,
        known_labels=options.known_labels,
        choices=choices,
        root=root,
    )


class _NamedColumns(TypedDict):
    id_column: str
    source_column: str
    target_column: str


def _named_columns(options: OwnDataOptions) -> _NamedColumns:
    """The columns of ids and of the ends of edges."""
    return {
        "id_column": options.id_column or "id",
        "source_column": options.source_column or "source",
        "target_column": options.target_column or "target",
    }


def _links(options: OwnDataOptions, path: str) -> "OwnData":
    nodes, edges = node_and_edge_tables(options.nodes, options.edges)
    if isinstance(nodes, dict) or isinstance(edges, dict):
        raise InputError(
            "--links: cannot be combined with types of nodes and edges; expected one table of nodes and one of edges"
        )
    from deepergcn.training.own_data import own_links

    return own_links(
        path,
        nodes,
        edges,
        **_named_columns(options),
        split=options.split,
        directed=options.directed,
        metrics=_listed(options.metric),
    )


def _choices(options: OwnDataOptions, settings: Sequence[str], task_reason: str | None = None) -> "Choices":
    from deepergcn.recipes.load import parse_yaml
    from deepergcn.training.own_data import Choices

    further = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if name.strip().startswith(_READER) and equals:
            further[name.strip().removeprefix(_READER)] = parse_yaml(value, f"--set {setting}: the value is not YAML")
    return Choices(
        kind=options.task,  # type: ignore[arg-type]  # checked by Choices
        metrics=_listed(options.metric),
        positive=tuple(options.positive or ()),
        missing=tuple(options.missing or ()),
        split=options.split,
        fractions=_fractions(options.split_fractions),
        seed=options.split_seed,
        folds=options.folds,
        delimiter=options.delimiter,
        options=further,
        **({} if task_reason is None else {"kind_reason": task_reason}),
    )


def _fractions(text: Text) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(f"--split-fractions is {text!r}; expected three numbers, such as 0.8,0.1,0.1") from error


def _fragments(text: Text) -> "Fragments":
    if text not in (None, "all", "largest"):
        raise InputError(f"--fragments is {text!r}; expected all or largest")
    return "largest" if text == "largest" else "all"


def _descriptors(said: Texts, settings: Sequence[str], recipe: str) -> tuple[tuple[str, ...], bool]:
    """The descriptors of the options, otherwise those of the recipe, and whether the network learns from them."""
    from deepergcn.recipes.load import load_recipe

    about = [*_about(settings, "data.descriptors"), *_about(settings, "model.descriptors")]
    if said is None:
        known = load_recipe(recipe, about)
        return known.data.descriptors, known.model.descriptors
    names = _listed(said)
    return () if names == ("none",) else names, True


def _blend(said: Text, settings: Sequence[str], recipe: str, described: bool) -> bool | None:
    """Whether a forest is blended: by the option or settings, otherwise by the recipe if molecules have descriptors.

    It is None where the number of molecules is to decide.
    """
    if said not in (None, "forest", "none"):
        raise InputError(f"--blend is {said!r}; expected forest or none")
    if said is not None:
        return said == "forest"
    from deepergcn.recipes.load import load_recipe

    about = _about(settings, "blend")
    if not described or load_recipe(recipe, about).blend is None:
        return False
    return True if about else None


def _about(settings: Sequence[str], key: str) -> list[str]:
    """The settings of this key, and of the keys below it."""
    names = [setting.partition("=")[0].strip() for setting in settings]
    return [one for one, name in zip(settings, names, strict=True) if name == key or name.startswith(f"{key}.")]


def _listed(texts: Texts) -> tuple[str, ...]:
    """The names that are given one by one, or several with commas between them."""
    return tuple(part.strip() for text in texts or () for part in text.split(",") if part.strip())


def _refuse(options: OwnDataOptions, names: tuple[str, ...], why: str) -> None:
    if flag := options.given(*names):
        raise InputError(f"{flag}: {why}")
