"""Parts on the machines of a cluster, by Ray Data.

The input is read on the calling machine, part by part as the others take them, and the result of a part is sent back
to it: no disk needs to be shared. A part whose machine is lost is made again by another.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from deepergcn.data.molecules.rows import MoleculeRows, record_rows, table_rows
from deepergcn.data.tables.columns import Columns
from deepergcn.errors import InputError
from deepergcn.inference.parts.folder import PartRecord
from deepergcn.inference.parts.make import Made, Part, PartMaker
from deepergcn.ray_cluster import connected

_RECORDS = "\0records"  # the column of the records of an SDF file on its way


def make_on_ray(maker: PartMaker, data: Path, missing: Callable[[], Iterator[Part]], address: str) -> Iterator[Made]:
    """Make parts on a cluster, as many at a time as it has processors.

    Args:
        maker: Makes a part.
        data: The file that the parts are of.
        missing: The parts to make.
        address: Of the cluster's head, or ``"auto"``.
    """
    with connected(address) as ray:
        import ray.data as ray_data
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        context = ray_data.DataContext.get_current()
        context.enable_progress_bars = False
        context.target_max_block_size = 1  # a part is a block of its own
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)

        def read(_: dict[str, Any]) -> Iterator[dict[str, Any]]:
            for part in missing():
                yield {
                    "number": np.array([part.number]),
                    "first": np.array([part.first]),
                    "rows": pa.array([pack(part.rows)], pa.large_binary()),
                }

        parts = ray_data.from_items([{"start": 0}]).map_batches(read, num_cpus=0, scheduling_strategy=here)
        cpus = sum(node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"])
        workers = (1, max(int(cpus), 1))
        made = parts.map_batches(
            _Worker, fn_constructor_args=(maker, data), batch_size=1, num_cpus=1, concurrency=workers
        )
        try:
            for row in made.iter_rows():
                record = PartRecord.model_validate(json.loads(row["record"]))
                yield Made(int(row["number"]), bytes(row["content"]), record)
        except ray.exceptions.RayError as error:
            raise InputError(f"--ray {address}: {_reason(error)}") from error


class _Worker:
    """Makes parts on a machine of the cluster."""

    def __init__(self, maker: PartMaker, data: Path) -> None:
        self.maker, self.data = maker, data

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        job = self.maker.job
        rows = unpack(bytes(batch["rows"][0]), self.data, job.smiles_column, job.id_column)
        made = self.maker(Part(int(batch["number"][0]), int(batch["first"][0]), rows), 1)
        return {
            "number": np.array([made.number]),
            "content": pa.array([made.content], pa.large_binary()),
            "record": np.array([made.record.model_dump_json()]),
        }


def pack(rows: MoleculeRows) -> bytes:
    """Rows as bytes of Arrow."""
    table = rows.table.table
    if rows.form == "molblock":
        table = table.append_column(_RECORDS, pa.array(rows.texts, pa.large_string()))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def unpack(content: bytes, path: Path, smiles_column: str | None, id_column: str | None) -> MoleculeRows:
    """The rows that :func:`pack` has packed, of this file."""
    with pa.ipc.open_stream(content) as reader:
        table = reader.read_all()
    if _RECORDS not in table.column_names:
        return table_rows(Columns(path, table), smiles_column, id_column)
    records = table.column(_RECORDS).to_pylist()
    return record_rows(records, Columns(path, table.drop_columns([_RECORDS])), smiles_column, id_column)


def _reason(error: Exception) -> str:
    """The first line of what went wrong on a machine of the cluster; the sentence alone where it is ours."""
    cause: object = error
    while isinstance(cause, Exception):
        if isinstance(cause, InputError):
            return str(cause)
        cause = getattr(cause, "cause", None) or cause.__cause__
    return " ".join(str(error).split())[:300] or type(error).__name__
