"""The schema of a recipe: every key, its type and its default."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_type_hints

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
Trees = Annotated[int, Field(ge=1, le=100_000)]
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
        reader: ``links`` if ``source`` is a table of links.
        nodes: the table of nodes, if ``source`` is a table of links.
        edges: the table of edges, if ``source`` is a table of nodes or of links.
        tables: the tables of a graph with several types; ``source`` is then one of the tables of nodes.
        options: further options of the dataset's reader.
        descriptors: descriptors of each molecule, used beside its graph: ``morgan`` (counts of circular substructures),
            ``maccs`` (keys), ``properties`` (logP, surfaces, rings, atoms), ``rdkit`` (all numeric descriptors of
            RDKit), or numeric columns of the file.
        transforms: transforms of the graph and its features, in order: names, or mappings with a name and options, such
            as ``{name: random-walk, steps: 16}`` (the return probabilities of random walks of 1, 2, ... steps; Dwivedi
            et al., Graph Neural Networks with Learnable Structural and Positional Representations, 2022).
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
            raise ValueError("expected source to be one of tables.nodes, and no data.edges together with tables")
        return self


class NetworkSection(Section):
    """The network: the keys that a recipe defines itself.

    Attributes:
        network: the name of the network.
        num_layers: the number of layers.
        hidden_channels: the width of the network.
        norm: the normalization, or ``none``.
        dropout: the probability that dropout zeroes a value.
        node_encoder: ``auto`` is a Linear layer for numbers and embedding tables for categories; ``species`` is the
            encoder of ogbn-proteins; ``none`` uses ``hidden_channels`` numbers as they are.
        edge_encoder: an encoder ``shared`` by all layers, one in every ``layer``, or both (``shared+layer``), the
            second applied to the output of the first; ``auto`` is ``layer`` for categories, ``shared+layer`` for
            numbers, and ``none`` without edge features.
        block: how layers are connected.
        aggr: the aggregator, or a list of aggregators, whose results are concatenated and projected.
        descriptors: whether the descriptors of molecules are concatenated to the pooled vector; if not, only a blended
            forest uses them.
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
        name: ``adam``, or ``adamw`` with decoupled weight decay (Loshchilov and Hutter, Decoupled Weight Decay
            Regularization, 2019).
        lr: the peak learning rate.
        eps: the term added to the denominator for numerical stability.
        weight_decay: the weight decay.
        clip: the maximum norm of the gradient; a larger gradient is scaled down to it.
        schedule: ``constant``, or ``cosine``, which falls to 0 at the last epoch, even if a resumed run changes the
            number of epochs (Loshchilov and Hutter, SGDR, 2017).
        warmup: the number of epochs, possibly fractional, in which the learning rate rises from 0.
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
        balance: whether to weight classes inversely to their frequency in the train part.
    """

    name: Literal["auto", "auc-margin"] = "auto"
    margin: Positive = 1.0
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.0
    balance: bool = False

    @model_validator(mode="after")
    def _one_way(self) -> "LossSection":
        if self.name == "auc-margin" and self.balance:
            raise ValueError("balance: expected false with auc-margin, which gives both classes the same weight")
        return self


class LinksSection(Section):
    """How links are learned, for a task on links.

    Attributes:
        negatives: the number of pairs without a link drawn for each link of a step.
        predictor_layers: the number of Linear layers of the link predictor.
    """

    negatives: Annotated[int, Field(ge=1, le=10_000)] = 1
    predictor_layers: Annotated[int, Field(ge=1, le=64)] = 3


class TrainingSection(Section):
    """The training loop.

    Attributes:
        epochs: the number of passes over the train part.
        batch_size: the number of graphs, of partitions of a graph, or of links in a step, over all devices.
        partitions: the number of partitions of the graph in a task on nodes, drawn in every epoch; 1 is the full graph.
        partitioning: how partitions are drawn: ``random``; once with ``metis``, as in Cluster-GCN; or as the nodes of
            random walks, which may overlap, as in GraphSAINT (``saint``).
        drop_edge: the probability that a step leaves an edge out (Rong et al., DropEdge, 2020).
        shown_labels: the probability that a step shows the network a label of the train part, with the transform
            ``known-labels``, which makes labels inputs; the loss is that of the hidden labels (Shi et al., Masked
            Label Prediction, 2021).
        patience: the number of evaluations without a better validation score after which training stops.
        precision: the precision of the computation; the weights are always float32.
        memory: the memory limit of the process, such as ``8GB``: as many layers as needed are recomputed in backward,
            instead of all or none with ``model.checkpoint``. The results are the same bit for bit.
        average: the decay of a moving average of the weights, such as 0.999; the network is evaluated and saved with
            the average (Izmailov et al., Averaging Weights Leads to Wider Optima, 2018).
        flag_ascents: the number of adversarial perturbations of the node embeddings in a step; 0 turns them off, 3 is
            usual (FLAG; Kong et al., Robust Optimization as Data Augmentation for Large-scale Graphs, 2022).
        flag_step: the step size of the perturbation.
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
        batch_size: the number of graphs in a batch; by default as in training.
        partitions: the number of partitions of the graph in a task on nodes; 1 is the full graph. By default the full
            graph is evaluated layer by layer, or in as few partitions as fit in the memory of this machine.
        draws: the number of draws of the partitions over which outputs are averaged; by default 1, or 10 if the number
            of partitions was chosen to fit in memory.
        train: whether to score graphs or links of the train part too.
        smoothing: the number of evaluations whose mean validation score selects the best epoch; 1 is the score of the
            epoch itself.
        metrics: all metrics to report at the end; if empty, only the task's metric, which selects the best epoch.
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


class ForestSection(Section):
    """A random forest beside the network.

    Attributes:
        model: ``forest``, scikit-learn's random forest on the descriptors of ``data.descriptors``.
        trees: the number of trees.
        min_leaf: the minimum number of train molecules in a leaf.
        criterion: the criterion that a split of a tree minimizes for classes: ``gini`` or ``entropy``.
        class_weight: the weight of the positive class when trees are grown, or ``balanced``, which weights classes
            inversely to their frequency in the train part. Probabilities are corrected for the change of frequencies
            and calibrated (Platt, 1999), those of a blend on the validation part.
        descriptors: the descriptors of ``data.descriptors`` that the forest uses; by default all.
        bits: whether the forest uses the presence of a substructure instead of its count.
    """

    model: Literal["forest"] = "forest"
    trees: Trees = 500
    min_leaf: Count = 2
    criterion: Literal["gini", "entropy"] = "gini"
    class_weight: Annotated[float, Field(ge=1e-6, le=1e6)] | Literal["balanced"] = 1.0
    descriptors: tuple[str, ...] | None = None
    bits: bool = False

    name: ClassVar[str]
    """Its key in a recipe."""


class BlendSection(ForestSection):
    """A second model whose predictions are averaged with the network's; its weight is chosen on the validation part.

    Attributes:
        averages: what is averaged for classes: ``probabilities``, or ``log-odds``, which leaves the word to the model
            that is surer (Genest and Zidek, Combining Probability Distributions, 1986).
    """

    averages: Literal["probabilities", "log-odds"] = "probabilities"

    name: ClassVar[str] = "blend"


class TeacherSection(ForestSection):
    """A second model from which the network learns too; once trained, the network predicts alone.

    What it says about a molecule of the train part comes from trees that were grown without it.

    Attributes:
        share: the share of the teacher's word in what the network learns for a label; 1 leaves the labels to the
            teacher (Hinton et al., Distilling the Knowledge in a Neural Network, 2015).
        folds: the number of parts into which the train part is divided at random; what the teacher says about one of
            them it has learned from the others.
        calibrate: whether what it says is calibrated on the labels. Otherwise it is what its trees say, in which a
            positive class counts ``class_weight`` times, and the probabilities of the network are calibrated on the
            validation part, as those of a balanced loss are.
        recombined: the number of new molecules, made of parts of those of the train part, of which the network learns
            from the teacher alone (Bucilă et al., Model Compression, 2006).
    """

    trees: Trees = 200  # of each fold
    share: Annotated[float, Field(gt=0, le=1)] = 0.5
    folds: Annotated[int, Field(ge=2, le=1000)] = 5
    calibrate: bool = True
    recombined: Annotated[int, Field(ge=0, le=10_000_000)] = 0

    name: ClassVar[str] = "teacher"


class Published(Section):
    """What the paper reports.

    Attributes:
        score: the mean test score.
        deviation: its standard deviation, if known.
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
    teacher: TeacherSection | None = None
    blend: BlendSection | None = None
    published: Published | None = None

    @property
    def recombined(self) -> int:
        """The number of new molecules in an epoch."""
        return 0 if self.teacher is None else self.teacher.recombined

    @model_validator(mode="after")
    def _teaches_a_loss(self) -> "Recipe":
        if self.teacher is not None and self.loss.name != "auto":
            raise ValueError(
                f"teacher: expected loss.name auto, which can learn from probabilities, not {self.loss.name}"
            )
        return self

    @property
    def predicts_from_descriptors(self) -> bool:
        """Whether predictions take descriptors; those of a teacher alone are for training."""
        return self.model.descriptors or self.blend is not None

    @property
    def descriptors_to_predict(self) -> tuple[str, ...]:
        """The descriptors that predictions take."""
        return self.data.descriptors if self.predicts_from_descriptors else ()
