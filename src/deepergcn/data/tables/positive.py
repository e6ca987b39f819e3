"""Which of two classes is the positive one, by what their names mean."""

from collections.abc import Sequence

from deepergcn.errors import InputError, listed, quote


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_POSITIVE = _words(
    "1 + y yes t true on pos positive active hit toxic mutagenic carcinogenic binder bound inhibitor permeable soluble "
    "present case disease diseased sick fraud spam approved responder"
)
_NEGATIVE = _words(
    "0 -1 - n no f false off neg negative inactive miss inert nontoxic safe decoy unbound absent control healthy "
    "normal ham rejected"
)
_NOT = ("not ", "non-", "non ", "non", "in", "un", "im", "no ")


def positive_last(names: Sequence[str], positive: str | None = None) -> tuple[str, str]:
    """The two names, the positive one second: the one that is given, else that means yes, else that comes last."""
    first, second = names
    if positive is not None:
        if positive.strip() not in names:
            raise InputError(f"the positive class is {quote(positive)}; expected one of {listed(names)}")
        return (first, second) if positive.strip() == second else (second, first)
    return (second, first) if _means_yes(first, second) and not _means_yes(second, first) else (first, second)


def is_meaningful(pair: tuple[str, str]) -> bool:
    """Whether the second name of the two is positive by its meaning, and not by its place alone."""
    return _means_yes(pair[1], pair[0])


def _means_yes(name: str, other: str) -> bool:
    one, two = name.casefold().strip(), other.casefold().strip()
    return one in _POSITIVE or two in _NEGATIVE or any(two == prefix + one for prefix in _NOT)
