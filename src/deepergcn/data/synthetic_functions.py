"""Functions of proteins as labels: rare, varied, in families, and dependent on the neighbourhood hops deep."""

import numpy as np
import numpy.typing as npt

from deepergcn.data.randomness import Floats, key, normals, uniforms

FAMILIES, MEMBERS = 16, 7
FUNCTIONS = FAMILIES * MEMBERS
"""A family is a binary tree of functions; a protein has a function only if it has the function's parent."""

_NOISE = 0.7
_PRODUCT = 0.7
_OWN = 0.4


def functions(hops: list[Floats], ring_of: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.float32]:
    """Labels 0 or 1 [nodes, 112] from ``hops``, h_k [nodes, channels] for k = 0, 1, ...

    With r_k the part of h_k that is no linear function of h_0 within a species, both standardized there, q random
    directions, and k from 2 to the last hop, one a family,

        score = q_1.r_k + 0.7 (q_2.r_k) (q_3.r_{k-1}) + 0.4 q_4.h_0,

    partly the score of the parent, and partly noise. The highest scores in each species have the function.
    """
    own, *farther = _beyond(hops, ring_of)
    y = np.zeros((len(ring_of), FUNCTIONS), dtype=np.float32)
    for family in range(FAMILIES):
        k = 2 + family % (len(hops) - 2)
        share = 0.12 * 4.0 ** uniforms(key(seed, "share", family), 1)[0]
        scores: list[Floats] = []
        for member in range(MEMBERS):
            name = family * MEMBERS + member
            parent = (member - 1) // 2
            score = _score(own, farther[k - 2], farther[k - 1], seed, name)
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


def _score(own: Floats, near: Floats, far: Floats, seed: int, name: int) -> Floats:
    q = normals(key(seed, "direction", name), 4, own.shape[1])
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    score: Floats = (far * q[0]).sum(1) + _PRODUCT * (far * q[1]).sum(1) * (near * q[2]).sum(1)
    score += _OWN * (own * q[3]).sum(1)
    score /= score.std()
    return score


def _beyond(hops: list[Floats], ring_of: npt.NDArray[np.int64]) -> list[Floats]:
    """h_0, then r_1, r_2, ...: within each species what the least squares of h_k by h_0 leave; all standardized."""
    found = [np.empty_like(h) for h in hops]
    for ring in range(int(ring_of.max()) + 1):
        inside = ring_of == ring
        own = _standardize(hops[0][inside])
        found[0][inside] = own
        # Sums of products without BLAS, whose rounding depends on the number of threads.
        gram = np.einsum("ni,nj->ij", own, own) + np.eye(own.shape[1])
        for out, h in zip(found[1:], hops[1:], strict=True):
            seen = _standardize(h[inside])
            fitted = np.linalg.solve(gram, np.einsum("ni,nj->ij", own, seen))
            out[inside] = _standardize(seen - np.einsum("ni,ij->nj", own, fitted))
    return found


def _standardize(h: Floats) -> Floats:
    standard: Floats = (h - h.mean(0)) / (h.std(0) + 1e-9)
    return standard
