"""Modules by the type of nodes or edges, whatever a type is called."""

from collections.abc import Mapping
from typing import TypeVar

from torch import nn

TypeKey = str | tuple[str, str, str]
"""The type of nodes, or of edges: source, relation, target."""

K = TypeVar("K", str, tuple[str, str, str])

_ESCAPED = str.maketrans({"%": "%25", ".": "%2E", ",": "%2C"})


class TypeDict(nn.Module):
    """One module for each type; in ``state_dict`` a type is written as ``<name>`` or ``<source,relation,target>``.

    The brackets keep the name of a type from being one of an attribute (``items``, ``type``); a dot, which torch does
    not allow, a comma and a percent sign are written as in URLs, so that different types never share a module.
    """

    def __init__(self, modules: Mapping[K, nn.Module]) -> None:
        super().__init__()
        for key, module in modules.items():
            self.add_module(_name(key), module)

    def __getitem__(self, key: TypeKey) -> nn.Module:
        return self._modules[_name(key)]  # type: ignore[return-value]

    def __contains__(self, key: TypeKey) -> bool:
        return _name(key) in self._modules

    def __len__(self) -> int:
        return len(self._modules)


def _name(key: TypeKey) -> str:
    parts = (key,) if isinstance(key, str) else key
    return f"<{','.join(part.translate(_ESCAPED) for part in parts)}>"
