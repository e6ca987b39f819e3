"""How much of every study has been run."""

from pathlib import Path

from deepergcn.report.results import read_results
from deepergcn.studies.schema import load_study, study_names

HERE = Path(__file__).parent
EPOCHS = 100
"""The number of epochs that counts as run."""


def state_table() -> str:
    """The cells of every study that have been run, by dataset, as Markdown."""
    lines = ["| study | dataset | cells | run | with three seeds |", "|---|---|---|---|---|"]
    for name in study_names():
        study, file = load_study(name), HERE / f"{name}.csv"
        cells = {(row.name, column.name) for row in study.rows() for column in study.columns}
        results = [result for result in read_results(file) if not result.settings] if file.exists() else []
        for dataset in sorted({result.dataset for result in results}) or [""]:
            seeds: dict[tuple[str, str], set[int]] = {}
            for result in results:
                if result.dataset == dataset and result.test is not None and (result.epochs or 0) >= EPOCHS:
                    seeds.setdefault((result.row, result.column), set()).add(result.seed)
            run = [len(found) for cell, found in seeds.items() if cell in cells]
            three = sum(count >= 3 for count in run)
            lines.append(f"| {name} | {dataset} | {len(cells)} | {len(run)} | {three} |")
    return "\n".join(lines) + "\n"
