"""Sums of word and context vectors.

Levy, Goldberg and Dagan 2015, "Improving Distributional Similarity with Lessons
Learned from Word Embeddings", section 3.3: cosines of the sums combine first-order
similarity (words that occur together) with second-order similarity (words in similar contexts).
"""

import os

import numpy as np

from firth.corpora.common.errors import SettingError
from firth.embed.vectors.opened import opened
from firth.embed.vectors.word_vectors import CONTEXTS, WordVectors, with_matrix


def with_contexts(vectors: WordVectors | str | os.PathLike[str]) -> WordVectors:
    """Add the context vector of each word to its word vector.

    Parameters
    ----------
    vectors : WordVectors, str or path
        Vectors of skip-gram or CBOW with negative sampling: their run, or just trained.

    Returns
    -------
    WordVectors
        The sums, in memory. Unseen words have no context vector, so none is composed for them.

    Raises
    ------
    SettingError
        If there are no context vectors.
    ArtifactError
        If they are damaged.
    """
    source: WordVectors = opened(vectors)
    contexts = source.contexts
    if contexts is None:
        raise SettingError(
            f"`add_contexts`: {source.name} has no context vectors ({CONTEXTS}); only runs of "
            "skip-gram and CBOW with negative sampling have them"
        )
    # np.add reads both mapped files once and allocates only the sums
    sums = np.add(np.asarray(source.matrix), np.asarray(contexts))
    return with_matrix(source, sums, source.name)
