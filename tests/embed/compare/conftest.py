"""Small synthetic vectors for the tests of comparison."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from firth.embed.compare.datasets.questions import read_questions
from firth.embed.compare.datasets.word_pairs import default_sets, read_pairs
from firth.embed.vectors.word_vectors import WordVectors


def synthetic_vectors(questions: Path, pairs: Sequence[Path], dim: int = 30) -> WordVectors:
    """Vectors in which the relations of an analogy set hold up to noise."""
    rng = np.random.default_rng(5)
    vectors: dict[str, np.ndarray] = {}
    offsets: dict[str, np.ndarray] = {}
    for question in read_questions(questions):
        a, b, c, d = (word.lower() for word in question.words)
        offset = offsets.setdefault(question.section, rng.normal(size=dim))
        for left, right in ((a, b), (c, d)):
            start = vectors.setdefault(left, rng.normal(size=dim))
            vectors.setdefault(right, start + offset + 0.9 * rng.normal(size=dim))
    for path in pairs:
        for pair in read_pairs(path):
            for word in (pair.a.lower(), pair.b.lower()):
                vectors.setdefault(word, rng.normal(size=dim))
    words = sorted(vectors, key=lambda word: rng.random())
    return WordVectors(words, np.array([vectors[word] for word in words], dtype=np.float32))


@pytest.fixture(scope="session")
def synthetic() -> WordVectors:
    """Vectors of all words in gensim's evaluation sets."""
    similarity, simlex, analogies = (path for _, path in default_sets())
    return synthetic_vectors(analogies, [similarity, simlex])
