"""Protein functions as labels: rare, varied, in families, and dependent on nodes many hops away."""

import numpy as np
import numpy.typing as npt

from deepergcn.data.synthetic.randomness import Floats, key, normals, uniforms

FAMILIES, MEMBERS = 16, 7
FUNCTIONS = FAMILIES * MEMBERS
"""A family is a binary tree of functions; a protein has a function only if it has the function's parent."""

_NOISE = 0.5


def functions(around: list[Floats], ring_of: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.float32]:
    """Labels 0 or 1 [nodes, 112] from ``around``, the features around every node [nodes, channels] by distance.

    A family depends on one distance. The score of a function is q.h, with h the features at that distance,
    standardized in every species, and q a random direction, mixed with the score of the parent and noise. The nodes
    with the highest scores in each species have the function.
    """
    standard = [_standardize(h, ring_of) for h in around]
    y = np.zeros((len(ring_of), FUNCTIONS), dtype=np.float32)
    for family in range(FAMILIES):
        h = standard[family % len(standard)]
        share = 0.12 * 4.0 ** uniforms(key(seed, "share", family), 1)[0]
        scores: list[Floats] = []
        for member in range(MEMBERS):
            name = family * MEMBERS + member
            parent = (member - 1) // 2
            score = _score(h, seed, name)
            if member:
                score = 0.6 * scores[parent] + 0.8 * score
            scores.append(score / score.std())
            heard = scores[-1] + _NOISE * normals(key(seed, "noise", name), len(ring_of))
            candidates = y[:, name - member + parent] > 0 if member else np.ones(len(ring_of), dtype=bool)
            part = 0.25 + 0.35 * uniforms(key(seed, "part", name), 1)[0] if member else share
            for ring in range(int(ring_of.max()) + 1):
                members = np.flatnonzero(candidates & (ring_of == ring))
                count = max(1, round(part * len(members)))
                y[members[np.argsort(heard[members], kind="stable")[-count:]], name] = 1.0
    return y


def _score(h: Floats, seed: int, name: int) -> Floats:
    score: Floats = (h * normals(key(seed, "direction", name), h.shape[1])).sum(1)
    score /= score.std()
    return score


def _standardize(h: Floats, ring_of: npt.NDArray[np.int64]) -> Floats:
    """Mean 0 and standard deviation 1 in every channel and species."""
    standard = np.empty_like(h)
    for ring in range(int(ring_of.max()) + 1):
        inside = h[ring_of == ring]
        standard[ring_of == ring] = (inside - inside.mean(0)) / (inside.std(0) + 1e-9)
    return standard
