"""Random numbers by key: reproducible, in range, and as distributed as they should be."""

import numpy as np

from deepergcn.data.synthetic.randomness import key, normals, uniforms


def test_numbers_depend_on_seed_and_names_alone() -> None:
    first = uniforms(key(1, "a", 2), 100)
    assert np.array_equal(first, uniforms(key(1, "a", 2), 100))
    assert np.array_equal(first[:10], uniforms(key(1, "a", 2), 10))
    for other in (key(2, "a", 2), key(1, "b", 2), key(1, "a", 3), key(1, "a")):
        assert not np.isin(uniforms(other, 100), first).any()


def test_uniforms() -> None:
    values = uniforms(key(0, "test"), 100, 1000)
    assert values.shape == (100, 1000)
    assert 0 <= values.min() < 0.001
    assert 0.999 < values.max() < 1
    # Each of a hundred equal intervals holds a hundredth, within five standard deviations.
    counts = np.bincount((values.ravel() * 100).astype(int), minlength=100)
    assert abs(counts - 1000).max() < 5 * np.sqrt(1000)


def test_normals() -> None:
    values = normals(key(0, "test"), 100_000)
    assert np.isfinite(values).all()
    assert abs(values.mean()) < 5 / np.sqrt(100_000)
    assert abs((values**2).mean() - 1) < 5 * np.sqrt(2 / 100_000)
    assert abs((abs(values) < 1).mean() - 0.6827) < 0.01
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.02
