"""What every key of a recipe means, from the docstrings of the schema and of the modules."""

import re
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from deepergcn.errors import InputError
from deepergcn.nn.conv.aggregators import PowerMeanAggregation, SoftmaxAggregation
from deepergcn.nn.conv.gen_conv import GENConv
from deepergcn.nn.networks.deeper_gcn import DeeperGCN
from deepergcn.nn.networks.graph_network import GraphNetwork
from deepergcn.recipes.schema import ModelSection, Recipe

_MODULES = (GENConv, GraphNetwork, DeeperGCN, SoftmaxAggregation, PowerMeanAggregation)


@dataclass(frozen=True)
class Key:
    """A key of a section of a recipe."""

    section: str
    name: str
    meaning: str
    type: str
    default: str


def recipe_sections() -> dict[str, str]:
    """The sections of a recipe, with the first line of their docstrings."""
    summaries = {name: (kind.__doc__ or "").strip().splitlines()[0] for name, kind in _sections().items()}
    return summaries | {"model": "The network and its options."}


def recipe_keys(beginning: str = "") -> list[Key]:
    """The keys whose names begin with ``beginning``, such as ``training`` or ``training.average``; by default all."""
    keys = [key for section, kind in _sections().items() for key in _keys(section, kind)]
    found = [key for key in keys if f"{key.section}.{key.name}".startswith(beginning)]
    if not found:
        raise InputError(f"no key of a recipe begins with {beginning!r}; its sections: {', '.join(_sections())}")
    return found


def _sections() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for section, field in Recipe.model_fields.items():
        kind: Any = ModelSection if section == "model" else field.annotation
        kind = next((one for one in get_args(kind) if hasattr(one, "model_fields")), kind)  # of one that may be None
        if hasattr(kind, "model_fields"):
            found[section] = kind
    return found


def _keys(section: str, kind: Any) -> list[Key]:
    told = {name: text for part in reversed(kind.__mro__) for name, text in _attributes(part).items()}
    if section == "model":
        options = {name: text for part in _MODULES for name, text in _attributes(part).items()}
        told = {**options, **_attributes(ModelSection.__mro__[1]), **told}
    hints = get_type_hints(kind)
    return [
        Key(
            section,
            name,
            told.get(name, ""),
            _type(hints.get(name, key.annotation)),
            "required" if key.is_required() else str(key.get_default(call_default_factory=True)),
        )
        for name, key in kind.model_fields.items()
    ]


def _attributes(cls: Any) -> dict[str, str]:
    """The entries of the sections Attributes and Args of a docstring, by name."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in (cls.__doc__ or "").splitlines():
        entry = re.match(r"        ([a-z_, ]+): (.*)", line)
        if entry and not line.startswith("         "):
            names = [name.strip() for name in entry[1].split(",")]
            found |= dict.fromkeys(names, entry[2])
        elif names and line.startswith("            "):
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
        else:
            names = []
    return {name: text.replace("``", "`") for name, text in found.items()}


def _type(hint: Any) -> str:
    text = getattr(hint, "__name__", None) if isinstance(hint, type) else str(hint)
    text = re.sub(r"typing\.|Annotated\[(\w+), [^\]]*\]*\)?\]", lambda m: m[1] or "", str(text))
    text = re.sub(r"deepergcn[\w.]*\.|Optional\[(.*)\]$", lambda m: f"{m[1]} | None" if m[1] else "", text)
    text = re.sub(r"\bLiteral\[([^\]]*)\]", lambda m: m[1].replace("'", "").replace(", ", " or "), text)
    text = re.sub(r"\btuple\[((?:[^\[\]]|\[[^\[\]]*\])*), \.\.\.\]", r"list of \1", text)
    return re.sub(r"\bUnion\[(.*), NoneType\]", r"\1 | None", text)
