"""Texts of a column that mean the same but are written in two ways."""

import unicodedata
from collections.abc import Sequence

_TRUE = frozenset(("true", "t", "yes", "y", "1"))
_FALSE = frozenset(("false", "f", "no", "n", "0"))


def alike(texts: Sequence[str]) -> tuple[str, str, str] | None:
    """Two different texts that look or mean the same, and in what they agree; None if there are none.

    They differ in capitals, blanks or characters that cannot be seen, or are both words for true, or both for false,
    in a column that holds such words alone.
    """
    first: dict[str, str] = {}
    for text in texts:
        other = first.setdefault(_folded(text), text)
        if other != text:
            return other, text, "differ in capitals, blanks or invisible characters only"
    for words in (_TRUE, _FALSE):
        found = [text for name, text in first.items() if name in words]
        if len(found) > 1 and first.keys() <= _TRUE | _FALSE:
            return found[0], found[1], "mean the same"
    return None


def _folded(text: str) -> str:
    seen = "".join(letter for letter in unicodedata.normalize("NFKC", text) if unicodedata.category(letter) != "Cf")
    return " ".join(seen.split()).casefold()
