"""One part: rows of molecules in, the content of a file out."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch

from deepergcn.data.molecules.descriptors import describe, molecule_descriptors, notes_on_gaps
from deepergcn.data.molecules.parse import parse_molecules
from deepergcn.data.molecules.read import molecule_dataset
from deepergcn.data.molecules.rows import MoleculeRows
from deepergcn.data.split import all_test
from deepergcn.data.storage.csv_text import header_length
from deepergcn.data.tables.labels import missing_labels
from deepergcn.inference.inputs import Rows, check_features, kept_fragments
from deepergcn.inference.parts.folder import PartJob, PartRecord
from deepergcn.inference.predictor import Predictor
from deepergcn.ops.operators.heap import keep_freed
from deepergcn.runs.dataset import transformed


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of a file of molecules.

    Attributes:
        number: The number of the part, from 0.
        first: The number of rows of the file before it.
        rows: The rows.
    """

    number: int
    first: int
    rows: MoleculeRows


@dataclass(frozen=True, eq=False)
class Made:
    """What was made of a part."""

    number: int
    content: bytes
    record: PartRecord


@dataclass(frozen=True, eq=False)
class PartMaker:
    """Makes the files of parts.

    Args:
        model: A network for molecules, or several.
        job: What is to be made.
    """

    model: Predictor
    job: PartJob

    def __call__(self, part: Part, threads: int | None = None) -> Made:
        """Predict or embed a part, with this number of threads if one is given."""
        keep_freed()
        if threads is not None:
            torch.set_num_threads(threads)
        rows, job = self._rows(part.rows), self.job
        decisions = notes_on_gaps(part.rows.table, self.model.recipe.descriptors_to_predict)
        nothing = len(rows.skipped) == len(rows.ids)
        if job.kind == "embed":
            embedded = self.model.embed_rows(rows)
            if nothing:
                embedded.values[:] = np.nan
            content = embedded.content(job.ending)
        else:
            predicted = self.model.predict_rows(rows)
            if nothing:
                predicted.values[:] = np.nan
            content = predicted.content(job.ending, spreadsheet=job.spreadsheet, inputs=job.inputs)
            decisions = [*predicted.notes(), *decisions]
        record = PartRecord(
            rows=len(rows.ids),
            header=header_length(content) if job.ending == ".csv" else 0,
            skipped=tuple(row._replace(row=row.row + part.first) for row in rows.skipped),
            decisions=tuple(decisions),
        )
        return Made(part.number, content, record)

    def _rows(self, opened: MoleculeRows) -> Rows:
        task, fragments = self.model.task, kept_fragments(self.model.info)
        names = self.model.recipe.descriptors_to_predict
        describing = partial(describe, names=names) if names else None
        parsed = parse_molecules(opened.texts, form=opened.form, fragments=fragments, workers=1, describe=describing)
        if not len(parsed.positions):  # a part without a molecule has the columns of the others: methane stands in
            parsed = replace(parse_molecules(["C"], describe=describing), skipped=parsed.skipped)
        count = len(parsed.positions)
        dataset = molecule_dataset(
            parsed.graphs,
            name=opened.table.path.name,
            task=task,
            y=missing_labels(task, count),
            split=all_test(count),
            digest="",
        )
        if names:
            readable = parsed.positions.tolist()
            described = molecule_descriptors(
                [opened.texts[position] for position in readable],
                names,
                form=opened.form,
                fragments=fragments,
                table=opened.table.take(parsed.positions),
                parts=parsed.described,
            )
            dataset = dataset.replace(**described.fields())
        dataset = transformed(dataset, self.model.recipe)
        check_features(dataset, self.model.info, self.model.recipe)
        ids = tuple(name or "" for name in opened.names)
        positions = torch.from_numpy(parsed.positions)
        return Rows(dataset, ids, positions, parsed.skipped, opened.table)
