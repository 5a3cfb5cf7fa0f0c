"""Examples that probes can learn."""

import numpy as np

from firth.embed.compare.probes.examples import Examples


def separable(n=400, seed=3):
    """Points in four clouds, a label each."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(4, size=n)
    table = rng.normal(size=(n, 6)).astype(np.float32)
    table[np.arange(n), labels] += 4
    return table, Examples(np.arange(n)[:, None], labels)
