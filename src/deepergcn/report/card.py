"""Model cards: a README.md beside ``model.safetensors``, so that the folder is ready to upload.

The front matter is in the format of the Hugging Face Hub (``library_name``, ``tags``, ``model-index``).
"""

import re
import shlex
from pathlib import Path
from typing import Any

import yaml

from deepergcn.data.provenance import AnyProvenance, LinkProvenance, TableProvenance, TypedTableProvenance
from deepergcn.data.storage.files import write_bytes, write_text
from deepergcn.errors import InputError
from deepergcn.printable import clean
from deepergcn.recipes.load import dump_recipe
from deepergcn.runs.run import Run, Summary

_SPECIAL = re.compile(r"[\\`*\[\]|$~]")
_LEARNED_NODES = "\nThe network has learned an embedding for each node of its graph and needs its run directory."
_KINDS = {"graph": "graph-level", "node": "node-level", "link": "link-level"}


def write_card(
    run: Run, out: Path | None = None, *, licence: str | None = None, intended_use: str | None = None
) -> Path:
    """Write the card of a finished run.

    Args:
        run: a finished run.
        out: a new or empty folder, which also gets a copy of ``model.safetensors``; by default the run directory.
        licence: an identifier such as ``mit``; if None, the card says that none is stated.
        intended_use: a sentence on the purpose of the model.
    """
    summary = run.summary()
    if summary is None or not run.model_file.is_file():
        raise InputError(f"{run.path}: has not finished; a model card needs a finished run")
    folder = run.path if out is None else out
    if out is not None:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise InputError(f"{out}: exists and is not an empty folder; expected a new or empty one")
        out.mkdir(parents=True, exist_ok=True)
        write_bytes(out / "model.safetensors", run.model_file.read_bytes())
    path = folder / "README.md"
    write_text(path, card(run, summary, licence=licence, intended_use=intended_use))
    return path


def card(run: Run, summary: Summary, *, licence: str | None = None, intended_use: str | None = None) -> str:
    """The text of the card: front matter, scores, data, recipe, use and limits."""
    front = yaml.safe_dump(_front_matter(run, summary, licence), sort_keys=False, allow_unicode=True)
    return f"---\n{front}---\n\n{_body(run, summary, licence, intended_use)}"


def _front_matter(run: Run, summary: Summary, licence: str | None) -> dict[str, Any]:
    task = run.info.inputs.task
    scores = {"test": summary.test_score, "valid": summary.valid_score}
    results = [
        {
            "task": {"type": "graph-ml", "name": f"{_KINDS[task.level]} {task.kind}"},
            "dataset": {"name": run.info.dataset, "type": run.info.dataset, "split": part},
            "metrics": [{"type": summary.metric, "value": score}],
        }
        for part, score in scores.items()
        if score is not None
    ]
    return {
        "library_name": "deepergcn",
        "pipeline_tag": "graph-ml",
        "tags": ["graph-neural-network", "deepergcn", run.recipe.model.network],
        **({} if licence is None else {"license": licence}),
        "metrics": [summary.metric],
        "model-index": [{"name": run.recipe.name, "results": results}],
    }


def _calibrated(run: Run) -> str:
    kind = run.info.inputs.task.kind
    if kind == "regression":
        return "Values are in the units of the targets."
    if run.recipe.loss.balance or run.recipe.loss.name == "auc-margin":
        return "Probabilities were calibrated on the validation part."
    return "Probabilities are those of the training loss and were not calibrated afterwards."


def _body(run: Run, summary: Summary, licence: str | None, intended_use: str | None) -> str:
    info, model = run.info, run.recipe.model
    task = info.inputs.task
    rows = [
        ("Network", f"{model.network}, {model.num_layers} layers, {model.hidden_channels} channels"),
        ("Parameters", f"{info.parameters:,}"),
        ("Blend", summary.blend.line(summary.metric) if summary.blend else ""),
        ("Task", f"{_KINDS[task.level]} {task.kind}, {task.outputs} output{'s' if task.outputs > 1 else ''}"),
        ("Outputs", ", ".join(info.label_names[:20]) + (", ..." if len(info.label_names) > 20 else "")),
        ("Dataset", info.dataset),
        ("Seed", str(info.seed)),
        ("Epoch", f"{summary.best_epoch} of {summary.epochs}, the best by validation"),
        ("Licence", licence or "not stated"),
    ]
    cells = [(name, _plain(value)) for name, value in rows if value]
    cells.insert(-3, ("Digest of the data", f"`{info.digest}`"))
    table = "".join(f"| {name} | {value} |\n" for name, value in cells)
    scores = "".join(
        f"| {part} | {'not scored' if score is None else f'{score:.4f}'} |\n"
        for part, score in (
            ("train", summary.train_score),
            ("valid", summary.valid_score),
            ("test", summary.test_score),
        )
    )
    use = intended_use or "Not stated by its author."
    arguments, options = _inputs(info.provenance)
    bare = isinstance(info.provenance, LinkProvenance) and info.provenance.features is None
    graph = _LEARNED_NODES if bare else ""
    return f"""# {_plain(run.recipe.name)}

{_plain(run.recipe.summary)}

|  |  |
|---|---|
{table}
## Scores ({summary.metric})

| part | score |
|---|---|
{scores}
The epoch was chosen by the validation score; scores are of one seed.

## Use

```python
import deepergcn

model = deepergcn.load("path/to/this/folder")
model.predict({arguments}).columns()
```

`deepergcn predict FOLDER {options} --output predictions.csv` does the same on the command line.{graph}

**Intended use.** {use}

**Limits.** The scores hold for data drawn like the test part of the dataset above. Predictions on other data were not
evaluated. {_calibrated(run)}

## Recipe

```yaml
{dump_recipe(run.recipe)}```
"""


def _plain(text: str) -> str:
    """Text of a user's files as Markdown that shows it, on one line of a table."""
    return _SPECIAL.sub(r"\\\g<0>", clean(text)).replace("&", "&amp;").replace("<", "&lt;")


def _inputs(provenance: AnyProvenance | None) -> tuple[str, str]:
    """What the network takes, as arguments in Python and on the command line."""
    if isinstance(provenance, TypedTableProvenance):
        nodes = {name: f"nodes-{i}.csv" for i, name in enumerate(provenance.nodes, 1)}
        edges = {f"{e.source},{e.relation},{e.target}": f"edges-{i}.csv" for i, e in enumerate(provenance.edges, 1)}
        options = [f"--nodes {shlex.quote(f'{name}={file}')}" for name, file in nodes.items()]
        options += [f"--edges {shlex.quote(f'{name}={file}')}" for name, file in edges.items()]
        return f"{nodes!r}, {edges!r}", " ".join(options)
    if isinstance(provenance, LinkProvenance) and provenance.features is not None:
        return '"pairs.csv", "edges.csv", nodes="nodes.csv"', "pairs.csv --nodes nodes.csv --edges edges.csv"
    if isinstance(provenance, TableProvenance):
        return '"nodes.csv", "edges.csv"', "nodes.csv --edges edges.csv"
    return '"input.csv"', "input.csv"
