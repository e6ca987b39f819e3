"""From a recipe and a graph with types of nodes and edges to the network."""

from typing import Any

from torch import nn

from deepergcn.data.typed.dataset import TypedDataset
from deepergcn.errors import InputError
from deepergcn.nn.networks.hetero import HeteroDeeperGCN
from deepergcn.recipes.inputs import TypedEdgeInputs, TypedInputs
from deepergcn.recipes.schema import Recipe

NETWORK = "HeteroDeeperGCN"
"""The network for typed tables, as recipes call it."""


def typed_inputs(dataset: TypedDataset) -> TypedInputs:
    """The types that a network for this dataset is made of, with the widths of their features."""
    return TypedInputs(
        target=dataset.target,
        nodes={name: features.shape[1] for name, features in dataset.features.items()},
        edges=tuple(
            TypedEdgeInputs(
                source=source,
                relation=relation,
                target=target,
                width=None if edges.edge_attr is None else edges.edge_attr.shape[1],
            )
            for (source, relation, target), edges in dataset.edges.items()
        ),
    )


def build_typed_model(
    recipe: Recipe, inputs: TypedInputs, head: int | nn.Module, options: dict[str, Any]
) -> HeteroDeeperGCN:
    """The network of the recipe for these types; ``options`` are those of the network that the recipe gives."""
    model = recipe.model
    for key, value, allowed in (
        ("node_encoder", model.node_encoder, ("auto",)),
        ("edge_encoder", model.edge_encoder, ("auto", "layer", "none")),
    ):
        if value not in allowed:
            raise InputError(f"{key} is {value}; expected {' or '.join(allowed)} for {NETWORK}")
    return HeteroDeeperGCN(
        inputs.nodes,
        {(edges.source, edges.relation, edges.target): edges.width for edges in inputs.edges},
        head,
        target=inputs.target,
        hidden_channels=model.hidden_channels,
        num_layers=model.num_layers,
        **options,
    )
