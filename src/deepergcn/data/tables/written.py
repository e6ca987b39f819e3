"""How people write numbers, missing values and categories: in more ways than one."""

import re
import unicodedata
from collections.abc import Collection, Sequence

_NUMBER = r"[+-]?[0-9]+(?:[.,][0-9]+)?(?:[eE][+-]?[0-9]+)?"
_UNITS = (
    "[fpnuµμm]?M|[pnuµμmk]?g|[nuµμm]?[lL]|[nµμmck]?m|[nuµμm]?s|min|h|d|Da|kDa|K|°C|eV|bar|[kM]?Pa|kcal/mol|kJ/mol|"
    "[nuµμm]?mol(?:/[lL])?|[nuµμm]?g/m?[lL]|g/mol|[kMG]?Hz|years?"
)
_APART = r"[, '\u2019\u00a0\u202f]"
_CURRENCY = r"(?:[$€£¥]|USD|EUR|GBP|CHF|JPY)"
_AMOUNT = r"[+-]?[0-9][0-9.,'\u2019\u00a0\u202f]*"
_WAYS = tuple(
    (re.compile(pattern + r"\Z"), hint)
    for pattern, hint in (
        (r"[<>≤≥~≈]=?\s*(?P<n>" + _NUMBER + ")", "a censored value: write its limit, {n}, or leave the cell empty"),
        (
            r"(?P<n>[+-]?[1-9][0-9]{0,2},[0-9]{3})",
            "without the comma if it separates thousands, otherwise with a decimal point",
        ),
        (r"(?P<n>[+-]?[1-9][0-9]{0,2}(?:" + _APART + r"[0-9]{3})+(?:\.[0-9]+)?)", "without thousands separators"),
        (
            r"(?P<n>[+-]?[1-9][0-9]{0,2}(?:(?:\.[0-9]{3})+,[0-9]+|(?:\.[0-9]{3}){2,}))",
            "without thousands separators, and with a decimal point",
        ),
        (r"(?P<n>[+-]?[0-9]+,[0-9]+(?:[eE][+-]?[0-9]+)?)", "with a decimal point: {n}"),
        (r"(?P<n>" + _NUMBER + r")\s*%", "without the percent sign: {n}"),
        (r"[\u2212\u2013](?P<n>[0-9]+(?:[.,][0-9]+)?)", "with a hyphen for the minus: -{n}"),
        (r"(?P<n>" + _NUMBER + r")\s*(?:±|\+/-)\s*" + _NUMBER, "the number alone: {n}"),
        (_CURRENCY + r"\s*(?P<n>" + _NUMBER + ")", "without the currency: {n}"),
        (_CURRENCY + r"\s*(?P<n>" + _AMOUNT + ")", "without the currency and thousands separators"),
        (r"(?P<n>" + _AMOUNT + r")\s*" + _CURRENCY, "without the currency and thousands separators"),
        (r"(?P<n>" + _NUMBER + r")\s*(?:" + _UNITS + ")", "without its unit: {n}"),
    )
)

_PLAIN = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")

_WORDS = (
    "n.d.|n.d|nd|n/d|n.a.|n.a|n.t.|nt|?|??|-|--|.|unknown|missing|no data|not determined|not available|not tested|"
    "inconclusive|unspecified|undetermined|tbd|pending|na|n/a|<na>|nan|null"
)
_STATES = frozenset(("unknown", "inconclusive", "pending"))  # each may be one of two classes
_ERRORS = "#n/a|#na|#value!|#div/0!|#ref!|#name?|#num!|#null!"  # of spreadsheets
_MISSING = frozenset(f"{_WORDS}|{_ERRORS}".split("|"))
_TRUE = frozenset(("true", "t", "yes", "y", "1"))
_FALSE = frozenset(("false", "f", "no", "n", "0"))


def number_hint(cell: str) -> str | None:
    """A hint at how to write a cell as a number, if it looks like a number in another notation."""
    for pattern, hint in _WAYS:
        if found := pattern.match(cell):
            return hint.format(n=found["n"].replace(",", "."))
    return None


def means_missing(cell: str, texts: Collection[str]) -> bool:
    """Whether a cell means that its value is unknown, given the different texts of its column.

    ``-`` does not if ``+`` is in the column, nor do ``unknown`` and similar words next to a single other text. The gaps
    of :data:`deepergcn.data.tables.columns.GAPS` do, in any capitals, except ``none``, which may be a class.
    """
    if cell == "-" and "+" in texts:
        return False
    return cell.casefold() in _MISSING and (cell.casefold() not in _STATES or len(texts) > 2)


def numbers_written_otherwise(texts: Collection[str]) -> bool:
    """Whether these different texts are numbers or gaps, however they are written, and at least one is a number."""
    found = False
    for text in texts:
        if _PLAIN.match(text) or number_hint(text) is not None:
            found = True
        elif not means_missing(text, texts):
            return False
    return found


def alike(texts: Sequence[str]) -> tuple[str, str, str] | None:
    """Two different texts that look or mean the same, and how they are alike; None if there are none.

    They differ in capitals, blanks or invisible characters only, or are both words for true, or both for false, in a
    column of such words only.
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
