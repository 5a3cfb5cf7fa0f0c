"""Sentence vectors: means of word vectors by frequency, less what all lines have in common.

Arora, Liang & Ma 2017, "A Simple but Tough-to-Beat Baseline for Sentence Embeddings", algorithm 1.
What lines have in common, or a map in its place, is learned once and kept in the run, so that a
line has one vector.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from firth.corpora.artifacts.artifact import read_json, write_json
from firth.corpora.artifacts.atomic import write_whole
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.common.keywords import suggesting
from firth.corpora.common.reporting import note, progress
from firth.corpora.store.corpus import Corpus
from firth.embed.contextual.encoded_text import (
    DOCUMENT,
    SENTENCE,
    STDIN,
    Lines,
    batches,
    new_writer,
    refuse_suffix,
    rows_of,
)
from firth.embed.contextual.encoders import encoded_by
from firth.embed.formats.vector_files import load_vectors
from firth.embed.runs.run import Run
from firth.embed.vectors.int8_rows import is_dense
from firth.embed.vectors.run_files import not_finite
from firth.embed.vectors.word_vectors import WordVectors, with_matrix

_SMOOTHING = 1e-3  # a of Arora et al. 2017
KEPT = ("sif.json", "sif-map.json")
_SENTENCES = 100_000  # of a corpus, in evenly spread pairs
_FEWEST = 4  # known words of lines that a map is learned from
_HIGHEST = 0.999  # correlation of a line and the next
_RIDGE = 1e-9  # of the variance in all
_AT_ONCE = 1 << 12  # lines


@dataclass(frozen=True)
class SifCounts:
    """How many lines and words of a text were read."""

    lines: int
    words: int
    unknown: int  # words without a vector, which are left out


@suggesting
class SentenceVectors:
    """Vectors of sentences from word vectors, by SIF; each depends on its own words alone.

    Arora, Liang & Ma 2017, algorithm 1: the mean of the words' vectors, weighted by a / (a + p)
    for words of probability p, less its projection on ``common``; or, in its place, less
    ``center`` and times ``map``, which are learned from neighboring sentences.

    Parameters
    ----------
    vectors : WordVectors
        Dense, with counts of words.
    learned : mapping of str to ndarray
        ``common``, float64 (D,): a direction, of length 1; or ``center``, float64 (D,), and
        ``map``, float64 (D, D).
    source : str
        The text that it was learned from.

    Raises
    ------
    SettingError
        If the vectors are sparse or have no counts.
    """

    def __init__(
        self, vectors: WordVectors, learned: Mapping[str, np.ndarray], source: str = ""
    ) -> None:
        self.vectors, self.learned, self.source = vectors, learned, source
        self.weights = sif_weights(vectors)

    def __repr__(self) -> str:
        how = "mapped" if "map" in self.learned else "less what lines have in common"
        return f"<SentenceVectors of {self.vectors!r}: {how}>"

    @classmethod
    def open(
        cls,
        run: str | os.PathLike[str] | WordVectors,
        kept: str | Path | None = None,
        *,
        mapped: bool = False,
    ) -> "SentenceVectors":
        """Open what a run keeps, or learn it from sentences of its corpus and keep it.

        Parameters
        ----------
        run : str, Path or WordVectors
            A run.
        kept : str or Path, optional
            Another folder that keeps it.
        mapped : bool
            Map the weighted means, instead of subtracting what lines have in common.

        Returns
        -------
        SentenceVectors

        Raises
        ------
        ArtifactError
            If nothing is kept, and the corpus of the run is not found.
        """
        vectors = run if isinstance(run, WordVectors) else load_vectors(run)
        sif_weights(vectors)  # raises if it has none
        folder = vectors.path if kept is None else Path(kept)
        file = None if folder is None else folder / KEPT[mapped]
        if file is not None and file.is_file():
            about, dim = read_json(file), vectors.dim
            shapes = {"center": (dim,), "map": (dim, dim)} if mapped else {"common": (dim,)}
            with contextlib.suppress(AttributeError, TypeError, ValueError):
                arrays = {key: np.array(about.get(key), np.float64) for key in shapes}
                if shapes == {key: array.shape for key, array in arrays.items()}:
                    return cls(vectors, arrays, str(about.get("source")))
            raise ArtifactError(f"{file}: is damaged or of other vectors; delete it")
        remedy = "pass `fit=True` to learn from FILE what lines have in common"
        if file is None:
            raise ArtifactError(f"{vectors.name}: not a run with a corpus; {remedy}")
        corpus = Run.open(file.parent).corpus(remedy=remedy)
        learned = learn(vectors, sentences_of(corpus), str(corpus.path), mapped)
        with contextlib.suppress(OSError, ArtifactError):  # else learned each time, in seconds
            keep(learned, file.parent)
            note(f"{file}: what sentences of {corpus.path} have in common, learned once")
        return learned

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of lines.

        Parameters
        ----------
        texts : sequence of str
            Lines, sentences or documents.

        Returns
        -------
        float32 (n, D)
            Zeros for a line without known words.

        Raises
        ------
        SettingError
            If it is one string, whose characters would be lines.
        """
        if isinstance(texts, str):
            raise SettingError("pass a list of texts, got str")
        means, _ = line_vectors(self, [self.vectors.words(text) for text in texts])
        return means.astype(np.float32)

    def word_vectors(self) -> WordVectors:
        """Return vectors of words whose plain mean is the vector of a line.

        They are in memory, without what vectors of other words are composed of.
        """
        rows = self.weights[:, None] * np.asarray(self.vectors.matrix, np.float64)
        rows = _placed(self.learned, rows)
        name = f"{self.vectors.name}, {'mapped ' if 'map' in self.learned else ''}SIF"
        found = with_matrix(self.vectors, rows.astype(np.float32), name)
        found.path = self.vectors.path
        return found


def learn(
    vectors: WordVectors, lines: Iterable[Sequence[str]], source: str, mapped: bool = False
) -> SentenceVectors:
    """Learn the first singular vector of the weighted means of lines, or a map of them."""
    unfitted = SentenceVectors(vectors, {"common": np.zeros(vectors.dim)}, source)
    if mapped:
        return SentenceVectors(vectors, _learn_map(unfitted, lines), source)
    products, n_lines = np.zeros((vectors.dim, vectors.dim)), 0
    following = iter(lines)
    with threadpool_limits(1, user_api="blas"):  # threads change the last bits of sums
        while block := list(islice(following, _AT_ONCE)):
            means, _ = line_vectors(unfitted, block)
            products += means.T @ means
            n_lines += int(means.any(axis=1).sum())
        if n_lines < 2:
            raise SettingError(
                f"{source}: fewer than two lines have a word of {vectors.name}, so that all they "
                "hold is common to all lines, which `sif` subtracts; pass more lines"
            )
        return SentenceVectors(vectors, {"common": common_direction(products)}, source)


def _learn_map(unfitted: SentenceVectors, lines: Iterable[Sequence[str]]) -> dict[str, np.ndarray]:
    """Learn a map from lines and the next lines, normal vectors with canonical correlations r.

    Directions are multiplied by (r / (1 - r²))½, by which the product of two lines is what they
    add to the log-likelihood ratio of a line and its next to any two lines.
    """
    import scipy.linalg

    dim = unfitted.vectors.dim
    total, alone, beside, n_pairs = np.zeros(dim), np.zeros((dim, dim)), np.zeros((dim, dim)), 0
    following = iter(lines)
    block: list[Sequence[str]] = [[]]
    with threadpool_limits(1, user_api="blas"):  # threads change the last bits of sums
        while len(block := [block[-1], *islice(following, _AT_ONCE)]) > 1:
            means, _ = line_vectors(unfitted, block)
            long = means.any(axis=1) & np.array([len(line) >= _FEWEST for line in block])
            [first] = np.nonzero(long[:-1] & long[1:])
            a, b = means[first], means[first + 1]
            total += (a + b).sum(axis=0)
            alone += a.T @ a + b.T @ b
            beside += a.T @ b + b.T @ a
            n_pairs += len(first)
        if n_pairs < 2 * dim:
            raise SettingError(
                f"{unfitted.source}: {n_pairs} lines of {_FEWEST} words or more are followed by "
                f"such a line, and a map of {dim} dimensions needs {2 * dim}; pass more lines"
            )
        center = total / (2 * n_pairs)
        alone, beside = (
            each / (2 * n_pairs) - np.outer(center, center) for each in (alone, beside)
        )
        alone += _RIDGE * np.trace(alone) * np.eye(dim)  # vectors may span fewer dimensions
        shared, directions = scipy.linalg.eigh(beside, alone)
        shared = np.clip(shared, 0, _HIGHEST)
        return {"center": center, "map": directions * np.sqrt(shared / (1 - shared**2))}


def common_direction(products: np.ndarray) -> np.ndarray:
    """Return the first right singular vector of lines from their products, float64 (D,)."""
    # products: float64 (D, D), X'X of the lines X, not centered
    return np.asarray(np.linalg.eigh(products)[1][:, -1])


def without_direction(lines: np.ndarray, common: np.ndarray) -> np.ndarray:
    """Subtract from each line its projection on a direction, float32 (n, D)."""
    exact = lines.astype(np.float64)
    return np.asarray(exact - np.outer(exact @ common, common), np.float32)


def keep(sentences: SentenceVectors, folder: Path) -> None:
    """Write what was learned into a run."""
    about = {key: array.tolist() for key, array in sentences.learned.items()}
    about["source"] = sentences.source
    write_whole(folder / KEPT["map" in about], lambda path: write_json(path, about))


def line_vectors(sentences: SentenceVectors, lines: Lines) -> tuple[np.ndarray, int]:
    """Return the vectors of lines, float64 (n, D), and how many words have none.

    Words whose vector is composed of n-grams or pieces were never counted, so p = 0.
    """
    from scipy.sparse import csr_array

    vectors = sentences.vectors
    places: dict[str, int] = {}
    flat = np.array([places.setdefault(w, len(places)) for line in lines for w in line], int)
    distinct, owners = list(places), np.repeat(np.arange(len(lines)), [*map(len, lines)])
    rows = vectors.rows(distinct).astype(np.float64)
    if not (finite := np.isfinite(rows).all(axis=1)).all():
        raise not_finite(vectors.name, distinct[int(finite.argmin())])
    numbers = [vectors.row(word) for word in distinct]
    rows *= np.array([1.0 if n is None else sentences.weights[n] for n in numbers])[:, None]
    known = np.asarray(rows.any(axis=1))[flat]
    n_known = np.bincount(owners[known], minlength=len(lines))
    starts = np.concatenate([[0], np.cumsum(n_known)])
    # sums in the order of the words, so that a line alone gets the same bits as in a file
    shape = len(lines), len(distinct)
    words = csr_array((np.ones(starts[-1]), flat[known], starts), shape=shape)
    means = (words @ rows) / np.maximum(n_known, 1)[:, None]
    return _placed(sentences.learned, means), len(flat) - int(starts[-1])


def _placed(learned: Mapping[str, np.ndarray], means: np.ndarray) -> np.ndarray:
    """Subtract from weighted means what lines have in common, or map them; zeros stay zeros."""
    # means: float64 (n, D)
    if "map" not in learned:
        common = learned["common"]
        return np.asarray(means - (means * common).sum(axis=1, keepdims=True) * common)
    moved = np.zeros_like(means)
    for row in np.flatnonzero(means.any(axis=1)):  # one by one, so that the bits are the same
        moved[row] = (means[row] - learned["center"]) @ learned["map"]
    return moved


def sentences_of(corpus: Corpus) -> Iterator[list[str]]:
    """Yield pairs of neighboring sentences of the training text as words, evenly spread.

    After a pair is an empty line; a sentence that ends a document is alone.
    """
    view = corpus.view()
    words, step = view.words, max(1, 2 * int(corpus.manifest["sentences"]) // _SENTENCES)
    parts = zip(view.shards(), view.units_of_tokens("document"), strict=True)
    for (rows, offsets), documents in parts:
        for first in range(0, len(offsets) - 1, step):
            for start, stop in pairwise(offsets[first : first + 3].tolist()):
                if documents[start] == documents[offsets[first]]:
                    yield [words[row] for row in rows[start:stop].tolist()]
            yield []


def encode_lines(
    run: str | os.PathLike[str] | WordVectors,
    source: str | Path,
    out: str | Path,
    *,
    fit: bool = False,
    mapped: bool = False,
    per: str | None = None,
    force: bool = False,
    words_at_once: int = 1 << 18,
) -> SifCounts:
    """Write the vector of each line of a text, or of each document or sentence of a corpus.

    Parameters
    ----------
    run : str, Path or WordVectors
        A run with dense vectors and counts.
    source : str or Path
        A text, a line each; ``-`` for standard input; or a corpus.
    out : str or Path
        A name in ``.npz`` or ``.jsonl``, or without an ending: a folder that
        :meth:`TextSearch.open` takes.
    fit : bool
        First learn what lines have in common from this text, and keep it in the run; a map from
        lines that follow each other, of a corpus from its sentences.
    mapped : bool
        Map the weighted means, instead of subtracting what lines have in common.
    per : {'sentence', 'document'}, optional
        What of a corpus has a vector; by default documents.
    force : bool
        Overwrite an earlier output.
    words_at_once : int
        Words in memory at once.

    Returns
    -------
    SifCounts
        Numbers of lines, of words, and of words without a vector.

    Raises
    ------
    SourceError
        If the text is missing or not UTF-8.
    SettingError
        If the vectors are sparse or have no counts, or standard input is to be fitted.
    ArtifactError
        If ``out`` exists, or the run's corpus is needed and not found.
    """
    source, out = Path(source), Path(out)
    refuse_suffix(out)
    if per is None:
        per = DOCUMENT if source.is_dir() else SENTENCE
    if fit and str(source) == STDIN:
        raise SettingError("`fit=True`: standard input cannot be read twice; pass a file")
    vectors = run if isinstance(run, WordVectors) else load_vectors(run)
    if fit:
        read = batches(vectors.words, source, words_at_once, SENTENCE if mapped else per)
        lines = (line for batch in read for line in batch.lines)
        sentences = learn(vectors, lines, str(source), mapped)
    else:
        sentences = SentenceVectors.open(vectors, mapped=mapped)
    n_words = n_unknown = 0
    about: dict[str, Any] = {"sif": True, "mapped": mapped}
    if not out.suffix:
        about |= encoded_by(Path(os.fspath(vectors)))
    with (
        progress("encoding", "words") as show,
        new_writer(out, per, vectors.dim, force, about) as writer,
    ):
        for batch in batches(vectors.words, source, words_at_once, per):
            rows, unknown = line_vectors(sentences, batch.lines)
            writer.add(batch, rows_of(batch.lines, list(rows[:, None]), writer.form))
            n_words, n_unknown = n_words + sum(map(len, batch.lines)), n_unknown + unknown
            show(n_words)
        if not out.suffix:
            keep(sentences, writer.path)
    if fit and vectors.path is not None:
        keep(sentences, vectors.path)
    return SifCounts(writer.n_lines, n_words, n_unknown)


def sif_weights(vectors: WordVectors) -> np.ndarray:
    """Return a / (a + p) for words of probability p, float64 (V,); raise without counts."""
    if not is_dense(vectors.matrix):
        raise SettingError(f"{vectors.name}: has sparse vectors, which `sif` does not take")
    counts = vectors.counts
    if counts is None or not counts.any():
        raise SettingError(
            f"{vectors.name}: has no counts of words, which `sif` needs; pass a run with counts"
        )
    return weights_of(counts)


def weights_of(counts: np.ndarray, total: float | None = None) -> np.ndarray:
    """Return a / (a + p) for words by counts, of ``total`` tokens if not all, float64 (V,)."""
    total = counts.sum() if total is None else total
    return np.asarray(_SMOOTHING / (_SMOOTHING + counts / total))
