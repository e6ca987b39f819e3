"""Plots of a run: loss and score over the epochs; beta, p, y and s of every layer, as in the paper's appendix."""

import io
from collections.abc import Sequence
from pathlib import Path

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from deepergcn.data.storage.files import write_bytes
from deepergcn.runs.run import Row, Run

PARAMETERS = {"beta": "β", "p": "p", "y": "y", "s": "s"}
"""The scalars that a layer may learn besides its weights, and their symbols."""

_COLOURS = {"train": "#7f7f7f", "valid": "#1f77b4", "test": "#d62728"}
_MOST_NAMED_LAYERS = 14


def write_plots(run: Run) -> list[Path]:
    """Plot ``metrics.csv`` and ``dynamics.csv`` of a run in its folder ``plots``; returns the files."""
    dynamics, summary = run.dynamics(), run.summary()
    best_epoch = None if summary is None else summary.best_epoch
    figures = {"curves": curves(run.metrics(), run.info.inputs.task.metric, best_epoch)}
    figures |= {name: layers_over_epochs(dynamics, name) for name in PARAMETERS if learned(dynamics, name)}
    return [_save(figure, run.path / "plots" / f"{name}.png") for name, figure in figures.items()]


def curves(metrics: Sequence[Row], metric: str, best_epoch: int | None = None) -> Figure:
    """Loss and score over the epochs side by side, with the best epoch marked."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    for axes, kind, label in zip(figure.subplots(1, 2), ("loss", "score"), ("loss", metric), strict=True):
        for part, colour in _COLOURS.items():
            epochs, values = _known(metrics, f"{part}_{kind}")
            if values:
                dots = "." if len(values) < 40 else ""
                axes.plot(epochs, values, label=part, color=colour, marker=dots, linewidth=1.4)
        if best_epoch is not None:
            axes.axvline(best_epoch, color="black", linewidth=0.8, linestyle=":", label=f"best epoch, {best_epoch}")
        _finish(axes, label)
        if axes.get_legend_handles_labels()[1]:
            axes.legend(frameon=False)
    return figure


def layers_over_epochs(dynamics: Sequence[Row], name: str) -> Figure:
    """A learned parameter over the epochs, one line per layer, from violet (first) to yellow (last)."""
    lines: dict[int, tuple[list[float], list[float]]] = {}
    for row in dynamics:
        epoch, layer, value = row["epoch"], row["layer"], row[name]
        if epoch is not None and layer is not None and value is not None:
            epochs, values = lines.setdefault(int(layer), ([], []))
            epochs.append(epoch)
            values.append(value)
    layers = sorted(lines)
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    colours = colormaps["viridis"].resampled(len(layers))
    few = len(layers) <= _MOST_NAMED_LAYERS
    for position, layer in enumerate(layers):
        axes.plot(*lines[layer], color=colours(position), linewidth=1.4 if few else 0.8, label=f"layer {layer}")
    _finish(axes, PARAMETERS[name])
    if few:
        axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    else:
        scale = BoundaryNorm([layer - 0.5 for layer in [*layers, layers[-1] + 1]], len(layers))
        bar = figure.colorbar(ScalarMappable(scale, colours), ax=axes, label="layer")
        bar.ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        bar.ax.minorticks_off()
    return figure


def learned(dynamics: Sequence[Row], name: str) -> bool:
    """Whether the parameter of some layer changes between epochs."""
    first: dict[float | None, float] = {}
    for row in dynamics:
        value = row[name]
        if value is not None and first.setdefault(row["layer"], value) != value:
            return True
    return False


def _finish(axes: Axes, label: str) -> None:
    axes.set_xlabel("epoch")
    axes.set_ylabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def _known(rows: Sequence[Row], column: str) -> tuple[list[float], list[float]]:
    pairs = [(row["epoch"], row.get(column)) for row in rows]
    known = [(epoch, value) for epoch, value in pairs if epoch is not None and value is not None]
    return [epoch for epoch, _ in known], [value for _, value in known]


def _save(figure: Figure, path: Path) -> Path:
    picture = io.BytesIO()
    figure.savefig(picture, dpi=120, format="png")
    write_bytes(path, picture.getvalue())
    return path
