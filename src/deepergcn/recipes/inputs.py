"""What a network is built for: the features that reach it, and the task."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from deepergcn.data.task import Kind, Level, Metric, Task

Size = Annotated[int, Field(ge=1, le=1 << 24)]
"""Sizes of a network: bounded, since a file that asks for more must not fill the memory."""
Width = Size | Annotated[tuple[Size, ...], Field(max_length=4096)]
"""The width of real features, or the number of values of each column of categories."""


class Section(BaseModel):
    """A section of a recipe: unknown keys are errors, and values are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class TaskInputs(Section):
    """A task, as in :class:`deepergcn.data.Task`."""

    level: Level
    kind: Kind
    outputs: Size
    metric: Metric

    @model_validator(mode="after")
    def _consistent(self) -> "TaskInputs":
        self.task()
        return self

    def task(self) -> Task:
        return Task(self.level, self.kind, self.outputs, self.metric)


class TypedEdgeInputs(Section):
    """A type of edges, and the width of its features; None if there are none."""

    source: str
    relation: str
    target: str
    width: Size | None = None


class TypedInputs(Section):
    """The types of a graph.

    Attributes:
        target: the type of nodes that is predicted.
        nodes: the width of the features of every type of nodes.
        edges: the types of edges.
    """

    target: str
    nodes: Annotated[dict[str, Size], Field(max_length=1024)]
    edges: Annotated[tuple[TypedEdgeInputs, ...], Field(max_length=1024)]


class Inputs(Section):
    """What a network is built for: the features that reach it, after the transforms, and the task.

    Attributes:
        nodes: the width of the node features, or the sizes of their categories.
        node_numbers: the number of numbers of every node beside its categories; None if there are none.
        edges: as ``nodes``, of the edge features; None if there are none.
        task: what is predicted.
        typed: the types of a graph that has some; ``nodes`` is then the width of the type that is predicted.
        fingerprints: the number of counts about every graph; None if there are none.
        descriptors: the number of other numbers about every graph; None if there are none.
    """

    nodes: Width
    node_numbers: Size | None = None
    edges: Width | None = None
    task: TaskInputs
    typed: TypedInputs | None = None
    fingerprints: Size | None = None
    descriptors: Size | None = None
