"""Labels in a user's file that are refused before training, in one line that says what to do: one file a case."""

from pathlib import Path

import pytest

from tests.cli.own_data.own_files import active, graph, mine, molecules, nodes, number, refused, size

REFUSED = {
    "one class only": mine(molecules(lambda i: "active"), "label column 'y' has one class only, 'active'"),
    "one class beside None": mine(
        molecules(lambda i: ["None", "weak"][i % 2]),
        "has one class only, 'weak' ('None' is read as a missing label, unless --missing '' is said)",
    ),
    "only zeros": mine(molecules(lambda i: 0), "label column 'y' has one class only, '0'"),
    "a metric of another task": mine(molecules(active), "metric is 'rmse'; expected one of rocauc", metric=["rmse"]),
    "an unknown metric": mine(molecules(active), "metric is 'gini'", metric=["gini"]),
    "an unknown task": mine(molecules(active), "task is 'ranking'; expected one of binary", task="ranking"),
    "targets of several kinds": mine(
        molecules(active, header="smiles,y,z", z=number),
        "the labels are of several kinds: 'y' is binary, 'z' is regression; train a run for each kind",
        target=["y,z"],
    ),
    "-1 beside 0 and 1": mine(
        molecules(lambda i: i % 3 - 1), "holds -1, 0, 1; say whether -1 is a missing label (--missing -1)"
    ),
    "capitals": mine(
        molecules(lambda i: ["Active", "active", "no"][i % 3]),
        "'Active' in row 1 and 'active' in row 2, which differ in capitals, blanks or invisible characters only",
    ),
    "dates to learn": mine(
        molecules(lambda i: f"2024-01-{i % 28 + 1:02d}"),
        "label column 'y' holds dates, such as '2024-01-01'; expected classes or numbers, or --task multi-class",
    ),
    "days without a year": mine(molecules(lambda i: f"{i % 12 + 1}-Jan"), "holds dates, such as '1-Jan'"),
    "one class in one of several targets": mine(
        molecules(active, header="smiles,y,z", z=lambda i: 0), "'z' has one class only, '0'", target=["y,z"]
    ),
    "one-hot classes": mine(
        molecules(lambda i: int(i % 2 == 0), header="smiles,y,z", z=lambda i: i % 2),
        "are 1 in exactly one column of every row, as one class that is one-hot encoded",
        target=["y,z"],
    ),
    "a class that cannot be read": mine(
        molecules(lambda i: "abc"[i % 3]) + "C(C,d\n", "no molecule of the class 'd' can be read; --missing 'd'"
    ),
    "a positive number": mine(molecules(number), "a regression task has none", positive=["1"]),
    "-1 beside classes": graph(
        nodes(lambda i: i % 4 - 1, size=size), "holds -1, 0, 1, 2; say whether -1 is a missing label (--missing -1)"
    ),
    "yes and 1": mine(
        molecules(lambda i: ["yes", "no", "1", "0"][i % 4]), "'1' in row 3 and 'yes' in row 1, which mean the same"
    ),
    "letters that cannot be seen": mine(
        molecules(lambda i: active(i) + "\u200b" * (i % 2)), "'active' in row 1 and 'active\\u200b' in row 4"
    ),
    "an inconclusive assay": mine(
        molecules(lambda i: ["Active", "Inactive", "Inconclusive"][i % 3]),
        "is 'Inconclusive'; say whether it is a missing label (--missing 'Inconclusive') or a class",
    ),
    "too many classes": mine(molecules(lambda i: f"class {i}"), "at most 50 classes; found 60: --task multi-class"),
    "a positive class that is none": mine(
        molecules(active), "the positive class is 'yes'; expected one of active, inactive", positive=["yes"]
    ),
    "an empty target": mine(molecules(lambda i: ""), "label column 'y' is empty"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    refused(REFUSED[name], tmp_path)
