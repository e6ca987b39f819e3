"""Accelerated modules: instances of a subclass that behaves like PyG's own class.

The subclass has the name of PyG's class, so that ``repr`` and error messages are unchanged. Copies are accelerated. A
pickle holds PyG's own class: it loads without this package, and ``accelerate`` accelerates it again.
"""

import copy
import copyreg
import types
from collections.abc import Callable
from typing import Any, ClassVar, Self

from torch import nn


class InPlace(nn.Module):
    """Copying and pickling of a module whose class was replaced."""

    original: ClassVar[type[nn.Module]]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
        twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return twin

    def __copy__(self) -> Self:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __reduce_ex__(self, protocol: Any) -> Any:
        if type(self) is not known_class(self):
            return super().__reduce_ex__(protocol)
        return copyreg._reconstructor, (self.original, object, None), self.__dict__  # type: ignore[attr-defined]


def original_class(module: nn.Module) -> type:
    """PyG's class of a module, accelerated or not."""
    return module.original if isinstance(module, InPlace) else type(module)


def known_class(module: nn.Module) -> type:
    """The class of PyG or the accelerated one that a module's class is or extends, as parametrizations do."""
    return next((cls for cls in type(module).__mro__ if "original" in cls.__dict__), type(module))


def restore_class(module: InPlace) -> None:
    """Give an accelerated module PyG's own class again; a subclass gets it as its base."""
    known, original = known_class(module), module.original
    if type(module) is known:
        object.__setattr__(module, "__class__", original)
        return
    for cls in type(module).__mro__:
        if known in cls.__bases__:
            cls.__bases__ = tuple(original if base is known else base for base in cls.__bases__)
            if not hasattr(cls, "__deepcopy__"):  # parametrizations leave it to a base that has one
                cls.__deepcopy__ = InPlace.__deepcopy__  # type: ignore[attr-defined]


def stands_for(original: type) -> Callable[[Any], Any]:
    """Give a subclass of ``original`` its name."""

    def decorate(cls: Any) -> Any:
        cls.original = original
        cls.__name__, cls.__qualname__, cls.__module__ = original.__name__, original.__qualname__, original.__module__
        cls.__doc__ = original.__doc__
        return cls

    return decorate


def renamed(function: Any, name: str) -> Any:
    """A copy of a function under another name: TorchScript knows the methods of a class by their own names."""
    twin = types.FunctionType(
        function.__code__, function.__globals__, name, function.__defaults__, function.__closure__
    )
    twin.__kwdefaults__, twin.__annotations__, twin.__module__ = (
        function.__kwdefaults__,
        function.__annotations__,
        function.__module__,
    )
    return twin
