"""The schema of a recipe: every key, what it may be, and what it is when it is not given."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from deepergcn.data.task import Kind, Level, Metric, Task

Network = Literal[
    "DeeperGCN",
    "PlainGCN",
    "ResGCN",
    "ResGCN+",
    "ResGEN",
    "DyResGEN",
    "RevGEN",
    "GCN",
    "GraphSAGE",
    "GIN",
    "GatedGCN",
    "GaAN",
]
Aggregator = Literal["softmax", "power_mean", "sum", "mean", "max", "min"]
EdgeEncoding = Literal["auto", "none", "shared", "layer", "shared+layer"]

Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Width = Count | tuple[Count, ...]
"""The width of real features, or the number of values of each column of categories."""


class Section(BaseModel):
    """A part of a recipe: unknown keys are errors, and nothing changes after it is read."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class TaskInputs(Section):
    """A task, as in :class:`deepergcn.data.Task`."""

    level: Level
    kind: Kind
    outputs: Count
    metric: Metric

    @model_validator(mode="after")
    def _consistent(self) -> "TaskInputs":
        self.task()
        return self

    def task(self) -> Task:
        return Task(self.level, self.kind, self.outputs, self.metric)


class Inputs(Section):
    """What a network is built for: the features that reach it, after the transforms, and the task.

    Attributes:
        nodes: the width of the node features, or the sizes of their categories.
        edges: the same of the edge features; None where there are none.
        task: what is predicted.
    """

    nodes: Width
    edges: Width | None = None
    task: TaskInputs


class DataSection(Section):
    """Which dataset, and how it is prepared.

    Attributes:
        source: a name that ``deepergcn datasets`` lists, or a path; ``--data`` replaces it.
        edges: the table of edges, where ``source`` is a table of nodes.
        options: what the dataset's reader takes besides.
        transforms: changes of the graph and its features, in order: names, or mappings with a name and options.
        inputs: what the dataset gives after them, for counting parameters without the data.
    """

    source: str
    edges: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    transforms: tuple[str | dict[str, Any], ...] = ()
    inputs: Inputs | None = None


class ModelSection(Section):
    """The network. What is not given has the default of the network.

    Attributes:
        node_encoder: ``auto`` is a Linear layer or embedding tables, as the features are; ``species`` is that of
            ogbn-proteins.
        edge_encoder: an encoder ``shared`` by all layers, one in every ``layer``, or both, the second on the first;
            ``auto`` is ``layer`` for categories, ``shared+layer`` for numbers, ``none`` where there are no features.
        others: see :class:`deepergcn.nn.DeeperGCN` and :class:`deepergcn.nn.GENConv`.
    """

    network: Network
    num_layers: Count
    hidden_channels: Count
    norm: Literal["batch", "layer", "instance", "none"]
    dropout: Annotated[float, Field(ge=0, lt=1)]
    node_encoder: Literal["auto", "species"] = "auto"
    edge_encoder: EdgeEncoding = "auto"
    block: Literal["plain", "res", "res+", "dense", "rev"] | None = None
    aggr: Aggregator | None = None
    beta: float | None = None
    learn_beta: bool | None = None
    p: float | None = None
    learn_p: bool | None = None
    y: float | None = None
    learn_y: bool | None = None
    semi_gradient: bool | None = None
    msg_norm: bool | None = None
    learn_s: bool | None = None
    mlp_layers: Count | None = None
    expansion: Count | None = None
    pooling: Literal["mean", "sum", "max"] | None = None
    virtual_node: bool | None = None
    checkpoint: bool | None = None
    tied_layers: Count | None = None
    groups: Count | None = None


class OptimizerSection(Section):
    """Adam.

    Attributes:
        name: ``adam``, or ``adamw`` where weight decay is not part of the gradient.
        lr: the learning rate, at its highest.
        eps: what is added to the root of the mean square of a weight's gradients, by which its step is divided.
        weight_decay: the weight decay.
        clip: the largest norm of the gradient; a longer one is scaled down to it.
        schedule: ``constant``, or ``cosine``, which falls to 0 at the last epoch, wherever a resumed run moves it.
        warmup: so many epochs, or parts of one, in which the learning rate rises from 0.
    """

    name: Literal["adam", "adamw"] = "adam"
    lr: Positive
    eps: Positive = 1e-8
    weight_decay: NotNegative = 0.0
    clip: Positive | None = None
    schedule: Literal["constant", "cosine"] = "constant"
    warmup: NotNegative = 0.0


class LossSection(Section):
    """The loss follows from the task.

    Attributes:
        balance: weigh classes by how rare they are in the train part.
    """

    balance: bool = False


class TrainingSection(Section):
    """The loop.

    Attributes:
        epochs: how often all of the train part is seen.
        batch_size: so many graphs, or partitions of a graph, make one step, over all devices.
        partitions: a task on nodes sees its graph in so many parts, drawn anew every epoch; 1 is the full graph.
        partitioning: how the parts are drawn.
        patience: stop after so many evaluations without a better validation score.
        precision: of the computation; the weights are float32 always.
    """

    epochs: Count
    batch_size: Count = 1
    partitions: Count = 1
    partitioning: Literal["random", "metis"] = "random"
    patience: Count | None = None
    precision: Literal["32", "bf16"] = "32"

    @field_validator("precision", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int) else value


class EvaluationSection(Section):
    """How scores are taken.

    Attributes:
        every: so many epochs apart, and after the last.
        batch_size: graphs at a time; that of training where not given.
        partitions: parts of the graph in a task on nodes, drawn once; 1 is the full graph.
        draws: outputs are averaged over so many draws of the partitions.
        train: whether graphs of the train part are scored too.
    """

    every: Count = 1
    batch_size: Count | None = None
    partitions: Count = 1
    draws: Count = 1
    train: bool = False


class Published(Section):
    """What the paper reports: mean and standard deviation of the test score, and trainable parameters."""

    score: float
    deviation: float
    parameters: Count


class Recipe(Section):
    """An experiment."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    summary: str
    data: DataSection
    model: ModelSection
    optimizer: OptimizerSection
    loss: LossSection = LossSection()
    training: TrainingSection
    evaluation: EvaluationSection = EvaluationSection()
    published: Published | None = None
