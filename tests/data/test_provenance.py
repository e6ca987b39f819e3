"""Records of how files were read: the same after JSON, and those of older versions still read."""

import json

import pytest
from pydantic import ValidationError

from deepergcn.data.molecules.skipped import Skipped
from deepergcn.data.provenance import ADAPTER, MoleculeProvenance, TableProvenance, label_schema, skipped_rows
from deepergcn.data.tables.features import FeatureColumn
from deepergcn.data.tables.labels import LabelSchema

LABELS = LabelSchema(("y",), "binary", (("no", "yes"),))
MOLECULES = MoleculeProvenance(
    smiles_column="smiles", rows=4, skipped=(Skipped(2, "C1CC", "unclosed ring"),), labels=LABELS
)
TABLES = TableProvenance(
    id_column="id",
    source_column="source",
    target_column="target",
    directed=True,
    features=(FeatureColumn("age", mean=0.1, std=3.0, fills_gaps=True), FeatureColumn("colour", ("blue", "red"))),
    edge_features=(),
    labels=LABELS,
)

OLD_MOLECULES = {
    "reader": "molecules",
    "smiles_column": "smiles",
    "rows": 4,
    "skipped": [[2, "C1CC", "unclosed ring"]],
    "labels": {"columns": ["y"], "kind": "binary", "classes": [["no", "yes"]]},
}
OLD_TABLES = {
    "reader": "tables",
    "id_column": "id",
    "source_column": "source",
    "target_column": "target",
    "directed": True,
    "features": [
        {"name": "age", "mean": 0.1, "std": 3.0, "fills_gaps": True},
        {"name": "colour", "categories": ["blue", "red"]},
    ],
    "edge_features": [],
    "labels": {"columns": ["y"], "kind": "binary", "classes": [["no", "yes"]]},
    "metric": None,
}


@pytest.mark.parametrize("record", [MOLECULES, TABLES, None])
def test_json_gives_back_the_record(record: MoleculeProvenance | TableProvenance | None) -> None:
    assert ADAPTER.validate_json(ADAPTER.dump_json(record)) == record


@pytest.mark.parametrize(("old", "record"), [(OLD_MOLECULES, MOLECULES), (OLD_TABLES, TABLES), ({}, None)])
def test_records_of_older_versions_are_read(
    old: dict[str, object], record: MoleculeProvenance | TableProvenance | None
) -> None:
    assert ADAPTER.validate_json(json.dumps(old)) == record


@pytest.mark.parametrize(
    ("damage", "place"),
    [
        ({"reader": "pickles"}, ()),
        ({"features": [3]}, ("tables", "features", 0)),
        ({"labels": {**OLD_MOLECULES["labels"], "kind": "odd"}}, ("tables", "labels", "kind")),  # type: ignore[dict-item]
    ],
)
def test_a_damaged_record_names_the_place(damage: dict[str, object], place: tuple[str | int, ...]) -> None:
    with pytest.raises(ValidationError) as error:
        ADAPTER.validate_python({**OLD_TABLES, **damage})
    assert error.value.errors()[0]["loc"][: len(place)] == place


def test_rows_and_labels() -> None:
    assert MOLECULES.row_numbers().tolist() == [1, 3, 4]
    assert [skipped_rows(record) for record in (MOLECULES, TABLES, None)] == [MOLECULES.skipped, (), ()]
    assert [label_schema(record) for record in (MOLECULES, TABLES, None)] == [LABELS, LABELS, None]
