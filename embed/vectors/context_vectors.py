"""The context vectors of a run: opened, and added to its word vectors.

Levy, Goldberg and Dagan 2015, "Improving Distributional Similarity with Lessons
Learned from Word Embeddings", section 3.3: the sum of both tells of two words how
near they stand as well as how alike they are.
"""

from pathlib import Path

import numpy as np

from corpora.common.errors import ArtifactError, SettingError
from embed.vectors.run_files import open_array
from embed.vectors.word_vectors import WordVectors

CONTEXTS = "contexts.npy"


def run_directory(vectors: WordVectors) -> Path | None:
    """Tell which run vectors were opened from."""
    mapped = getattr(vectors.matrix, "filename", None)
    return Path(mapped).parent if mapped else None


def open_contexts(vectors: WordVectors) -> np.ndarray | None:
    """Map the context vectors of a run."""
    # returns float32 (V, D) or None
    run = run_directory(vectors)
    if run is None or not (run / CONTEXTS).is_file():
        return None
    path = run / CONTEXTS
    contexts = open_array(path, np.float32, 2)
    if contexts.shape != vectors.matrix.shape:
        raise ArtifactError(
            f"{path}: holds {contexts.dtype} of shape {contexts.shape}, expected float32 of shape "
            f"{vectors.matrix.shape}; make the run again"
        )
    return contexts


def with_contexts(vectors: WordVectors) -> WordVectors:
    """Add each word's vector as a context to its own.

    Parameters
    ----------
    vectors : WordVectors
        Opened from a run of skip-gram or CBOW with negative sampling.

    Returns
    -------
    WordVectors
        The sums, in memory. Words outside the vocabulary have no context vector, so
        that none is composed for them.

    Raises
    ------
    SettingError
        There are no context vectors.
    ArtifactError
        They are damaged.
    """
    contexts = open_contexts(vectors)
    if contexts is None:
        raise SettingError(
            f"`add_contexts`: {vectors.name} has no context vectors ({CONTEXTS}); only runs of "
            "skip-gram and CBOW with negative sampling have"
        )
    # np.add walks over both mapped files once, and holds nothing but the sums
    sums = np.add(np.asarray(vectors.matrix), np.asarray(contexts))
    return WordVectors(
        vectors.vocabulary, sums, counts=vectors.counts, text=vectors.text, name=vectors.name
    )
