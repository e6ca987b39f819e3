"""Every dataset by its name, and every kind of file or folder that one can be read from.

A loader is written as ``"module:function"`` and imported when it is used, so that listing the names is immediate.
"""

import inspect
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepergcn.data.ogb.known import KNOWN
from deepergcn.data.storage.folders import data_root
from deepergcn.errors import InputError
from deepergcn.user_cache import expand

if TYPE_CHECKING:
    from deepergcn.data.dataset import Dataset

_TABLES = (".csv", ".csv.gz", ".parquet")


@dataclass(frozen=True)
class Source:
    """A dataset with a name: what ``loader(*arguments, root=root, **options)`` gives."""

    name: str
    summary: str
    loader: str
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Format:
    """A kind of file or folder: where ``fits(path)``, ``loader(path, root=root, **options)`` reads it."""

    name: str
    fits: Callable[[Path], bool]
    loader: str


SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        Source(
            "solubility",
            "1,282 molecules in three classes of measured aqueous solubility; comes with the package",
            "deepergcn.data.molecules.solubility:load_solubility",
        ),
        Source(
            "synthetic-proteins",
            "generated: the schema and size of ogbn-proteins, or any size (nodes=, edges=, seed=)",
            "deepergcn.data.synthetic.load:load_synthetic_proteins",
        ),
        Source(
            "synthetic-ppa",
            "generated: the schema and size of ogbg-ppa (13 GB), or any size (graphs=, nodes=, edges=, seed=)",
            "deepergcn.data.synthetic.load:load_synthetic_ppa",
        ),
        *(
            Source(known.name, known.summary, "deepergcn.data.ogb.layout:load_known", (known.name,))
            for known in KNOWN.values()
        ),
    )
}

FORMATS: tuple[Format, ...] = (
    Format(
        "a folder in OGB's layout (raw/ and split/)",
        lambda path: (path / "raw").is_dir(),
        "deepergcn.data.ogb.layout:load_layout",
    ),
    Format(
        "a folder with nodes and edges (nodes.csv and edges.csv)",
        lambda path: any((path / f"nodes{ending}").is_file() for ending in _TABLES),
        "deepergcn.data.tables.read:read_tables",
    ),
    Format(
        "a file of molecules (.csv, .csv.gz, .parquet, .sdf, .sdf.gz)",
        lambda path: path.is_file() and path.name.lower().endswith((*_TABLES, ".sdf", ".sdf.gz")),
        "deepergcn.data.molecules.read:read_molecules",
    ),
)


def load_dataset(name_or_path: str | Path, root: str | Path | None = None, **options: Any) -> "Dataset":
    """The dataset with this name, or in this file or folder; from the cache where it was read before.

    Args:
        name_or_path: A name that ``deepergcn datasets`` lists, or a path. A name comes first; write ``./name``
            for a folder that is called the same.
        root: The folder for data and caches; see :func:`deepergcn.data.storage.folders.data_root`.
        options: Further options of the loader, such as ``symmetric`` for a folder in OGB's layout.

    Example:
        >>> dataset = load_dataset("solubility")
        >>> len(dataset), dataset.label_names
        (1282, ('(A) low', '(B) medium', '(C) high'))
        >>> dataset.graph(0)
        Data(edge_index=[2, 8], num_nodes=5, x=[5, 9], edge_attr=[8, 3], y=[1])
    """
    base = data_root(root)
    if isinstance(name_or_path, str) and name_or_path in SOURCES:
        source = SOURCES[name_or_path]
        return _call(name_or_path, source.loader, source.arguments, base, options)
    path = expand(name_or_path)
    if not path.exists():
        raise InputError(f"{path}: is neither a dataset's name ({', '.join(SOURCES)}) nor a file or folder")
    for form in FORMATS:
        if form.fits(path):
            return _call(str(path), form.loader, (path,), base, options)
    raise InputError(f"{path}: is not a dataset; expected {', or '.join(form.name for form in FORMATS)}")


def load_tables(nodes: str | Path, edges: str | Path, root: str | Path | None = None, **options: Any) -> "Dataset":
    """The graph of these tables of nodes and edges; the options are those of :func:`deepergcn.data.read_tables`."""
    return _call(str(nodes), "deepergcn.data.tables.read:read_tables", (nodes, edges), data_root(root), options)


def _call(subject: str, loader: str, arguments: tuple[Any, ...], root: Path, options: dict[str, Any]) -> "Dataset":
    module, _, function = loader.partition(":")
    load: Callable[..., Dataset] = getattr(import_module(module), function)
    return load(*arguments, root=root, **_checked(subject, load, options))


def _checked(subject: str, load: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """The options, each of a name and a type that the loader's signature has; a list may stand for a tuple."""
    from pydantic import TypeAdapter, ValidationError

    parameters = inspect.signature(load).parameters.values()
    allowed = {p.name: p.annotation for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "root"}
    checked = {}
    for name, value in options.items():
        if name not in allowed:
            raise InputError(f"{subject}: has no option {name!r}; its options: {', '.join(allowed) or 'none'}")
        given = tuple(value) if isinstance(value, list) else value
        try:
            checked[name] = TypeAdapter(allowed[name]).validate_python(given, strict=not isinstance(given, dict))
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
            raise InputError(f"{subject}: option {name!r} is {reprlib.repr(value)}; {problem}") from error
    return checked
