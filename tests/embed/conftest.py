"""Shared fixtures: small vectors and a small run."""

import numpy as np
import pytest

from firth.embed.compare.probes import attention_pooling, window
from firth.embed.vectors.word_vectors import WordVectors

WORDS = ["the", "king", "queen", "man", "woman", "Paris", "naïve", "図書館"]


@pytest.fixture
def vectors() -> WordVectors:
    """Eight words in four dimensions, with counts and without text settings."""
    matrix = np.random.default_rng(5).standard_normal((len(WORDS), 4)).astype(np.float32)
    counts = np.arange(len(WORDS), 0, -1) * 10
    return WordVectors(WORDS, matrix, counts=counts, name="small")


@pytest.fixture
def tiny() -> WordVectors:
    """Five words in the plane: king - man + woman = queen."""
    words = ["man", "woman", "king", "queen", "apple"]
    matrix = np.array([[1, 0], [0, 1], [3, 1], [2, 2], [-1, -1]], dtype=np.float32)
    return WordVectors(words, matrix)


@pytest.fixture
def run(vectors, tmp_path):
    """The ``vectors`` fixture saved as a run directory."""
    folder = tmp_path / "run"
    folder.mkdir()
    vectors.write(folder)
    return folder


@pytest.fixture(scope="module")
def brief_probes():
    """Train window probes for a sixteenth of the steps; enough for easy data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window, "_MAX_STEPS", 256)
        yield


@pytest.fixture
def brief_attention(monkeypatch):
    """Shorten the training of attention pooling; enough for easy data."""
    monkeypatch.setattr(attention_pooling, "RATES", (1e-2,))
    monkeypatch.setattr(attention_pooling, "MARGINS", ((10.0, 0.1),))
    monkeypatch.setattr(attention_pooling, "_ROUNDS", 5)
