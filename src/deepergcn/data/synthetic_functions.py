"""Functions of proteins as labels: rare, varied, in families, and dependent on the neighbourhood hops deep."""

import numpy as np
import numpy.typing as npt

from deepergcn.data.randomness import Floats, key, normals, uniforms

FAMILIES, MEMBERS = 16, 7
FUNCTIONS = FAMILIES * MEMBERS
"""A family is a binary tree of functions; a protein has a function only if it has the function's parent."""

_NOISE = 0.7
_PRODUCT = 0.7


def functions(hops: list[Floats], ring_of: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.float32]:
    """Labels 0 or 1 [nodes, 112] from ``hops``, h_k [nodes, channels] for k = 0, 1, ...

    With h standardized within each species, q random directions, and k from 2 to the last hop, one a family,

        score = q_1.h_k + 0.7 (q_2.h_k) (q_3.h_{k-2}),

    partly the score of the parent, and partly noise. The highest scores in each species have the function.
    """
    standard = [_standardize(h, ring_of) for h in hops]
    y = np.zeros((len(ring_of), FUNCTIONS), dtype=np.float32)
    for family in range(FAMILIES):
        k = 2 + family % (len(hops) - 2)
        share = 0.12 * 4.0 ** uniforms(key(seed, "share", family), 1)[0]
        scores: list[Floats] = []
        for member in range(MEMBERS):
            name = family * MEMBERS + member
            parent = (member - 1) // 2
            score = _score(standard[k], standard[k - 2], seed, name)
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


def _score(near: Floats, nearer: Floats, seed: int, name: int) -> Floats:
    q = normals(key(seed, "direction", name), 3, near.shape[1])
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    score: Floats = (near * q[0]).sum(1) + _PRODUCT * (near * q[1]).sum(1) * (nearer * q[2]).sum(1)
    score /= score.std()
    return score


def _standardize(h: Floats, ring_of: npt.NDArray[np.int64]) -> Floats:
    out = np.empty_like(h)
    for ring in range(int(ring_of.max()) + 1):
        inside = ring_of == ring
        out[inside] = (h[inside] - h[inside].mean(0)) / (h[inside].std(0) + 1e-9)
    return out
