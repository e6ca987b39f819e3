"""The edge term h_e of a message in the form in which it is smallest: affine, a table, or dense.

A message is m = ReLU(h_u + h_e) + eps (equation 4). The edge term is rarely a dense [edges, channels] tensor by nature:
it is an affine map of a few raw features, or one of a few dozen rows of an embedding table. Kept in that form, nothing
edge-sized and channel-wide ever has to exist.
"""

from typing import NamedTuple

from torch import Tensor
from torch.nn import functional as F


class Affine(NamedTuple):
    """h_e = W f_e + b: raw ``features`` [edges, K], ``weight`` W [channels, K], ``bias`` b [channels] or None."""

    features: Tensor
    weight: Tensor
    bias: Tensor | None = None

    def materialize(self) -> Tensor:
        return F.linear(self.features, self.weight, self.bias)

    def linear(self, weight: Tensor, bias: Tensor | None) -> "Affine":
        """A Linear layer on top, folded into this one: W' = weight W, b' = weight b + bias."""
        below = None if self.bias is None else weight @ self.bias
        folded = below if bias is None else bias if below is None else below + bias
        return Affine(self.features, weight @ self.weight, folded)


class Table(NamedTuple):
    """h_e = T[code_e]: ``codes`` [edges], integers, and the ``table`` T [rows, channels]."""

    codes: Tensor
    table: Tensor

    def materialize(self) -> Tensor:
        return F.embedding(self.codes.long(), self.table)

    def linear(self, weight: Tensor, bias: Tensor | None) -> "Table":
        """A Linear layer on top, applied to the few rows of the table."""
        return Table(self.codes, F.linear(self.table, weight, bias))


class Dense(NamedTuple):
    """h_e as it is: ``features`` [edges, channels], the general case."""

    features: Tensor

    def materialize(self) -> Tensor:
        return self.features

    def linear(self, weight: Tensor, bias: Tensor | None) -> "Dense":
        return Dense(F.linear(self.features, weight, bias))


EdgeTerm = Affine | Table | Dense
"""Any of the three forms. Rows of ``features`` and ``codes`` stand in the order in which the edges were given."""
