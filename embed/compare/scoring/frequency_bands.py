"""Frequency bands: parts of an evaluation set by the rank of its words."""

import sys
from collections.abc import Mapping

import numpy as np

from firth.embed.compare.task import Task
from firth.embed.protocols import StaticVectors

EDGES = {"top 1,000": 1_000, "top 10,000": 10_000, "rarer": sys.maxsize}


def frequency_bands(task: Task, vectors: StaticVectors) -> Mapping[str, np.ndarray]:
    """Split a set by the rank of each item's rarest word; values are bool (n_items,)."""
    ranks = {text: _rank(vectors, text) for text in dict.fromkeys(task.texts())}
    rarest = np.array(
        [max(ranks[text] for text in texts) for texts in task.items()], dtype=np.int64
    )
    bands: dict[str, np.ndarray] = {}
    start = 0
    for name, stop in EDGES.items():
        bands[name] = (rarest >= start) & (rarest < stop)
        start = stop
    return bands


def _rank(vectors: StaticVectors, text: str) -> int:
    """Return the rank of a text's rarest word, from 0; last if any word is unknown."""
    rows = [vectors.row(word) for word in vectors.words(text)]
    known = [row for row in rows if row is not None]
    return max(known) if known and len(known) == len(rows) else sys.maxsize - 1
