"""gensim's own save format: written for gensim to load, never read (it is a pickle)."""

import os
from pathlib import Path

import numpy as np

from corpora.errors import ArtifactError
from embed.formats_output import dense_block, refuse_unholdable, replacing
from embed.vectors import WordVectors


def write_gensim(vectors: WordVectors, out: Path, force: bool) -> None:
    """Write what ``gensim.models.KeyedVectors.load`` reads.

    gensim puts large matrices into files of their own beside ``out``; these are
    renamed into place first, ``out`` last.

    Parameters
    ----------
    vectors : WordVectors
        What to write; counts, if known, become the attribute ``count``.
    out : Path
        The main file.
    force : bool
        Replace files that stand there.

    Raises
    ------
    ArtifactError
        ``out`` exists, a word is empty, or gensim is not installed.
    """
    words = list(vectors.vocabulary)
    refuse_unholdable(words, "gensim", gaps="")
    try:
        from gensim.models import KeyedVectors
    except ImportError:
        raise ArtifactError("format gensim needs gensim; pip install gensim") from None
    keyed = KeyedVectors(vectors.matrix.shape[1])
    keyed.vectors = dense_block(vectors.matrix, 0, len(words))
    keyed.index_to_key = words
    keyed.key_to_index = {word: row for row, word in enumerate(words)}
    if vectors.counts is not None:
        keyed.expandos["count"] = np.asarray(vectors.counts, dtype=np.int64)
    with replacing(out, force) as partial:
        keyed.save(str(partial))
        for beside in sorted(partial.parent.glob(f"{partial.name}.*.npy")):
            os.replace(beside, beside.with_name(out.name + beside.name[len(partial.name) :]))
