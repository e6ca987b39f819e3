"""Cells that are no numbers, or are gaps, refused before training in one line that says what to do: one file a case."""

from pathlib import Path

import pytest

from tests.cli.own_data.own_files import graph, mine, molecules, nodes, number, refused, size

REFUSED = {
    "a censored value": mine(
        molecules(lambda i: ">10" if i == 4 else number(i)),
        "row 5: column 'y' is '>10'; expected a number (a censored value: write its limit, 10, or leave",
    ),
    "a decimal comma": mine(
        molecules(lambda i: "0,5" if i == 4 else number(i), between=";"),
        "row 5: column 'y' is '0,5'; expected a number (with a decimal point: 0.5)",
    ),
    "decimal commas in all cells": mine(
        molecules(lambda i: f"{i % 20 / 2}".replace(".", ","), between=";"),
        "row 1: column 'y' is '0,0'; expected a number (with a decimal point: 0.0)",
        "or --task multi-class if all values are classes",
    ),
    "thousands": mine(
        molecules(lambda i: f'"{i % 9 + 1},234"'), "is '1,234'; expected a number (without the comma if it separates"
    ),
    "percent signs": mine(molecules(lambda i: f"{i % 7 * 10}%"), "is '0%'; expected a number (without the percent"),
    "units": mine(molecules(lambda i: f"{i % 9 + 1} nM"), "is '1 nM'; expected a number (without its unit: 1)"),
    "another minus": mine(
        molecules(lambda i: f"\u2212{i % 9 + 1}.5"), "expected a number (with a hyphen for the minus: -1.5)"
    ),
    "limits of measurement alone": mine(
        molecules(lambda i: [">10", "<1", "5"][i % 3]), "is '>10'; expected a number (a censored value"
    ),
    "numbers with their errors": mine(
        molecules(lambda i: f"{i % 9}.1 ± 0.2"), "expected a number (the number alone: 0.1)"
    ),
    "a feature with decimal commas": graph(
        nodes(size=lambda i: f'"{i % 5},5"'),
        "row 1: column 'size' is '0,5'; expected a number (with a decimal point: 0.5); use --drop",
    ),
    "a feature in money": graph(nodes(size=lambda i: f"${i}.50"), "is '$0.50'; expected a number (without the curr"),
    "money in the German way": graph(
        nodes(size=lambda i: f'"{i % 5 + 1}.200,50 €"'),
        "is '1.200,50 €'; expected a number (without the currency and thousands separators)",
    ),
    "thousands and decimals in the German way": mine(
        molecules(lambda i: f"{i % 9 + 1}.234,5", between=";"),
        "is '1.234,5'; expected a number (without thousands separators, and with a decimal point)",
    ),
    "decimal commas and NA": graph(
        nodes(size=lambda i: "NA" if i % 3 else f'"{i % 5},5"'), "column 'size' is '0,5'; expected a number (with a"
    ),
    "numbers that float32 cannot tell apart": mine(
        molecules(lambda i: 1_700_000_000 + i),
        "label column 'y' are too close together for float32, from 1700000000 to 1700000059; subtract",
    ),
    "not available in small letters": mine(
        molecules(lambda i: ["active", "inactive", "n/a"][i % 3]),
        "row 3: label column 'y' is 'n/a'; say whether it is a missing label (--missing 'n/a') or a class",
    ),
    "a feature with many gaps in words": graph(
        nodes(size=lambda i: "n.d." if i % 3 else i), "row 2: column 'size' is 'n.d.'; expected a number; use --drop"
    ),
    "infinity among texts": graph(
        nodes(size=lambda i: "inf" if i == 8 else "abc"[i % 3]),
        "row 9: column 'size' is 'inf'; expected a number; use --drop",
    ),
    "one category in two spellings": graph(
        nodes(flag=lambda i: ["TRUE", "false", "True"][i % 3]),
        "column 'flag' has 'TRUE' in row 1 and 'True' in row 3, which differ in capitals",
    ),
    "codes with zeros before them": graph(
        nodes(code=lambda i: f"{i % 7:04d}"),
        "column 'code' has '0000' in row 1, which may be a code",
        "(--categorical)",
    ),
    "the label as a feature": graph(nodes(size=size), "the column 'y' is a label, an id or the split", features=["y"]),
    "a feature with -999 for gaps": graph(
        nodes(size=lambda i: -999 if i % 5 == 0 else i / 7), "column 'size' holds -999, which is far from its"
    ),
    "not determined": mine(
        molecules(lambda i: ["active", "inactive", "n.d."][i % 3]),
        "row 3: label column 'y' is 'n.d.'; say whether it is a missing label (--missing 'n.d.') or a class",
    ),
    "errors of a spreadsheet": mine(
        molecules(lambda i: ["active", "inactive", "#N/A"][i % 3]), "is '#N/A'; say whether it is a missing label"
    ),
    "a word among numbers": mine(
        molecules(lambda i: "n.d." if i == 5 else number(i)),
        "row 6: column 'y' is 'n.d.'; expected a number, like most cells of the column, or --missing 'n.d.' if it",
    ),
    "-999 among numbers": mine(
        molecules(lambda i: "-999" if i % 10 == 0 else number(i)), "holds -999, which is far from", "(--missing -999)"
    ),
    "9 beside 0 and 1": mine(molecules(lambda i: 9 if i % 10 == 0 else i % 2), "(--missing 9) or is an ordinary value"),
    "one number": mine(molecules(lambda i: "5.5"), "label column 'y' is 5.5 in every row; expected different values"),
    "infinite numbers": graph(
        nodes(size=lambda i: "inf" if i == 8 else size(i)),
        "row 9: column 'size' is 'inf'; expected a number, like most cells of the column; use --drop",
    ),
    "text among numbers": graph(
        nodes(size=lambda i: "n.d." if i == 8 else size(i)), "row 9: column 'size' is 'n.d.'; expected a number"
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    refused(REFUSED[name], tmp_path)
