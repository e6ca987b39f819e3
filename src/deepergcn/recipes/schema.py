"""The schema of a recipe: every key, its type and its default."""

from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from pydantic import Field, create_model, field_validator, model_validator

from deepergcn.data.task import Metric
from deepergcn.nn.networks.deeper_gcn import DeeperGCNOptions
from deepergcn.recipes.inputs import Inputs, Section

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
    "GAT",
    "JK-Net",
    "APPNP",
    "GCNII",
    "HeteroDeeperGCN",
]
Aggregator = Literal["softmax", "power_mean", "sum", "mean", "max", "min"]
EdgeEncoding = Literal["auto", "none", "shared", "layer", "shared+layer"]

Count = Annotated[int, Field(ge=1, lt=1 << 31)]
Positive = Annotated[float, Field(gt=0, le=1e38)]
NotNegative = Annotated[float, Field(ge=0, le=1e38)]
Layers = Annotated[int, Field(ge=1, le=10_000)]
Channels = Annotated[int, Field(ge=1, le=1 << 16)]
Factor = Annotated[int, Field(ge=1, le=64)]
Memory = Annotated[str, Field(pattern=r"^[0-9]{1,6}([.][0-9]{1,3})? ?(MB|GB|TB)$")]
"""A number of bytes as people write it: ``8GB``, ``1.5 GB``, ``900MB``."""


class TypedTables(Section):
    """The tables of a graph with types of nodes and edges.

    Attributes:
        nodes: the table of every type of nodes.
        edges: the table of every type of edges, by ``source type,relation,target type``.
    """

    nodes: dict[str, str]
    edges: dict[str, str]


class DataSection(Section):
    """Which dataset, and how it is prepared.

    Attributes:
        source: a name that ``deepergcn datasets`` lists, or a path; ``--data`` replaces it.
        reader: ``links`` where ``source`` is a table of links.
        nodes: the table of nodes, where ``source`` is a table of links.
        edges: the table of edges, where ``source`` is a table of nodes or of links.
        tables: tables of several types; ``source`` is then one of those of nodes.
        options: further options of the dataset's reader.
        descriptors: numbers about every molecule that are joined to what the network makes of its graph: ``morgan``
            (counts of circular substructures), ``maccs`` (keys), ``properties`` (logP, surfaces, rings, atoms),
            ``rdkit`` (RDKit's whole list of numbers), or columns of the file that hold numbers.
        transforms: transforms of the graph and its features, in order: names, or mappings with a name and options, such
            as ``{name: random-walk, steps: 16}`` (how often random walks are back after 1, 2, ... steps; Dwivedi et
            al., Graph Neural Networks with Learnable Structural and Positional Representations, 2022).
        inputs: the features and the task after the transforms, to count parameters without the data.
    """

    source: str
    reader: Literal["links"] | None = None
    nodes: str | None = None
    edges: str | None = None
    tables: TypedTables | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    descriptors: tuple[str, ...] = ()
    transforms: tuple[str | dict[str, Any], ...] = ()
    inputs: Inputs | None = None

    @model_validator(mode="after")
    def _one_kind_of_tables(self) -> "DataSection":
        if self.tables is not None and (self.edges is not None or self.source not in self.tables.nodes.values()):
            raise ValueError("expected source to be one of tables.nodes, and no edges beside tables")
        return self


class NetworkSection(Section):
    """The network: the keys that have a meaning of their own in a recipe.

    Attributes:
        network: the name of the network.
        num_layers: its depth.
        hidden_channels: its width.
        norm: the normalization, or ``none``.
        dropout: the probability that dropout zeroes a value.
        node_encoder: ``auto`` is a Linear layer or embedding tables, as the features are; ``species`` is that of
            ogbn-proteins; ``none`` takes numbers, ``hidden_channels`` of them, as they are.
        edge_encoder: an encoder ``shared`` by all layers, one in every ``layer``, or both, the second on the first;
            ``auto`` is ``layer`` for categories, ``shared+layer`` for numbers, ``none`` where there are no features.
        block: how layers are wired.
        aggr: the aggregator, or a list of them, whose results are concatenated and projected.
        descriptors: whether the descriptors of molecules join the pooled vector; otherwise a blended forest alone
            learns from them.
    """

    network: Network
    num_layers: Layers
    hidden_channels: Channels
    norm: Literal["batch", "layer", "instance", "pair", "none"]
    dropout: Annotated[float, Field(ge=0, lt=1)]
    node_encoder: Literal["auto", "species", "none"] = "auto"
    edge_encoder: EdgeEncoding = "auto"
    block: Literal["plain", "res", "res+", "dense", "rev"] | None = None
    aggr: Aggregator | Annotated[tuple[Aggregator, ...], Field(min_length=1, max_length=16)] | None = None
    descriptors: bool = True

    def options(self) -> dict[str, Any]:
        """The options of the network that are given; the others have the network's defaults."""
        own = {"network", "num_layers", "hidden_channels", "norm", "node_encoder", "edge_encoder", "descriptors"}
        return self.model_dump(exclude_none=True, exclude=own)


def _option_keys() -> dict[str, Any]:
    """The other options of the networks, by name, each with its type; they are declared in ``nn`` alone."""
    hints = get_type_hints(DeeperGCNOptions)
    kept = hints.keys() - NetworkSection.model_fields.keys() - {"level", "layer_edge_encoder"}
    bounds = {"mlp_layers": Factor, "expansion": Factor}
    kinds = {name: bounds.get(name, Layers) if hints[name] is int else hints[name] for name in hints if name in kept}
    return {name: (kind | None, None) for name, kind in kinds.items()}


if TYPE_CHECKING:
    ModelSection = NetworkSection
else:
    ModelSection = create_model("ModelSection", __base__=NetworkSection, __module__=__name__, **_option_keys())
    ModelSection.__doc__ = """The network, with all options of :class:`DeeperGCN` and :class:`GENConv` as keys."""


class OptimizerSection(Section):
    """Adam.

    Attributes:
        name: ``adam``, or ``adamw``, where weight decay is not part of the gradient (Loshchilov and Hutter, Decoupled
            Weight Decay Regularization, 2019).
        lr: the peak learning rate.
        eps: the term added to the denominator for numerical stability.
        weight_decay: the weight decay.
        clip: the largest norm of the gradient; a larger one is scaled down to it.
        schedule: ``constant``, or ``cosine``, which falls to 0 at the last epoch, wherever a resumed run moves it
            (Loshchilov and Hutter, SGDR, 2017).
        warmup: the number of epochs, possibly a fraction, in which the learning rate rises from 0.
    """

    name: Literal["adam", "adamw"] = "adam"
    lr: Positive
    eps: Annotated[float, Field(ge=1e-38)] = 1e-8  # less is 0 in float32
    weight_decay: NotNegative = 0.0
    clip: Positive | None = None
    schedule: Literal["constant", "cosine"] = "constant"
    warmup: NotNegative = 0.0


class LossSection(Section):
    """The loss follows from the task.

    Attributes:
        name: ``auto``, the loss of the task: cross entropy or squared error; or ``auc-margin``, for binary labels (Yuan
            et al., Large-scale Robust Deep AUC Maximization, 2021).
        margin: the margin of ``auc-margin``.
        label_smoothing: the share of a label's probability that is spread over all classes (Szegedy
            et al., Rethinking the Inception Architecture for Computer Vision, 2016).
        balance: weight classes inversely to their frequency in the train part.
    """

    name: Literal["auto", "auc-margin"] = "auto"
    margin: Positive = 1.0
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.0
    balance: bool = False

    @model_validator(mode="after")
    def _one_way(self) -> "LossSection":
        if self.name == "auc-margin" and self.balance:
            raise ValueError("balance: expected false with auc-margin, which weighs both classes alike")
        return self


class LinksSection(Section):
    """How links are learned, where the task is about them.

    Attributes:
        negatives: the number of pairs without a link that are drawn for each link of a step.
        predictor_layers: the number of Linear layers of the link predictor.
    """

    negatives: Annotated[int, Field(ge=1, le=10_000)] = 1
    predictor_layers: Annotated[int, Field(ge=1, le=64)] = 3


class TrainingSection(Section):
    """The training loop.

    Attributes:
        epochs: the number of passes over the train part.
        batch_size: the number of graphs, of partitions of a graph, or of links in a step, over all devices.
        partitions: the number of parts of the graph in a task on nodes, drawn in every epoch; 1 is the full graph.
        partitioning: how the parts are drawn: at ``random``; once by ``metis``, as in Cluster-GCN; or as the nodes on
            random walks, which may overlap, as in GraphSAINT (``saint``).
        drop_edge: the probability that an edge is left out of a step (Rong et al., DropEdge, 2020).
        shown_labels: the probability that a step shows a label of the train part to the network, where the transform
            ``known-labels`` makes labels inputs; it learns from those that it hides (Shi et al., Masked Label
            Prediction, 2021).
        patience: the number of evaluations without a better validation score after which training stops.
        precision: of the computation; the weights are float32 always.
        memory: the most memory that the process may take, such as ``8GB``: as many layers as needed are computed again
            in backward, instead of all or none as ``model.checkpoint`` says. The results have the same bits.
        average: the decay of a moving average of the weights, such as 0.999, with which the network is evaluated and
            saved (Izmailov et al., Averaging Weights Leads to Wider Optima, 2018).
        flag_ascents: the number of adversarial perturbations of the node embeddings in a step; 0 is none, 3 is usual
            (FLAG; Kong et al., Robust Optimization as Data Augmentation for Large-scale Graphs, 2022).
        flag_step: the size of a step of the perturbation.
    """

    epochs: Count
    batch_size: Count = 1
    partitions: Count = 1
    partitioning: Literal["random", "metis", "saint"] = "random"
    drop_edge: Annotated[float, Field(ge=0, lt=1)] = 0.0
    shown_labels: Annotated[float, Field(ge=0, lt=1)] = 0.5
    patience: Count | None = None
    precision: Literal["32", "bf16"] = "32"
    memory: Memory | None = None
    average: Annotated[float, Field(gt=0, lt=1)] | None = None
    flag_ascents: Annotated[int, Field(ge=0, le=100)] = 0
    flag_step: Positive = 0.01

    @field_validator("precision", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int) else value


class EvaluationSection(Section):
    """How the network is evaluated.

    Attributes:
        every: the number of epochs between evaluations; the last epoch is always evaluated.
        batch_size: the number of graphs in a batch; that of training if None.
        partitions: the number of parts of the graph in a task on nodes; 1 is the full graph. Without it the full graph
            is evaluated layer by layer, and in as few parts as fit where the memory of this machine cannot hold it.
        draws: the number of draws of the partitions over which outputs are averaged; without it 1, and 10 where the
            number of partitions was chosen by the memory.
        train: whether to score graphs or links of the train part too.
        smoothing: the number of evaluations over whose validation scores the mean is taken to choose the best epoch; 1
            is the score of the epoch itself.
        metrics: all metrics that are reported at the end; the task's, which chooses the epoch, alone if empty.
        scaled: whether the errors of several targets are averaged in units of the targets' standard deviations.
    """

    every: Count = 1
    batch_size: Count | None = None
    partitions: Count | None = None
    draws: Count | None = None
    train: bool = False
    smoothing: Count = 1
    metrics: tuple[Metric, ...] = ()
    scaled: bool = False


class BlendSection(Section):
    """A second model whose predictions are averaged with the network's; its weight is chosen on the validation part.

    Attributes:
        model: ``forest``, a random forest on the descriptors of ``data.descriptors``, by scikit-learn.
        trees: the number of its trees.
        min_leaf: the least number of train molecules in a leaf.
        criterion: what a split of a tree minimizes, where there are classes: ``gini`` or ``entropy``.
        class_weight: the weight of the positive class in the growth of the trees, or ``balanced``, which weighs classes
            inversely to their frequency in the train part. Probabilities are corrected for the change of frequencies
            and calibrated on the validation part (Platt, 1999).
        descriptors: those of ``data.descriptors`` that the forest learns from; all if not given.
        bits: whether the forest learns from whether a substructure is there, instead of how often.
    """

    model: Literal["forest"] = "forest"
    trees: Annotated[int, Field(ge=1, le=100_000)] = 500
    min_leaf: Count = 2
    criterion: Literal["gini", "entropy"] = "gini"
    class_weight: Annotated[float, Field(ge=1e-6, le=1e6)] | Literal["balanced"] = 1.0
    descriptors: tuple[str, ...] | None = None
    bits: bool = False


class Published(Section):
    """What the paper reports.

    Attributes:
        score: the mean test score.
        deviation: its standard deviation, where known.
        parameters: the number of trainable parameters.
    """

    score: float
    deviation: float | None = None
    parameters: Count


class Recipe(Section):
    """An experiment."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    summary: str
    data: DataSection
    model: ModelSection
    optimizer: OptimizerSection
    loss: LossSection = LossSection()
    links: LinksSection | None = None
    training: TrainingSection
    evaluation: EvaluationSection = EvaluationSection()
    blend: BlendSection | None = None
    published: Published | None = None
