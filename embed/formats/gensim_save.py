"""gensim's own save format, a pickle: written for gensim, never unpickled here.

Unpickling can run any code. We therefore write a word list beside the pickle, and read back only
that list and the matrix, a plain ``.npy``.
"""

import json
import os
import shlex
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.arrays import map_array, save_array
from firth.corpora.artifacts.atomic import atomic_output
from firth.corpora.common.errors import ArtifactError, imported
from firth.embed.formats.writing import dense_block, refuse_unwritable
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.vectors.wordlist import StoredVocabulary, write_words


def is_pickle(start: bytes) -> bool:
    """Return whether a file's first bytes are those of a pickle of protocol 2 to 5."""
    return start[:1] == b"\x80" and start[1:2] in (b"\2", b"\3", b"\4", b"\5")


def read_gensim(path: Path) -> WordVectors:
    """Read what :func:`write_gensim` wrote, from the files beside the pickle."""
    words, matrix = _companions(path)
    if not words.is_file() or not matrix.is_file():
        raise ArtifactError(
            f"{path}: a Python pickle (gensim saves these) is never opened because it can run "
            f"any code; convert it: {_conversion(path)}"
        )
    vocabulary = StoredVocabulary(words)
    values = map_array(matrix, again="export it again", missing="no such file")
    if values.ndim != 2 or len(values) != len(vocabulary):
        raise ArtifactError(
            f"{path}: {words.name} has {len(vocabulary)} words, but {matrix.name} has shape "
            f"{values.shape}; export it again"
        )
    return WordVectors(vocabulary, values, name=str(path))


def write_gensim(vectors: WordVectors, out: Path, force: bool) -> None:
    """Write vectors for ``gensim.models.KeyedVectors.load``, and our word list beside them.

    Writes ``out``, ``out.vectors.npy`` and ``out.vocabulary.tsv``; ``out`` is renamed into place
    last.
    """
    words = list(vectors.vocabulary)
    refuse_unwritable(words, "gensim", gaps="")
    missing = ArtifactError("format gensim needs gensim; pip install gensim")
    keyed = imported("gensim.models", missing).KeyedVectors(vectors.matrix.shape[1])
    keyed.vectors = dense_block(vectors.matrix, 0, len(words))
    keyed.index_to_key = words
    keyed.key_to_index = {word: row for row, word in enumerate(words)}
    if vectors.counts is not None:
        keyed.expandos["count"] = np.asarray(vectors.counts, dtype=np.int64)
    try:
        with atomic_output(out, force) as partial:
            keyed.save(str(partial), separately=["vectors"])
            save_array(_companions(partial)[1], keyed.vectors)  # gensim ignores a full disk
            write_words(_companions(partial)[0], words, vectors.counts)
            for source, target in zip(_companions(partial), _companions(out), strict=True):
                os.replace(source, target)
    except BaseException:
        if not out.exists():
            for companion in _companions(out):
                companion.unlink(missing_ok=True)
        raise


def _conversion(path: Path) -> str:
    """Return a command that writes the vectors of a model or of KeyedVectors to a new file."""
    out, number = Path(f"{path}.vec"), 1
    while os.path.lexists(out):
        out, number = Path(f"{path}.{number}.vec"), number + 1
    code = (
        f"from gensim.models import KeyedVectors; m = KeyedVectors.load({json.dumps(str(path))}); "
        f'getattr(m, "wv", m).save_word2vec_format({json.dumps(str(out))})'
    )
    return f"python -c {shlex.quote(code)}"


def _companions(path: Path) -> tuple[Path, Path]:
    """Return the word list and the matrix that belong to a pickle."""
    return path.with_name(f"{path.name}.vocabulary.tsv"), path.with_name(f"{path.name}.vectors.npy")
