"""``firth encode --sif``: sentence vectors from word vectors and the frequencies of the words."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.atomic import atomic_output
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.common.reporting import Progress, no_progress
from firth.embed.contextual.encoded_text import (
    WORDS_AT_ONCE,
    Form,
    Writer,
    batches,
    refuse_suffix,
    rows_of,
)
from firth.embed.vectors.int8_rows import is_dense
from firth.embed.vectors.word_vectors import WordVectors

SMOOTHING = 1e-3  # a of Arora et al. 2017


@dataclass(frozen=True)
class SifCounts:
    """How many lines and words of a text were read."""

    lines: int
    words: int
    unknown: int  # words without a vector, which are left out


def sif_file(
    vectors: WordVectors,
    source: Path,
    out: Path,
    *,
    force: bool = False,
    show: Progress = no_progress,
    words_at_once: int = WORDS_AT_ONCE,
) -> SifCounts:
    """Write a vector per line of a text, in the form of ``encode_file`` per sentence.

    Arora, Liang & Ma 2017, "A Simple but Tough-to-Beat Baseline for Sentence Embeddings", algorithm
    1: the weighted mean of the words of each line, less its projection on the first singular vector
    of all lines. All means are in memory until the last line is read.
    """
    refuse_suffix(out)
    weights = sif_weights(vectors)
    with atomic_output(out, force) as partial:
        texts: list[Sequence[str]] = []
        means: list[np.ndarray] = []
        n_words = n_unknown = 0
        for lines in batches(vectors.words, source, words_at_once):
            for words in lines:
                known = weighted(vectors, weights, words)
                means.append((known.sum(axis=0) / max(len(known), 1)).astype(np.float32))
                n_words, n_unknown = n_words + len(words), n_unknown + len(words) - len(known)
            texts += lines if out.suffix == ".jsonl" else [()] * len(lines)  # not written
            show(n_words)
        found = np.array(means, np.float32).reshape(-1, vectors.dim)
        if not (finite := np.isfinite(found).all(axis=1)).all():
            raise ArtifactError(
                f"{vectors.name}: a vector of line {finite.argmin() + 1} of {source} holds NaN or "
                "infinity; train the run again"
            )
        if np.count_nonzero(found.any(axis=1)) < 2:
            raise SettingError(
                f"{source}: fewer than two lines have a word of {vectors.name}, so that all they "
                "hold is common to all lines, which `sif` subtracts; pass more lines"
            )
        form = Form(out.suffix, "sentence")
        with Writer(partial, form, vectors.dim) as writer:
            rows = without_direction(found, common_direction(found))[:, None]
            for first in range(0, len(texts), words_at_once):
                some = slice(first, first + words_at_once)
                writer.add(texts[some], rows_of(texts[some], list(rows[some]), form))
    return SifCounts(len(texts), n_words, n_unknown)


def sif_weights(vectors: WordVectors) -> np.ndarray:
    """Return a / (a + p) for words of probability p, float64 (V,); raise without counts."""
    if not is_dense(vectors.matrix):
        raise SettingError(f"{vectors.name}: has sparse vectors, which `sif` does not take")
    counts = vectors.counts
    if counts is None or not counts.any():
        raise SettingError(
            f"{vectors.name}: has no counts of words, which `sif` needs; pass a run with counts"
        )
    return np.asarray(SMOOTHING / (SMOOTHING + counts / counts.sum()))


def weighted(vectors: WordVectors, weights: np.ndarray, words: Sequence[str]) -> np.ndarray:
    """Return the weighted vectors of words that have one, float64 (n, D).

    Words whose vector is composed of n-grams or pieces were never counted, so p = 0.
    """
    found = []
    for word in words:
        row, vector = vectors.row(word), vectors.vector(word)
        if vector is not None and vector.any():
            found.append(vector.astype(np.float64) * (1.0 if row is None else weights[row]))
    return np.array(found).reshape(-1, vectors.dim)


def common_direction(lines: np.ndarray) -> np.ndarray:
    """Return the first right singular vector of all lines, not centered, float64 (D,)."""
    # lines: float32 (n, D)
    exact = lines.astype(np.float64)
    return np.asarray(np.linalg.eigh(exact.T @ exact)[1][:, -1])


def without_direction(lines: np.ndarray, common: np.ndarray) -> np.ndarray:
    """Subtract from each line its projection on a direction, float32 (n, D)."""
    exact = lines.astype(np.float64)
    return np.asarray(exact - np.outer(exact @ common, common), np.float32)
