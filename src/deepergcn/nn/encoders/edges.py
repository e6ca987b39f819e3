"""Edge encoders: from raw edge features to the edge term h_e of a message, in its most compact form."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from deepergcn.errors import InputError
from deepergcn.nn.encoders.tables import Tables, check_sizes, number_again
from deepergcn.nn.lazy import UNKNOWN, fix_width, known_width, linear
from deepergcn.nn.unchanged import is_unchanged
from deepergcn.ops import Affine, Dense, EdgeTerm, Table

WIDEST_AFFINE = 64
"""Raw features wider than this are multiplied once: multiplying on the fly would cost more than it saves."""

LARGEST_TABLE = 1024
"""The largest table of all combinations of categories; beyond it, a table holds those of the batch."""


class Categories(NamedTuple):
    """The categories of every edge as one code: ``codes`` [edges], and the meaning of each code.

    ``rows`` [combinations, columns] holds the categories of every code, ``multi_hot`` the same as a matrix to multiply
    the embedding tables with, if there are few combinations; both are shared by all layers.
    """

    codes: Tensor
    rows: Tensor
    multi_hot: Tensor | None = None


EdgeInput = Tensor | Affine | Table | Dense | Categories
"""The input of an edge encoder: raw features, the edge term of a shared encoder, or encoded categories."""


class EdgeEncoder(nn.Module):
    """Computes the edge term h_e. ``prepare`` does, once per batch, what all layers share."""

    def prepare(self, edge: EdgeInput) -> EdgeInput:
        """Check raw features, and convert them to the form that the encoders of all layers share."""
        raise NotImplementedError

    def forward(self, edge: EdgeInput) -> EdgeTerm:
        raise NotImplementedError


class AffineEncoder(EdgeEncoder):
    """h_e = W f_e + b, kept as the small matrix W and the raw features.

    Applied to the edge term of another encoder, such as one shared by all layers, this Linear layer is folded into it:
    two consecutive Linear layers cost as much as one. A layer that you have replaced or hooked is called instead.

    Args:
        in_channels: the width of the raw features, or of the edge term below; -1 takes it from the first input.
        out_channels: the width of the convolution.
        bias: learn b.
    """

    def __init__(self, in_channels: int, out_channels: int, bias: bool = True) -> None:
        super().__init__()
        if in_channels < 1 and in_channels != UNKNOWN:
            raise InputError(f"edge_encoder: expected a width of at least 1, or -1 for a lazy one, got {in_channels}")
        self.linear = linear(in_channels, out_channels, bias)

    def reset_parameters(self) -> None:
        self.linear.reset_parameters()

    def prepare(self, edge: EdgeInput) -> Tensor | EdgeTerm:
        width = self._fixed_width(edge)
        match edge:
            case Categories():
                raise InputError("edge_attr: expected floating-point features, got categories")
            case Tensor():
                if edge.dim() != 2 or width not in (edge.shape[1], None) or not edge.is_floating_point():
                    raise InputError(
                        f"edge_attr: expected a floating-point tensor [edges, {width}], "
                        f"got {edge.dtype} {list(edge.shape)}"
                    )
            case _ if width not in (_width(edge), None):
                raise InputError(f"edge_encoder: expected an edge term of {width} channels, got {_width(edge)}")
        return edge

    def _fixed_width(self, edge: EdgeInput) -> int | None:
        """The input width; that of a lazy layer is fixed to that of ``edge``. None for a layer that does not say it."""
        if isinstance(self.linear, nn.LazyLinear) and known_width(self.linear) is None:
            fix_width(self.linear, _width(edge))
        return known_width(self.linear)

    def forward(self, edge: EdgeInput) -> EdgeTerm:
        edge = self.prepare(edge)
        if type(self.linear).forward is not nn.Linear.forward or not is_unchanged(self.linear):
            return Dense(self.linear(edge if isinstance(edge, Tensor) else edge.materialize()))
        if not isinstance(edge, Tensor):
            return edge.linear(self.linear.weight, self.linear.bias)
        if edge.shape[1] > WIDEST_AFFINE:
            return Dense(self.linear(edge))
        return Affine(edge, self.linear.weight, self.linear.bias)


def _width(edge: EdgeInput) -> int:
    match edge:
        case Affine(weight=below):
            return below.shape[0]
        case Table(table=below) | Dense(features=below):
            return below.shape[1]
        case Tensor() if edge.dim() == 2 and edge.is_floating_point() and edge.shape[1]:
            return edge.shape[1]
        case Tensor():
            raise InputError(
                f"edge_attr: expected a floating-point tensor [edges, width], got {edge.dtype} {list(edge.shape)}"
            )
    raise InputError("edge_attr: expected floating-point features, got categories")


class CategoricalEncoder(EdgeEncoder):
    """h_e = sum_k T_k[c_ek], an embedding table for each column of categories, kept as one table of their combinations.

    Args:
        sizes: the number of values of each column.
        channels: the width of the convolution.
    """

    strides: Tensor
    combinations: Tensor | None
    multi_hot: Tensor | None

    def __init__(self, sizes: Sequence[int], channels: int) -> None:
        super().__init__()
        check_sizes("edge_attr", sizes)
        count = math.prod(sizes)
        if count >= 2**62:
            raise InputError(f"edge_encoder: expected fewer than 2^62 combinations of categories, got {count}")
        self.tables = Tables("edge_attr", sizes, channels)
        for name in ("strides", "combinations", "multi_hot"):
            self.register_buffer(name, None, persistent=False)
        self.register_load_state_dict_post_hook(number_again)  # type: ignore[no-untyped-call]
        self.number()

    def reset_parameters(self) -> None:
        self.tables.reset_parameters()
        self.number()

    def number(self) -> None:
        """Number the combinations, in the order of ``itertools.product``."""
        sizes, device = self.tables.sizes, self.tables.weight.device
        self.strides = torch.tensor([math.prod(sizes[k + 1 :]) for k in range(len(sizes))], device=device)
        if math.prod(sizes) <= LARGEST_TABLE:
            self.combinations = self._categories(torch.arange(math.prod(sizes), device=device))
            self.multi_hot = self.tables.multi_hot(self.combinations)

    def _categories(self, codes: Tensor) -> Tensor:
        """The categories of every code, [codes, columns]."""
        return codes[:, None] // self.strides % torch.tensor(self.tables.sizes, device=codes.device)

    def prepare(self, edge: EdgeInput) -> Categories:
        """Number the combinations: as a number of mixed radix where the table has them all, else those that occur."""
        if isinstance(edge, Categories):
            return edge
        if not isinstance(edge, Tensor):
            raise InputError(f"edge_attr: expected integers or numbered categories, got {type(edge).__name__}")
        self.tables.check(edge)
        codes = (edge.long() * self.strides).sum(dim=1)
        if edge.device.type != "cpu":  # nobody has looked at them: what is out of range gets a code that gives NaN
            is_wrong = [(edge[:, k] < 0) | (edge[:, k] >= size) for k, size in enumerate(self.tables.sizes)]
            codes = codes.masked_fill(torch.stack(is_wrong).any(0), -1)
        if self.combinations is not None:
            return Categories(codes.int(), self.combinations, self.multi_hot)
        distinct, codes = torch.unique(codes, return_inverse=True)
        return Categories(codes.int(), self._categories(distinct))

    def forward(self, edge: EdgeInput) -> EdgeTerm:
        codes, rows, multi_hot = self.prepare(edge)
        return Table(codes, self.tables(rows, multi_hot))


EdgeEncoderSpec = int | Sequence[int] | EdgeEncoder | None
"""A raw width (affine), the sizes of categories (categorical), an encoder, or None."""


def build_edge_encoder(spec: EdgeEncoderSpec, channels: int, bias: bool = True) -> EdgeEncoder | None:
    """The encoder that ``spec`` asks for, to the width ``channels``."""
    match spec:
        case None:
            return None
        case EdgeEncoder():
            return spec
        case int():
            return AffineEncoder(spec, channels, bias)
        case Sequence() if not isinstance(spec, str):
            return CategoricalEncoder(spec, channels)
    raise InputError(
        f"edge_encoder: expected a width, the sizes of categories, an EdgeEncoder or None, got {type(spec).__name__}"
    )
