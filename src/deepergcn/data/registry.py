"""Every dataset by name, which of them are on this machine, and every format of files and folders.

A loader is given as ``"module:function"`` and imported when used, so that listing the names is fast.
"""

import inspect
import reprlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

from deepergcn.data.ogb.known import KNOWN, Known
from deepergcn.data.storage.endings import MOLECULE_NAMES, TABLE_NAMES
from deepergcn.data.storage.folders import data_root
from deepergcn.errors import InputError
from deepergcn.user_cache import expand

if TYPE_CHECKING:
    from deepergcn.data.dataset import Dataset

NOT_DESCRIBED = ("root", "skipped_file", "workers", "progress", "warn")
"""Options that only the user may set, never a recipe: what is written, and how."""

_TABLE_LOADER = "deepergcn.data.tables.read:read_tables"
_LINK_LOADER = "deepergcn.data.links.read:read_links"
_OGB, _OGB_LINKS = "deepergcn.data.ogb.layout:load_known", "deepergcn.data.ogb.links:load_known_links"

State = Literal["on disk", "cache only", "not on disk", "built in"]
"""Of a dataset whose raw files were removed, or read from another folder, there is the cache only."""


@dataclass(frozen=True)
class Source:
    """A named dataset, loaded by ``loader(*arguments, root=root, **options)``."""

    name: str
    summary: str
    loader: str
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Format:
    """A format: if ``fits(path)``, ``loader(path, root=root, **options)`` reads it."""

    name: str
    fits: Callable[[Path], bool]
    loader: str


@dataclass(frozen=True)
class DatasetEntry:
    """A dataset: whether it is on this machine, its folder, and the sizes of its files and cache in bytes."""

    name: str
    summary: str
    state: State
    folder: Path | None
    raw_bytes: int
    cache_bytes: int


def _has_links(known: Known) -> bool:
    return known.settings.task is not None and known.settings.task.level == "link"


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
            Source(known.name, known.summary, _OGB_LINKS if _has_links(known) else _OGB, (known.name,))
            for known in KNOWN.values()
        ),
    )
}


def _is_link_layout(path: Path) -> bool:
    return any(path.glob("split/*/train.pt"))


FORMATS: tuple[Format, ...] = (
    Format(
        "a folder in OGB's layout (raw/ and split/)",
        lambda path: (path / "raw").is_dir() and not _is_link_layout(path),
        "deepergcn.data.ogb.layout:load_layout",
    ),
    Format(
        "a folder of links in OGB's layout (raw/ and split/ with .pt files)",
        lambda path: (path / "raw").is_dir() and _is_link_layout(path),
        "deepergcn.data.ogb.links:load_link_layout",
    ),
    Format(
        "a folder with nodes and edges (nodes.csv and edges.csv)",
        lambda path: any((path / f"nodes{ending}").is_file() for ending in TABLE_NAMES),
        _TABLE_LOADER,
    ),
    Format(
        "a folder with graphs (graphs.safetensors and graphs.parquet)",
        lambda path: (path / "graphs.safetensors").is_file(),
        "deepergcn.data.graphs.read:read_graphs",
    ),
    Format(
        f"a file of molecules ({', '.join(MOLECULE_NAMES)})",
        lambda path: path.is_file() and path.name.lower().endswith(MOLECULE_NAMES),
        "deepergcn.data.molecules.read:read_molecules",
    ),
)


def load_dataset(name_or_path: str | Path, root: str | Path | None = None, **options: Any) -> "Dataset":
    """Load a dataset by name, or from a file or folder; it is cached.

    Args:
        name_or_path: a name listed by ``deepergcn datasets``, or a path. Names take precedence; write ``./name`` for
            a folder of the same name.
        root: the folder of data and caches; see :func:`deepergcn.data.storage.folders.data_root`.
        options: options of the loader, such as ``symmetric`` for a folder in OGB's layout.

    Examples:
        >>> dataset = load_dataset("solubility")
        >>> len(dataset), dataset.label_names
        (1282, ('(A) low', '(B) medium', '(C) high'))
        >>> dataset.graph(0)
        Data(edge_index=[2, 8], num_nodes=5, x=[5, 9], edge_attr=[8, 3], y=[1])
    """
    load, arguments = find_loader(name_or_path)
    return load(*arguments, root=data_root(root), **checked_options(str(name_or_path), load, options))


def load_described(
    source: str, edges: str | None, options: Mapping[str, Any], *, nodes: str | None = None, links: bool = False
) -> "Dataset":
    """Load the dataset of a recipe, which may come from someone else: it cannot name a file to write.

    Args:
        source: A name or path as for :func:`load_dataset`; the table of nodes if ``edges`` is given.
        edges: the table of edges.
        options: further options of the loader, except those of :data:`NOT_DESCRIBED`.
        nodes: the table of nodes, if ``source`` is a table of links.
        links: whether ``source`` is a table of links.
    """
    load: Callable[..., Dataset]
    arguments: tuple[Any, ...]
    if links:
        load = _import(_LINK_LOADER)
        arguments = (expand(source), *(None if table is None else expand(table) for table in (nodes, edges)))
    elif nodes is not None:
        raise InputError(f"data.nodes: works with data.reader links only; {source} has its own nodes")
    elif edges is None:
        load, arguments = find_loader(source)
    else:
        load, arguments = _import(_TABLE_LOADER), (expand(source), expand(edges))
    checked = checked_options(source, load, options, without=NOT_DESCRIBED)
    return load(*arguments, root=data_root(), **checked)


def load_described_types(nodes: Mapping[str, str], edges: Mapping[str, str], options: Mapping[str, Any]) -> "Dataset":
    """As :func:`load_described`, of the tables of nodes and edges of several types."""
    load = _import("deepergcn.data.typed.read:read_typed_tables")
    files = [{name: expand(path) for name, path in tables.items()} for tables in (nodes, edges)]
    return load(*files, **checked_options("typed tables", load, options))


def find_loader(name_or_path: str | Path) -> tuple[Callable[..., "Dataset"], tuple[Any, ...]]:
    """The function that reads a dataset by name or path, and its first arguments."""
    if isinstance(name_or_path, str) and name_or_path in SOURCES:
        source = SOURCES[name_or_path]
        return _import(source.loader), source.arguments
    path = expand(name_or_path)
    if not path.exists():
        raise InputError(f"{path}: is neither the name of a dataset ({', '.join(SOURCES)}) nor a file or folder")
    for form in FORMATS:
        if form.fits(path):
            return _import(form.loader), (path,)
    raise InputError(f"{path}: is not a dataset; expected {', or '.join(form.name for form in FORMATS)}")


def checked_options(
    subject: str, load: Callable[..., "Dataset"], options: Mapping[str, Any], without: Collection[str] = ("root",)
) -> dict[str, Any]:
    """Check names and types of options against the loader's signature; lists are accepted for tuples."""
    from pydantic import TypeAdapter, ValidationError

    keywords = [p for p in inspect.signature(load).parameters.values() if p.kind is p.KEYWORD_ONLY]
    allowed = [p.name for p in keywords if p.name not in without]
    needed = [p.name for p in keywords if p.default is p.empty and p.name in allowed]
    hints = get_type_hints(load)
    checked = {}
    for name, value in options.items():
        if name not in allowed:
            raise InputError(f"{subject}: has no option {name!r}; its options: {', '.join(allowed) or 'none'}")
        given = tuple(value) if isinstance(value, list) else value
        try:
            checked[name] = TypeAdapter(hints[name]).validate_python(given, strict=not isinstance(given, dict))
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
            raise InputError(f"{subject}: option {name!r} is {reprlib.repr(value)}; {problem}") from error
    for name in needed:
        if name not in options:
            raise InputError(f"{subject}: expected the option {name}; its options: {', '.join(allowed)}")
    return checked


def inventory(root: Path) -> list[DatasetEntry]:
    """Every named dataset, in the order of the registry."""
    return [_entry(name, source.summary, root) for name, source in SOURCES.items()]


def _entry(name: str, summary: str, root: Path) -> DatasetEntry:
    cache = sum(path.stat().st_size for path in root.glob(f"arrays/{name}-{'?' * 12}.safetensors"))
    if name not in KNOWN:
        return DatasetEntry(name, summary, "built in", None, 0, cache)
    folder = root / KNOWN[name].folder
    state: State = "on disk" if folder.is_dir() else "cache only" if cache else "not on disk"
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return DatasetEntry(name, summary, state, folder, size, cache)


def _import(loader: str) -> Callable[..., "Dataset"]:
    module, _, function = loader.partition(":")
    found: Callable[..., Dataset] = getattr(import_module(module), function)
    return found
