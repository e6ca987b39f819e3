"""Explain a prediction: what every atom contributes, and how far to trust it.

Contributions are integrated gradients; what properties such as logP contribute stands
beside those of atoms and bonds. They add up to the output minus a baseline, up to
``residual``, which is what the numerical integral misses.

It prints::

    CCO has 3 atoms and 2 bonds
    contributions add up to the output: True
    nearest training molecule named: True
    a molecule of another kind is outside the training domain: True
"""

from pathlib import Path

import deepergcn
from deepergcn.inference.explain import explain

if __name__ == "__main__":
    rows = [f"{'C' * carbons}O,{5 - carbons}" for carbons in range(1, 41)]
    Path("alcohols.csv").write_text(
        "\n".join(["smiles,logS", *rows]) + "\n", encoding="utf-8"
    )
    small = {"model.num_layers": 3, "model.hidden_channels": 32}
    model = deepergcn.train(
        molecules="alcohols.csv",
        target="logS",
        epochs=3,
        settings=small,
        out="runs/why",
    )

    one, other = explain(model, ["CCO", "FC(F)(F)c1ccc(Br)cc1S(=O)(=O)N"])
    print(f"{one.id} has {len(one.nodes)} atoms and {len(one.edges)} bonds")
    total = (
        sum(value for _, value in one.nodes)
        + sum(value for *_, value in one.edges)
        + (one.descriptors or 0.0)
    )
    missed = one.baseline + total + one.residual - one.value
    print(f"contributions add up to the output: {abs(missed) < 1e-4}")
    print(f"nearest training molecule named: {bool(one.nearest)}")
    print(
        f"a molecule of another kind is outside the training domain: {other.outside}"
    )
