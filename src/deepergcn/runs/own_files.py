"""Data that lies in its run directory: named relative to it in ``recipe.yaml``, so that the directory can be moved."""

from collections.abc import Callable
from pathlib import Path

from deepergcn.recipes.schema import Recipe
from deepergcn.user_cache import real_path

_FOLDER = "data"


def own_data_relative(recipe: Recipe, folder: Path) -> Recipe:
    """The recipe with relative paths to the files in the folder ``data`` of the run directory."""
    place = real_path(folder)

    def relative(text: str) -> str:
        path = Path(text)
        inside = path.is_absolute() and path.is_relative_to(place / _FOLDER)
        return path.relative_to(place).as_posix() if inside else text

    return _changed(recipe, relative)


def own_data_absolute(recipe: Recipe, folder: Path) -> Recipe:
    """The recipe with absolute paths instead of those."""
    place = real_path(folder)

    def absolute(text: str) -> str:
        return str(place / text) if text.startswith(f"{_FOLDER}/") and (place / text).exists() else text

    return _changed(recipe, absolute)


def holds_data(recipe: Recipe, folder: Path) -> bool:
    """Whether the data of the recipe lies in this run directory."""
    return own_data_relative(recipe, folder).data.source != recipe.data.source


def _changed(recipe: Recipe, change: Callable[[str], str]) -> Recipe:
    section = recipe.data
    changes = {"source": change(section.source)}
    changes |= {name: change(path) for name in ("nodes", "edges") if (path := getattr(section, name)) is not None}
    return recipe.model_copy(update={"data": section.model_copy(update=changes)})
