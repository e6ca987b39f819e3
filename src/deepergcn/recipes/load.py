"""Read recipes: by name or from a file, with single settings changed, and errors that name the key."""

import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from deepergcn.errors import InputError
from deepergcn.recipes.schema import Recipe

MOST_CHARACTERS = 1 << 20
"""The longest text of a recipe that is read."""

_FOLDER = resources.files("deepergcn.recipes")
_NUMBERS = {
    "tag:yaml.org,2002:int": r"[-+]?(?:0|[1-9][0-9_]*|0b[01_]+|0x[0-9a-fA-F_]+)",
    "tag:yaml.org,2002:float": (
        r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
    ),
}


class _Loader(yaml.SafeLoader):
    """Plain values only: an alias may stand for a text that grows without bound.

    Numbers are those of YAML 1.2: 12:30 is a text, not 750, and 010 is not 8.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012, as in the base class
        first: [(tag, pattern) for tag, pattern in found if tag not in _NUMBERS]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark
            raise yaml.YAMLError(f"line {mark.line + 1} has an alias (*), which is not supported")
        return super().compose_node(parent, index)


for _tag, _pattern in _NUMBERS.items():
    _Loader.add_implicit_resolver(_tag, re.compile(rf"(?:{_pattern})\Z"), list("-+0123456789."))


class _Dumper(yaml.SafeDumper):
    """Every value written out, never as an alias."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def recipe_names() -> tuple[str, ...]:
    """The recipes that come with the package."""
    return tuple(sorted(Path(entry.name).stem for entry in _FOLDER.iterdir() if entry.name.endswith(".yaml")))


def load_recipe(name_or_path: str | Path, overrides: Sequence[str] = ()) -> Recipe:
    """The recipe with this name or in this file.

    Args:
        name_or_path: a name that ``deepergcn recipes`` lists, or a path to a YAML file.
        overrides: settings to change, each as ``key=value`` with the sections of the key joined by dots, such as
            ``model.num_layers=14``; the value is YAML.
    """
    text = str(name_or_path)
    if text in recipe_names():
        return read_recipe(_FOLDER.joinpath(f"{text}.yaml").read_text(encoding="utf-8"), text, overrides)
    path = Path(name_or_path)
    if not path.is_file():
        raise InputError(f"{text}: is neither a recipe's name ({', '.join(recipe_names())}) nor a file")
    try:
        if path.stat().st_size > 4 * MOST_CHARACTERS:
            raise InputError(
                f"{text}: has {path.stat().st_size} bytes; expected at most {4 * MOST_CHARACTERS} for a recipe"
            )
        return read_recipe(path.read_text(encoding="utf-8"), text, overrides)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{text}: the recipe cannot be read ({error})") from error


def read_recipe(text: str, origin: str, overrides: Sequence[str] = ()) -> Recipe:
    """The recipe in a YAML text; ``origin`` is its name in errors.

    With the key ``base``, the name of another recipe, the text has only the settings that differ from that recipe.
    """
    values = parse_yaml(text, f"{origin}: is not YAML")
    if not isinstance(values, dict):
        raise InputError(f"{origin}: expected a recipe with the keys {', '.join(Recipe.model_fields)}")
    values = _on_base(values, origin)
    for override in overrides:
        _override(values, override, origin)
    return validate(values, origin)


def validate(values: Mapping[str, Any], origin: str) -> Recipe:
    """The recipe of these values; an error names the first wrong key, and the known keys or values."""
    try:
        return Recipe.model_validate(values)
    except ValidationError as error:
        raise InputError(f"{origin}: {_explain(error)}") from error


def dump_recipe(recipe: Recipe) -> str:
    """The recipe as YAML, with all settings except the network's defaults."""
    text: str = yaml.dump(recipe.model_dump(mode="json", exclude_none=True), Dumper=_Dumper, sort_keys=False)
    return text


def parse_yaml(text: str, complaint: str) -> Any:
    """The values of a YAML text, bounded in size and depth; an error begins with ``complaint``."""
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"{complaint}: it has {len(text)} characters, expected at most {MOST_CHARACTERS}")
    try:
        return yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date or a number that cannot be
        raise InputError(f"{complaint} ({' '.join(str(error).split())})") from error
    except RecursionError as error:
        raise InputError(f"{complaint}: it is nested too deeply") from error


def _on_base(values: dict[str, Any], origin: str) -> dict[str, Any]:
    """The recipe that the key ``base`` names, with these values instead of its own."""
    base = values.pop("base", None)
    if base is None:
        return values
    if base not in recipe_names():
        raise InputError(f"{origin}: base is {base!r}; expected a recipe's name: {', '.join(recipe_names())}")
    below = yaml.safe_load(_FOLDER.joinpath(f"{base}.yaml").read_text(encoding="utf-8"))
    return _merge(_on_base(below, base), values)


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(below.get(key), dict)
        merged[key] = _merge(below[key], value) if both else value
    return merged


def _override(values: dict[str, Any], override: str, origin: str) -> None:
    key, equals, text = override.partition("=")
    names = key.strip().split(".")
    if not equals or not all(names):
        raise InputError(f"--set {override}: expected key=value, such as model.num_layers=14")
    value = parse_yaml(text, f"--set {override}: the value is not YAML")
    section = values
    for name in names[:-1]:
        inner = section.setdefault(name, {})
        if not isinstance(inner, dict):
            raise InputError(f"--set {override}: {name} in {origin} is {inner!r}; expected a section with keys")
        section = inner
    section[names[-1]] = value


def _explain(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    location = [str(part) for part in first["loc"]]
    key, section = _walk(location)
    match first["type"]:
        case "extra_forbidden":
            known = ", ".join(section.model_fields)
            return (
                f"{'.'.join(location)} is not a key of {'.'.join(location[:-1]) or 'a recipe'}; expected one of {known}"
            )
        case "missing":
            return f"{key} is missing"
    return f"{key} is {first['input']!r}; {first['msg'].removeprefix('Value error, ')}"


def _walk(location: Sequence[str]) -> tuple[str, type[BaseModel]]:
    """The part of ``location`` that consists of keys, without pydantic's names of types, and its innermost section."""
    section: type[BaseModel] = Recipe
    keys = []
    for name in location:
        field = section.model_fields.get(name)
        if field is None:
            break
        keys.append(name)
        kinds = [field.annotation, *getattr(field.annotation, "__args__", ())]
        section = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), section)
    return ".".join(keys), section
