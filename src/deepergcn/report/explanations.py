"""The page of explanations: molecules with their contributions, the largest ones, and the nearest training examples."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from deepergcn.report.molecules import draw_molecule

_LARGEST = 12
_METHOD = (
    "Contributions are integrated gradients of node embeddings and messages. They add up to the output minus the "
    "baseline, which is the output without features and messages. The output of a class is its log-odds. Orange raises "
    "the output, blue lowers it. Atoms are numbered from 0, in the order of the SMILES."
)


@dataclass(frozen=True)
class ExplainedItem:
    """One explained row.

    Attributes:
        title: the row's id and the output.
        value, baseline, residual: the output, that without features and messages, and what contributions miss.
        nodes: contributions of nodes by name; an atom's name is its number.
        edges: contributions of edges by the names of their ends.
        descriptors: the contribution of all descriptors; None if there are none.
        nearest: the nearest training examples with their distances.
        outside: whether the row lies outside the training domain; None where that is unknown.
        smiles: the molecule, where it is one.
    """

    title: str
    value: float
    baseline: float
    residual: float
    nodes: Sequence[tuple[str, float]]
    edges: Sequence[tuple[str, str, float]]
    descriptors: float | None
    nearest: Sequence[tuple[str, float]]
    outside: bool | None
    smiles: str | None

    @property
    def picture(self) -> Markup:
        """The molecule with its contributions."""
        if self.smiles is None:
            return Markup("")
        atoms = {int(name): value for name, value in self.nodes}
        bonds = {(int(u), int(v)): value for u, v, value in self.edges}
        return Markup(draw_molecule(self.smiles, atoms, bonds, (480, 300)))

    @property
    def facts(self) -> list[tuple[str, str]]:
        found = [
            ("output", f"{self.value:.4f}"),
            ("baseline", f"{self.baseline:.4f}"),
            ("error of the integration", f"{self.residual:+.4f}"),
        ]
        if self.nearest:
            near = ", ".join(f"{name} ({distance:.2f})" for name, distance in self.nearest)
            found.append(("nearest training examples (distance)", near))
        return found

    @property
    def largest(self) -> list[tuple[str, float]]:
        """The largest contributions of nodes and edges, by magnitude."""
        node, edge = ("atom", "bond") if self.smiles is not None else ("node", "edge")
        everything = [(f"{node} {name}", value) for name, value in self.nodes]
        everything += [(f"{edge} {u}-{v}", value) for u, v, value in self.edges]
        everything += [] if self.descriptors is None else [("all descriptors", self.descriptors)]
        return sorted(everything, key=lambda pair: -abs(pair[1]))[:_LARGEST]


@dataclass(frozen=True)
class ExplanationsPage:
    """All that the page says."""

    anchor: str
    title: str
    items: Sequence[ExplainedItem]
    method: str = _METHOD
    kind: str = "explanations"
