"""The tables of speed, from the CSV files that the benchmarks have written."""

import csv
from pathlib import Path

MEASURED = Path(__file__).parents[1] / "benchmarks" / "results"
FILES = (
    "aggregation_arxiv",
    "aggregation_proteins",
    "step_proteins",
    "step_arxiv",
    "step_molhiv",
    "epoch_molhiv",
    "loader_molhiv",
    "partitions_proteins",
    "reversible",
    "processes",
)
"""The measurements that the tables show, in their order."""

FRONT = {
    "softmax aggregation, learned β: ogbn-arxiv's graph, 128 channels": ("aggregation_arxiv", "softmax"),
    "power-mean aggregation, learned p: the same": ("aggregation_arxiv", "power mean"),
    "softmax with 8 edge features: 790,000 edges, 64 channels": ("aggregation_proteins", "softmax"),
    "training step of 112 layers on that graph": ("step_proteins", "112-layer"),
    "training step of 28 layers on ogbn-arxiv's graph": ("step_arxiv", "28-layer"),
    "training step of ogbg-molhiv's network, batch of 256": ("step_molhiv", "batch of 256"),
    "epoch of ogbg-molhiv, with evaluation": ("epoch_molhiv", "epoch"),
}
"""The rows of the front page: what it calls a measurement, its file, and a part of its name there (the last counts)."""

Row = dict[str, str]
_MARKS = "¹²³⁴⁵⁶⁷⁸⁹"


def read(file: str) -> dict[str, list[Row]]:
    """The rows of a file of measurements, by measurement; the first row of each is this library's.

    What has not been measured yet has no file, and no rows.
    """
    found: dict[str, list[Row]] = {}
    if not (MEASURED / f"{file}.csv").exists():
        return found
    with (MEASURED / f"{file}.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            found.setdefault(row["measurement"], []).append(row)
    return found


def front_table() -> str:
    """The short table, with the machine below it."""
    lines = ["| forward and backward | here | PyG | PyG, torch.compile |", "|---|---|---|---|"]
    found = {
        title: [rows for name, rows in read(file).items() if part in name][-1] for title, (file, part) in FRONT.items()
    }
    machines = [rows[0] for rows in found.values()]
    for title, rows in found.items():
        ours = rows[0]
        theirs = {row["contestant"]: row for row in rows[1:]}
        cells = [_cell(ours), *(_cell(theirs.get(name), ours) for name in ("PyG", "PyG, torch.compile"))]
        lines.append(f"| {title}{mark_of(ours, machines)} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", machine(machines)]) + "\n"


def all_tables() -> str:
    """Every measurement with every contestant."""
    lines = ["| measurement | code | time | times ours | extra memory |", "|---|---|---|---|---|"]
    found = [(name, rows) for file in FILES for name, rows in read(file).items()]
    machines = [rows[0] for _, rows in found]
    for name, rows in found:
        for number, row in enumerate(rows):
            ratio = float(row["seconds"]) / float(rows[0]["seconds"])
            shown = f"{name}{mark_of(row, machines)}" if number == 0 else ""
            cells = (shown, row["contestant"], _seconds(row), "" if number == 0 else f"{ratio:.1f}", _memory(row))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", machine(machines)]) + "\n"


def depth_table() -> str:
    """The peak memory of reversible networks of growing depth."""
    lines = ["| measurement | network | peak beyond weights and moments | above the smallest |", "|---|---|---|---|"]
    machines = []
    for name, rows in read("reversible_memory").items():
        machines.append(rows[0])
        for number, row in enumerate(rows):
            cells = (f"{int(row['peak_bytes']) / 1e6:,.0f} MB", f"{float(row['above_smallest']):.1%}")
            shown = f"{name}, {row['steps']} step{'s' * (row['steps'] != '1')}" if number == 0 else ""
            lines.append(f"| {shown} | {row['contestant']} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", machine(machines)]) + "\n"


def growth_table() -> str:
    """How seconds and memory grow with edges, channels and layers."""
    lines = ["| grows | value | time | extra memory |", "|---|---|---|---|"]
    for name, rows in read("growth").items():
        for number, row in enumerate(rows):
            value = f"{int(row[name]):,}"
            lines.append(f"| {name if number == 0 else ''} | {value} | {_seconds(row)} | {_memory(row)} |")
    return "\n".join(lines) + "\n"


def prediction_table() -> str:
    """Files of molecules, predicted by this library's program and by chemprop's."""
    lines = [
        "| molecules | program | processor time | of which start | molecules a second after it | peak memory |",
        "|---|---|---|---|---|---|",
    ]
    machines = []
    for name, rows in read("predict_molecules").items():
        machines.append(rows[0])
        for number, row in enumerate(rows):
            rate = f"{int(row['molecules_per_cpu_second_after_start']):,}"
            cells = (
                name if number == 0 else "",
                row["contestant"],
                _cpu(row),
                f"{row['cpu_seconds_of_start']} s",
                rate,
            )
            lines.append(f"| {' | '.join(cells)} | {_peak(row)} |")
    return "\n".join([*lines, "", machine(machines)]) + "\n"


def tables_table() -> str:
    """Large tables of nodes and edges, trained on and predicted."""
    lines = ["| tables | program | processor time | peak memory |", "|---|---|---|---|"]
    machines = []
    for name, rows in read("large_tables").items():
        machines.append(rows[0])
        for number, row in enumerate(rows):
            lines.append(f"| {name if number == 0 else ''} | {row['contestant']} | {_cpu(row)} | {_peak(row)} |")
    return "\n".join([*lines, "", machine(machines)]) + "\n"


def plan_table() -> str:
    """What ``deepergcn plan`` said, and what the runs then took."""
    lines = ["| run | an epoch, planned | measured | ratio | memory, planned | measured | ratio |", "|---" * 7 + "|"]
    machines = []
    for rows in read("plan").values():
        machines.append(rows[0])
        for row in rows:
            seconds = (f"{float(row[name]):.2f} s" for name in ("plan_seconds", "seconds"))
            memory = (f"{int(row[name]):,} MB" for name in ("plan_mb", "mb"))
            cells = (row["run"], *seconds, row["seconds_ratio"], *memory, row["mb_ratio"])
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", machine(machines)]) + "\n"


def _cpu(row: Row) -> str:
    return f"{float(row['cpu_seconds']):,.1f} s"


def _peak(row: Row) -> str:
    return f"{int(row['peak_mb']) / 1000:.1f} GB"


def machine(rows: list[Row]) -> str:
    """On what and when the rows were measured, one line for each machine, with its mark where there are several."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(_machine(row), []).append(row)
    lines = []
    for (processor, cores, threads, torch, pyg), measured in found.items():
        dates = [row["date"] for row in measured]
        mark = mark_of(measured[0], rows).strip()
        lines.append(
            f"{mark + ' ' if mark else ''}Measured on {processor.replace('(R)', '')}, {cores} cores, "
            f"{threads} thread{'s' * (int(threads) > 1)}, with torch {torch.partition('+')[0]} and PyTorch Geometric "
            f"{pyg}, {' to '.join(sorted({min(dates), max(dates)}))}."
        )
    return "  \n".join(lines)


def mark_of(row: Row, rows: list[Row]) -> str:
    """The mark of the machine that a row was measured on, where the rows are of several machines."""
    machines = list(dict.fromkeys(map(_machine, rows)))
    return f" {_MARKS[machines.index(_machine(row))]}" if len(machines) > 1 else ""


def _machine(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in ("processor", "cores", "threads", "torch", "torch-geometric"))


def _cell(row: Row | None, ours: Row | None = None) -> str:
    if row is None:
        return ""
    ratio = "" if ours is None else f" ({float(row['seconds']) / float(ours['seconds']):.1f}x)"
    memory = _memory(row)
    return f"{_seconds(row)}{ratio}{', ' + memory if memory else ''}"


def _seconds(row: Row) -> str:
    seconds = float(row["seconds"])
    value, unit = (seconds * 1000, "ms") if seconds < 0.1 else (seconds, "s")
    return f"{value:#.3g}".removesuffix(".") + f" {unit}"


def _memory(row: Row) -> str:
    if not row["extra_bytes"]:
        return ""
    gigabytes = float(row["extra_bytes"]) / 1e9
    return f"{gigabytes:.1f} GB" if gigabytes >= 0.095 else f"{gigabytes * 1000:.0f} MB"
