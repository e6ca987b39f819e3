"""What a run that has ended keeps of a user's own data: its split, its predictions, and all scores."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import torch

from deepergcn.data.dataset import Dataset
from deepergcn.data.provenance import MoleculeProvenance, label_schema
from deepergcn.data.storage.csv_text import csv_text
from deepergcn.data.storage.files import write_bytes, write_text
from deepergcn.runs.model.model_file import load_model
from deepergcn.runs.model.outputs import (
    beside,
    cells,
    decided_classes,
    output_columns,
    output_names,
    to_probabilities,
    two_classes,
)
from deepergcn.runs.run import Run, RunScores
from deepergcn.training.scoring.evaluation import Evaluation
from deepergcn.training.scoring.scores import all_scores

_KEPT = ("valid", "test")


def write_outcome(run: Run, dataset: Dataset) -> None:
    """Write ``split.csv``, ``predictions.parquet`` and ``scores.json`` of the best epoch, for data of a user's own."""
    if label_schema(dataset.provenance) is None:
        return
    trained = load_model(run.model_file)
    evaluation = Evaluation(dataset, run.recipe, run.info.seed, _KEPT)
    outputs = evaluation.outputs(trained.model)
    task, info = dataset.task, run.info
    items = torch.cat([dataset.split[part] for part in _KEPT])
    if trained.blend is not None:
        outputs[items] = trained.blend(task, outputs[items], dataset, items, trained.calibration)
    metrics = run.recipe.evaluation.metrics or (task.metric,)
    scores = {
        part: all_scores(task, metrics, output_names(info), outputs[items], dataset.y[items], evaluation.scale)
        for part, items in ((part, dataset.split[part]) for part in _KEPT)
    }
    parts = [part for part in _KEPT for _ in range(len(dataset.split[part]))]
    ids = dataset.ids or tuple(map(str, range(dataset.num_items)))
    known = {"id": [ids[item] for item in items.tolist()], "part": parts, **_truth(run, dataset, items)}
    seen = outputs[items]
    values = to_probabilities(task, seen, trained.calibration).double().numpy()
    predicted = output_columns(
        task, output_names(info), two_classes(info), values, decided_classes(task, values, trained.calibration)
    )
    content = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(beside(known, predicted)), content)
    write_bytes(run.path / "predictions.parquet", content.getvalue())
    write_text(run.path / "scores.json", RunScores(parts=scores).model_dump_json(indent=1) + "\n")
    write_text(run.path / "split.csv", csv_text([("row", "id", "part"), *_split(dataset, ids)]))


def _split(dataset: Dataset, ids: tuple[str, ...]) -> list[tuple[int, str, str]]:
    names = ("train", "valid", "test", "")
    provenance = dataset.provenance
    rows = provenance.row_numbers() if isinstance(provenance, MoleculeProvenance) else np.arange(dataset.num_items) + 1
    parts = dataset.split_part.tolist()
    return [(row, name, names[part]) for row, name, part in zip(rows.tolist(), ids, parts, strict=True)]


def _truth(run: Run, dataset: Dataset, items: torch.Tensor) -> dict[str, list[float | None] | list[str | None]]:
    """The labels of these items under the names of their columns."""
    schema = label_schema(dataset.provenance)
    assert schema is not None
    y = dataset.y[items]
    if schema.kind == "regression":
        return {name: cells(column) for name, column in zip(schema.columns, y.double().T.numpy(), strict=True)}
    codes = y[:, None] if schema.kind == "multi-class" else y.nan_to_num(-1.0).long()
    return {
        name: [classes[code] if code >= 0 else None for code in column.tolist()]
        for name, classes, column in zip(schema.columns, schema.classes, codes.T, strict=True)
    }
