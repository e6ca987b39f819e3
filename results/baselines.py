"""What the default recipe stands beside, from the file that ``benchmarks.solubility_baselines`` has written."""

from statistics import mean, stdev

from results.speed import read


def baseline_table() -> str:
    """The test accuracy of every baseline, with the deviation between seeds, as Markdown."""
    lines = ["| baseline | seeds | test accuracy |", "|---|---|---|"]
    for name, rows in read("solubility_baselines").items():
        scores = [float(row["test_score"]) for row in rows]
        deviation = f" ± {stdev(scores):.3f}" if len(scores) > 1 else ""
        lines.append(f"| {name} | {len(scores)} | {mean(scores):.3f}{deviation} |")
    return "\n".join(lines) + "\n"
