"""Export a trained network for other programs: ONNX, or a program of ``torch.export``.

The exported program takes tensors of any number of nodes, edges and graphs and gives what ``predict`` gives:
probabilities, or the numbers of a regression. It is made of the plain definitions, so that it needs no kernels. A
forest that is blended with the network is not part of it.

    x            [nodes, features]          as the dataset of the run holds them: numbers, or categories (int64),
                                            or categories and then numbers, all float32
    edge_index   [2, edges], int64
    edge_attr    [edges, features]          where the network takes edge features
    ptr          [graphs + 1], int64        where each graph's nodes begin, for a network that predicts graphs
    edge_label_index  [2, pairs], int64     the pairs of nodes, for a network that predicts links
    descriptors  [graphs, descriptors]      where the network takes them: counts, then numbers, as RDKit gives them
"""

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from deepergcn.data.storage.files import write_bytes
from deepergcn.errors import InputError
from deepergcn.inference.predictor import Predictor
from deepergcn.recipes.inputs import Width
from deepergcn.runs.model.outputs import to_probabilities

Format = Literal["onnx", "torch-export"]
FORMATS: dict[str, str] = {"onnx": ".onnx", "torch-export": ".pt2"}
"""Every format, and how the names of its files end."""

_log = logging.getLogger(__name__)

_GRAPHS, _NODES, _EDGES, _PAIRS = 5, 23, 61, 17  # of the example that is traced; any other numbers may follow


def export(model: Predictor, path: str | Path, form: Format) -> tuple[str, ...]:
    """Write the network of a run to a file, whole or not at all; the names of the inputs of the exported program.

    Args:
        model: a trained network, from :func:`deepergcn.load`.
        path: the file, ``.onnx`` or ``.pt2``.
        form: ``"onnx"`` (needs the packages of the extra ``export``) or ``"torch-export"``.
    """
    if form not in FORMATS:
        raise InputError(f"format is {form!r}; expected one of {', '.join(FORMATS)}")
    if Path(path).suffix != FORMATS[form]:
        raise InputError(f"{path}: expected a name that ends in {FORMATS[form]} for the format {form}")
    if form == "onnx" and not (find_spec("onnx") and find_spec("onnxscript")):
        raise InputError("format onnx needs the packages onnx and onnxscript: pip install 'deepergcn[export]'")
    if model.info.inputs.typed is not None:
        raise InputError("a network for typed tables cannot be exported; use deepergcn predict")
    if model.blend is not None:
        _log.warning("only the network is exported, but predictions are %s", model.blend.described())
    inputs = example(model)
    sizes = tuple({1 if name.endswith("index") else 0: torch.export.Dim.DYNAMIC} for name in inputs)
    program, tensors = _Program(model, tuple(inputs)).eval(), tuple(inputs.values())
    with torch.no_grad(), _quietly():
        traced = torch.export.export(program, tensors, dynamic_shapes={"tensors": sizes}, strict=False)
        content = io.BytesIO()
        if form == "torch-export":
            torch.export.save(traced, content)
        else:
            onnx: Any = torch.onnx.export(
                traced, tensors, dynamo=True, input_names=[*inputs], output_names=["out"], verbose=False
            )
            content.write(onnx.model_proto.SerializeToString())
    write_bytes(Path(path), content.getvalue())
    return tuple(inputs)


def example(model: Predictor) -> dict[str, Tensor]:
    """Inputs of the right kinds, by name, to trace the network with."""
    described, generator = model.info.inputs, torch.Generator().manual_seed(0)
    inputs = {
        "x": _features(described.nodes, _NODES, generator, described.node_numbers or 0),
        "edge_index": torch.randint(_NODES, (2, _EDGES), generator=generator),
    }
    if described.edges is not None:
        inputs["edge_attr"] = _features(described.edges, _EDGES, generator)
    if described.task.level == "graph":
        inputs["ptr"] = torch.linspace(0, _NODES, _GRAPHS + 1).long()
    if described.task.level == "link":
        inputs["edge_label_index"] = torch.randint(_NODES, (2, _PAIRS), generator=generator)
    descriptors = (described.fingerprints or 0) + (described.descriptors or 0)
    if descriptors and model.recipe.model.descriptors:
        inputs["descriptors"] = torch.rand(_GRAPHS, descriptors, generator=generator)
    return inputs


@contextmanager
def _quietly() -> Iterator[None]:
    """Without what the exporters of PyTorch and ONNX say of each other and of packages that are not needed."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        logging.disable(before)


class _Program(nn.Module):
    """From the inputs, in the order of ``names``, to what is predicted."""

    def __init__(self, model: Predictor, names: tuple[str, ...]) -> None:
        super().__init__()
        self.network, self.task, self.names = model.network, model.task, names
        self.calibration = model.calibration

    def forward(self, *tensors: Tensor) -> Tensor:
        inputs = dict(zip(self.names, tensors, strict=True))
        x, ptr = inputs["x"], inputs.get("ptr")
        batch, graphs = None, None
        if ptr is not None:
            nodes = torch.arange(x.shape[0], device=x.device)
            batch, graphs = (nodes[:, None] >= ptr[None, 1:-1]).sum(1), ptr.shape[0] - 1
        out = self.network(
            x,
            inputs["edge_index"],
            inputs.get("edge_attr"),
            batch,
            graphs,
            inputs.get("edge_label_index"),
            inputs.get("descriptors"),
        )
        return to_probabilities(self.task, out, self.calibration)


def _features(width: Width, rows: int, generator: torch.Generator, numbers: int = 0) -> Tensor:
    if isinstance(width, int):
        return torch.randn(rows, width, generator=generator)
    categories = torch.stack([torch.randint(size, (rows,), generator=generator) for size in width], dim=1)
    return torch.cat((categories.float(), torch.rand(rows, numbers, generator=generator)), 1) if numbers else categories
