"""gensim's own save format, which is a pickle: written for gensim, and never opened here.

Opening a pickle can run any code. So what we write has our own word list beside
it, and that and the matrix, a plain ``.npy``, are what we read back.
"""

import os
from pathlib import Path

import numpy as np

from corpora.artifacts.arrays import map_array, save_array
from corpora.artifacts.atomic import replacing
from corpora.common.errors import ArtifactError
from embed.formats.writing import dense_block, refuse_unholdable
from embed.vectors.word_vectors import WordVectors
from embed.vectors.wordlist import StoredVocabulary, write_words


def is_pickle(start: bytes) -> bool:
    """Tell a pickle by its first two bytes."""
    return start[:1] == b"\x80" and start[1:2] in (b"\2", b"\3", b"\4", b"\5")


def read_gensim(path: Path) -> WordVectors:
    """Read back what :func:`write_gensim` wrote, from the files beside the pickle."""
    words, matrix = _beside(path)
    if not words.is_file() or not matrix.is_file():
        raise ArtifactError(
            f"{path}: is a Python pickle, such as gensim saves, and is never opened, for it can "
            f'run any code; convert it: python -c "from gensim.models import KeyedVectors; '
            f"KeyedVectors.load('{path.name}').save_word2vec_format('{path.stem}.txt')\""
        )
    vocabulary = StoredVocabulary(words)
    values = map_array(matrix, again="export it again", missing="no such file")
    if values.ndim != 2 or len(values) != len(vocabulary):
        raise ArtifactError(
            f"{path}: {words.name} has {len(vocabulary)} words and {matrix.name} the shape "
            f"{values.shape}; export it again"
        )
    return WordVectors(vocabulary, values, name=str(path))


def write_gensim(vectors: WordVectors, out: Path, force: bool) -> None:
    """Write what ``gensim.models.KeyedVectors.load`` reads, and our word list beside it.

    Three files: ``out``, ``out.vectors.npy`` and ``out.vocabulary.tsv``; the last
    two are renamed into place first, ``out`` last.
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
    try:
        with replacing(out, force) as partial:
            keyed.save(str(partial), separately=["vectors"])
            save_array(_beside(partial)[1], keyed.vectors)  # gensim does not notice a full disk
            write_words(_beside(partial)[0], words, vectors.counts)
            for made, place in zip(_beside(partial), _beside(out), strict=True):
                os.replace(made, place)
    except BaseException:
        if not out.exists():
            for place in _beside(out):
                place.unlink(missing_ok=True)
        raise


def _beside(path: Path) -> tuple[Path, Path]:
    """Our word list and gensim's matrix, of a pickle."""
    return path.with_name(f"{path.name}.vocabulary.tsv"), path.with_name(f"{path.name}.vectors.npy")
