"""Build the network of a recipe for a dataset; the only place that knows both."""

import inspect
from typing import Any, get_args, get_type_hints

import torch
from torch import Tensor, nn

from deepergcn.data.dataset import Dataset
from deepergcn.data.typed.dataset import TypedDataset
from deepergcn.errors import InputError
from deepergcn.nn.descriptors import DescriptorWidths
from deepergcn.nn.encoders.nodes import MixedNodeEncoder, SpeciesNodeEncoder
from deepergcn.nn.links import LinkPredictor
from deepergcn.nn.networks.deeper_gcn import DeeperGCN
from deepergcn.nn.networks.graph_network import GraphNetwork
from deepergcn.nn.networks.hetero import HeteroDeeperGCN
from deepergcn.nn.networks.paper import num_parameters
from deepergcn.nn.networks.registry import network_class
from deepergcn.recipes.inputs import Inputs, TaskInputs, Width
from deepergcn.recipes.schema import LinksSection, ModelSection, Recipe
from deepergcn.runs.model.typed_network import NETWORK, build_typed_model, typed_inputs

AnyNetwork = GraphNetwork | HeteroDeeperGCN
"""The network of a recipe."""

_COUNTED_DEPTH = 4  # layers that are made to count the parameters of any depth


class Rescale(nn.Module):
    """Outputs * deviation + mean: from standardized outputs to the units of the targets."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(outputs))
        self.register_buffer("deviation", torch.ones(outputs))

    def fit(self, targets: Tensor) -> None:
        """Set mean and standard deviation from the targets [items, outputs], ignoring missing ones (NaN)."""
        for column, values in enumerate(targets.T):
            known = values[~values.isnan()].double()
            if len(known):
                self.mean[column] = known.mean()
                deviation = known.std(correction=0)
                self.deviation[column] = deviation if deviation > 0 else 1.0

    def forward(self, outputs: Tensor) -> Tensor:
        return outputs * self.deviation + self.mean


def dataset_inputs(dataset: Dataset) -> Inputs:
    """The inputs and the task of a network for this dataset."""
    if dataset.x is None:
        raise InputError(
            f"{dataset.name}: has no node features; expected a transform in data.transforms that adds them"
        )
    edges = None if dataset.edge_attr is None else dataset.edge_categories or dataset.edge_attr.shape[1]
    task = dataset.task
    return Inputs(
        nodes=dataset.x_categories or dataset.x.shape[1],
        node_numbers=dataset.node_numbers or None,
        edges=edges,
        task=TaskInputs(level=task.level, kind=task.kind, outputs=task.outputs, metric=task.metric),
        typed=typed_inputs(dataset) if isinstance(dataset, TypedDataset) else None,
        fingerprints=None if dataset.fingerprints is None else dataset.fingerprints.shape[1],
        descriptors=None if dataset.descriptors is None else dataset.descriptors.shape[1],
    )


def build_model(recipe: Recipe, inputs: Inputs) -> AnyNetwork:
    """Build the network of a recipe for these inputs, with weights drawn from torch's generator."""
    model = recipe.model
    options = model.options()
    options["norm"] = None if model.norm == "none" else model.norm
    if (model.network == NETWORK) != (inputs.typed is not None):
        expected = "another, since the graph has no types" if inputs.typed is None else f"{NETWORK} for typed tables"
        raise InputError(f"recipe {recipe.name}: model.network is {model.network}; expected {expected}")
    network = HeteroDeeperGCN if inputs.typed is not None else network_class(model.network)
    if inputs.typed is None:
        options |= {"level": inputs.task.level, **_edge_encoders(model, inputs.edges)}
        if (widths := _descriptor_widths(model, inputs)) is not None:
            options["descriptors"] = widths
    known = _option_names(network)
    for name in options:
        if name not in known:
            raise InputError(f"recipe {recipe.name}: model: {model.network} has no option {name}")
    try:
        if inputs.typed is not None:
            return build_typed_model(recipe, inputs.typed, _head(recipe, inputs), options)
        return network_class(model.network)(
            _node_encoder(model, inputs),
            _head(recipe, inputs),
            hidden_channels=model.hidden_channels,
            num_layers=model.num_layers,
            **options,
        )
    except InputError as error:
        raise InputError(f"recipe {recipe.name}: model: {error}") from error


def _option_names(network: type[AnyNetwork]) -> set[str]:
    """The options of a network: of its own signature, and of the typed dictionary it passes on."""
    known: set[str] = set()
    for parameter in inspect.signature(network.__init__).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            (handed_on,) = get_args(get_type_hints(network.__init__)[parameter.name])
            known |= set(get_type_hints(handed_on))
        else:
            known.add(parameter.name)
    return known


def count_parameters(recipe: Recipe, inputs: Inputs) -> int:
    """The number of trainable parameters, without allocating any.

    From the third layer on every layer adds the same number, unless widths grow or layers share weights: a thousand
    layers are counted from four.
    """
    model = recipe.model
    depth = model.num_layers
    if depth <= _COUNTED_DEPTH or model.block == "dense" or model.options().get("tied_layers", 1) > 1:
        return _count(recipe, inputs, depth)
    few, one_more = (_count(recipe, inputs, layers) for layers in (_COUNTED_DEPTH - 1, _COUNTED_DEPTH))
    return few + (depth - _COUNTED_DEPTH + 1) * (one_more - few)


def _count(recipe: Recipe, inputs: Inputs, layers: int) -> int:
    with torch.device("meta"):
        changed = recipe.model_copy(update={"model": recipe.model.model_copy(update={"num_layers": layers})})
        return num_parameters(build_model(changed, inputs))


def _descriptor_widths(model: ModelSection, inputs: Inputs) -> DescriptorWidths | None:
    widths = DescriptorWidths(inputs.fingerprints or 0, inputs.descriptors or 0)
    return widths if model.descriptors and any(widths) else None


def _head(recipe: Recipe, inputs: Inputs) -> int | nn.Module:
    model, task = recipe.model, inputs.task.task()
    width = model.hidden_channels * (model.num_layers + 1 if model.block == "dense" else 1)
    width += 0 if _descriptor_widths(model, inputs) is None else model.hidden_channels
    if task.level == "link":
        layers = (recipe.links or LinksSection()).predictor_layers
        return LinkPredictor(width, task.outputs, num_layers=layers, dropout=model.dropout)
    if task.kind != "regression":
        return task.outputs
    return nn.Sequential(nn.Linear(width, task.outputs), Rescale(task.outputs))


def _node_encoder(model: ModelSection, inputs: Inputs) -> int | tuple[int, ...] | nn.Module | None:
    width = inputs.nodes
    if model.node_encoder == "auto":
        if inputs.node_numbers is None:
            return width
        if isinstance(width, int):
            raise InputError(
                f"data.inputs.node_numbers: expected none, since data.inputs.nodes is {width} numbers already"
            )
        return MixedNodeEncoder(width, inputs.node_numbers, model.hidden_channels)
    if model.node_encoder == "none":
        if width != model.hidden_channels:
            raise InputError(
                f"model.node_encoder is none; expected {model.hidden_channels} numbers per node, got {width}"
            )
        return None
    if not isinstance(width, int) or width <= 8:
        raise InputError(f"model.node_encoder is species; expected numbers, 8 of them one-hot species, got {width}")
    return SpeciesNodeEncoder(model.hidden_channels, edge_channels=width - 8)


def _edge_encoders(model: ModelSection, width: Width | None) -> dict[str, Any]:
    kind = model.edge_encoder
    if kind == "auto":
        kind = "none" if width is None else "shared+layer" if isinstance(width, int) else "layer"
        if not issubclass(network_class(model.network), DeeperGCN):
            kind = "none"
    if kind == "none":
        return {}
    if width is None:
        raise InputError(f"model.edge_encoder is {kind}; expected none or auto, since the dataset has no edge features")
    shared, layer = "shared" in kind, "layer" in kind
    encoders: dict[str, Any] = {"edge_encoder": width} if shared else {}
    if layer:
        encoders["layer_edge_encoder"] = model.hidden_channels if shared else width
    return encoders
