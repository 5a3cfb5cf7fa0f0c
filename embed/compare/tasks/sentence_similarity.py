"""Similarity of sentences: how well cosines of pooled vectors correlate with human scores."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.parts import set_name
from firth.embed.compare.datasets.scored_sentences import (
    ScoredSentences,
    looks_like_scored_sentences,
    read_scored_sentences,
)
from firth.embed.compare.inputs.encoder_access import encoder_of, static_note
from firth.embed.compare.inputs.long_sentences import long_sentence_note
from firth.embed.compare.statistics.estimators import Correlation
from firth.embed.compare.task import Measurement, Task
from firth.embed.compare.tasks.sentences.inputs import (
    SentenceInputs,
    mean_pool,
    state_means,
    static_sentences,
    words_looked_up,
    words_read,
)
from firth.embed.compare.tasks.similarity import DIGITS, why_undefined
from firth.embed.compare.tasks.tagging.inputs import N_FLAGS, likely_parts
from firth.embed.compare.tasks.words_in_context import pooled_layers
from firth.embed.contextual.sif import weights_of
from firth.embed.protocols import StaticVectors
from firth.embed.vectors.search import nonzero_rows

_STEPS, _CONVERGED = 300, 1e-12  # of the power iteration
_NO_COUNTS = "has no counts of words"


@dataclass(frozen=True)
class SentenceSimilarityTask(Task):
    """Pairs of sentences, scored by correlations of cosines and human scores."""

    dataset: str  # name of the set
    pairs: Sequence[ScoredSentences]
    key = "sentence-similarity"
    skill = "similarity of sentences"
    metrics: ClassVar = {
        "spearman": "rank correlation of human scores and cosines of the words' mean vectors",
        "spearman_sif": "the same of means by frequency, less what the set's sentences share",
    }
    zero_if_unknown = True
    looks = staticmethod(looks_like_scored_sentences)

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "SentenceSimilarityTask":
        """Read a set of sentence pairs."""
        return cls(set_name(path), read_scored_sentences(path))

    def texts(self) -> Iterable[str]:
        """Return all white-space tokens, and the parts they may be split into."""
        tokens = dict.fromkeys(token for words in self.items() for token in words)
        return list(dict.fromkeys(t for token in tokens for t in (token, *likely_parts(token))))

    def items(self) -> Sequence[Sequence[str]]:
        """Return the white-space tokens of each pair."""
        return [f"{pair.a} {pair.b}".split() for pair in self.pairs]

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Correlate cosines with scores: ``spearman``, and ``spearman_sif`` with counts."""
        # items: bool (n_items,)
        chosen = np.flatnonzero(items)
        pairs = [self.pairs[item] for item in chosen.tolist()]
        scores = np.array([pair.score for pair in pairs])
        texts = [text for pair in pairs for text in (pair.a, pair.b)]
        words = [words_looked_up(vectors, text) for text in texts]
        inputs = static_sentences(vectors, words)
        means, note = mean_pool(inputs)[:, :-N_FLAGS], static_note(vectors) or None
        encoder = encoder_of(vectors)
        if encoder is not None:
            read = [words_read(encoder, text) for text in texts]
            layers = pooled_layers(vectors, encoder)
            means = state_means(encoder, read, layers)
            note = f"mean states of layers {', '.join(map(str, layers))}"
            note = "; ".join(filter(None, [note, long_sentence_note(encoder, read)]))
        composed, zero = (
            int(inputs.with_any(each).reshape(-1, 2).any(axis=1).sum())
            for each in (inputs.composed, inputs.zero)
        )
        weighted = _sif_means(vectors, words, inputs)
        cosines = {"spearman": _cosines(means)}
        cosines["spearman_sif"] = np.zeros(0) if weighted is None else _cosines(*weighted)
        return [
            self._measurement(
                metric,
                chosen,
                Correlation(scores, found, ranked=True),
                why_undefined(scores, found) if len(found) else _NO_COUNTS,
                items_composed=composed,
                items_zero=zero,
                note=note if metric == "spearman" else None,
            )
            for metric, found in cosines.items()
        ]


def _sif_means(
    vectors: StaticVectors, words: Sequence[Sequence[str]], inputs: SentenceInputs
) -> tuple[Any, np.ndarray] | None:
    """Return the weighted means of sentences, (n, D), and what they share, float64 (D,).

    Arora et al. 2017, algorithm 1; its step 2 is in the products of :func:`_cosines`, so that
    sparse vectors stay sparse. None without counts.
    """
    import scipy.sparse

    counts = getattr(vectors, "text_counts", None)  # of baselines, by the first run
    counts = getattr(vectors, "counts", None) if counts is None else counts
    if counts is None or not counts.any():
        return None
    by_row = weights_of(counts)
    forms = dict.fromkeys(word for each in words for word in each)  # the rows of the table
    rows = [vectors.row(cut[0]) if len(cut := vectors.words(form)) == 1 else None for form in forms]
    weights = np.array([1.0 if row is None else by_row[row] for row in rows])
    bags, table = inputs.bags, inputs.table[:, :-N_FLAGS].astype(np.float64)
    known = nonzero_rows(table)[bags.rows].astype(np.float64)
    shape = len(bags.lengths), table.shape[0]
    n_known = scipy.sparse.csr_array((known, bags.rows, bags.offsets), shape=shape).sum(axis=1)
    shares = weights[bags.rows] / np.repeat(np.maximum(n_known, 1), bags.lengths)
    means = scipy.sparse.csr_matrix((shares, bags.rows, bags.offsets), shape=shape) @ table
    return means, _first_singular_vector(means)


def _first_singular_vector(rows: Any) -> np.ndarray:
    """Return the first right singular vector, float64 (D,), by power iteration."""
    # rows: float64 (n, D), dense or CSR
    vector = np.ones(rows.shape[1])
    with threadpool_limits(1, user_api="blas"):  # threads change the last bits of sums
        for _ in range(_STEPS):
            product = rows.T @ (rows @ vector)
            before, vector = vector, product / (np.linalg.norm(product) or 1.0)
            if np.abs(vector - before).max() < _CONVERGED:
                break
    return vector


def _cosines(rows: Any, shared: np.ndarray | None = None) -> np.ndarray:
    """Return the cosine of each two rows, without their projections on a shared direction."""
    # rows: (2 n, D), dense or CSR; returns float64 (n,), 0 if a row is zero
    a, b = (half.astype(np.float64) for half in (rows[::2], rows[1::2]))

    def products(one: Any, other: Any) -> np.ndarray:
        each = one * other if isinstance(one, np.ndarray) else one.multiply(other)
        sums = np.asarray(each.sum(axis=1)).ravel()
        return sums if shared is None else sums - (one @ shared) * (other @ shared)

    squares = products(a, a) * products(b, b)
    least = np.finfo(np.float64).eps * np.asarray(squares.max(initial=0))
    return np.asarray(products(a, b) / np.sqrt(np.where(squares > least, squares, np.inf))).round(
        DIGITS
    )
