"""Why two words are near: the contexts that they share, and how much each is worth."""

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.common.display import Table
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.store.concordance import Line, lines_of, require_at_least
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.search import Hits, Search
from firth.embed.contextual.encoders import open_encoder
from firth.embed.protocols import ContextualEncoder, MaskFiller
from firth.embed.runs.run import Run, corpus_at
from firth.embed.svd.train import METHOD as SVD
from firth.embed.svd.train import SvdConfig, weighted_matrix
from firth.embed.vectors.neighbors import similarity
from firth.embed.vectors.word_vectors import WordVectors

_MASK = "[MASK]"
_SENTENCES = 40  # of each word, in which a masked LM predicts it
_SIDE = 40  # words on each side that it reads
_PREDICTED = 1000  # pieces of each sentence
_TRIED = 2000  # occurrences of a word
_WIDTH = 8  # words on each side of a line, in which the context is


@dataclass(frozen=True)
class SharedContext:
    """A context of both words."""

    context: str
    first: float  # its weight for the first word
    second: float
    share: float  # of the similarity by contexts
    lines: tuple[Line | None, Line | None]  # the context near each word, if a corpus is given


@dataclass(frozen=True, repr=False)
class Why(Table):
    """Two words with their similarity and the contexts behind it."""

    words: tuple[str, str]
    cosine: float  # of the vectors
    by_contexts: float  # the same by contexts alone, of which `contexts` have shares
    measure: str  # what the weights are
    contexts: list[SharedContext]  # largest share first
    _listed = ("contexts",)

    def __repr__(self) -> str:
        return f"<Why {self.words[0]} and {self.words[1]}: cosine {self.cosine:.4f}>"


@dataclass(frozen=True)
class _Weights:
    """The weights of all contexts for two words, scaled so that their products are shares."""

    names: Any  # a sequence of str
    weights: np.ndarray  # float64 (2, n_contexts), as shown
    products: np.ndarray  # float64 (n_contexts,), which add up to the similarity
    measure: str
    hits: np.ndarray | None = None  # int64 (2, n_contexts), where a masked LM predicts each most


def why_near(
    run: str | os.PathLike[str],
    first: str,
    second: str,
    *,
    corpus: Corpus | str | Path | None = None,
    top: int | None = 10,
    seed: int = 1,
    cite: str | None = None,
) -> Why:
    """Return the contexts that make two words similar.

    Count-based vectors: the cosine of the words' rows of the weighted matrix is a sum over
    contexts; it is exact for the matrix, which the run then cuts to its dimensions. Skip-gram and
    CBOW: the same with max(w.c, 0), which estimates shifted positive PMI (Levy and Goldberg
    2014). Masked LM: the pieces it predicts in place of each word, averaged over
    sentences; the sum of sqrt(p q) is the overlap of both distributions (Bhattacharyya).

    Parameters
    ----------
    run : str or Path
        A run of ``train_svd``, ``train_skipgram``, ``train_cbow`` or ``train_mlm``.
    first, second : str
        Words that have a vector.
    corpus : Corpus, str or Path, optional
        The corpus of the run, if it was moved. Without a corpus there are no
        sentences, and count-based vectors and masked LMs cannot be explained.
    top : int, optional
        Contexts to return; all with None.
    seed : int
        Seed of the choice of sentences.
    cite : str, optional
        Fields by which sentences say where they are from, as in ``concordance``.

    Returns
    -------
    Why
        With ``cosine``, ``by_contexts`` and ``contexts``, the largest share first.

    Raises
    ------
    UnknownWordError
        A word has no vector.
    SettingError
        An option is out of range, or the run counts pieces.
    ArtifactError
        The run has no contexts to show, or its corpus is needed and not found.
    """
    explainer = Explainer(run, corpus, cite=cite)
    return explainer.why(first, second, top=top, seed=seed)


class Explainer:
    """Answers :func:`why_near` for one run; the matrix, the text and the encoder stay open."""

    def __init__(
        self,
        run: str | os.PathLike[str],
        corpus: Corpus | str | Path | None = None,
        *,
        tried: int = _TRIED,
        cite: str | None = None,
    ) -> None:
        self._run = Path(run)
        self._given = corpus
        self._tried = tried
        self._cite = cite

    def why(self, first: str, second: str, *, top: int | None = 10, seed: int = 1) -> Why:
        """Do what :func:`why_near` does."""
        require_at_least(1, top=top)
        require_at_least(0, seed=seed)
        words = (first, second)
        cosine = similarity(self._vectors, *words)
        found = self._weights(words, seed)
        total = float(found.products.sum())
        best = np.argsort(-found.products, kind="stable")[:top]
        best = best[found.products[best] > 0]
        lines = self._lines(words, found, best, seed)
        shared = [
            SharedContext(
                context=found.names[each],
                first=float(found.weights[0, each]),
                second=float(found.weights[1, each]),
                share=float(found.products[each] / total),
                lines=pair,
            )
            for each, pair in zip(best.tolist(), lines, strict=True)
        ]
        return Why(words, cosine, total, found.measure, shared)

    @cached_property
    def encoder(self) -> ContextualEncoder:
        """The encoder of the run; raise ArtifactError if it has none."""
        return open_encoder(self._run)

    @cached_property
    def _vectors(self) -> WordVectors:
        return WordVectors.open(self._run)

    @cached_property
    def _described(self) -> Run:
        return Run.open(self._run)

    @cached_property
    def _corpus(self) -> Corpus:
        """What the run was trained on, which may be a sample."""
        if self._given is None:
            return self._described.corpus()
        given = self._given.path if isinstance(self._given, Corpus) else self._given
        corpus_at(given, [self._described])
        return self._described.corpus([given])

    @cached_property
    def _search(self) -> Search | None:
        """The whole text; None if no corpus is given and its own is not found."""
        try:
            return self._required_search
        except ArtifactError:
            if self._given is not None:
                raise
            return None

    @cached_property
    def _required_search(self) -> Search:
        """The whole text; raise if it is not found."""
        return Search(Corpus.open(self._corpus.path))

    def _weights(self, words: tuple[str, str], seed: int) -> _Weights:
        """Return the weights of contexts by the method of the run."""
        if self._described.method == SVD:
            return self._of_counts(words)
        if self._vectors.contexts is not None:
            return _of_predictions(self._vectors, words)
        encoder: object = None
        with contextlib.suppress(ArtifactError):
            encoder = self.encoder
        if isinstance(encoder, MaskFiller):
            return _of_masks(encoder, words, self._required_search, seed)
        raise ArtifactError(
            f"{self._run}: has no contexts to show; pass a run of `train_svd()`, of `train_mlm()` "
            "with `objective=masked`, or of `train_skipgram()` or `train_cbow()` with negative "
            "sampling"
        )

    def _lines(
        self, words: tuple[str, str], found: _Weights, contexts: np.ndarray, seed: int
    ) -> list[tuple[Line | None, Line | None]]:
        """Return lines of both words for each context: with it near, or where it is likeliest."""
        if (search := self._search) is None:
            return [(None, None)] * len(contexts)
        columns = []
        for number, word in enumerate(words):
            if found.hits is None:
                names = [found.names[each] for each in contexts.tolist()]
                hits = _near(search, word, names, self._tried, seed)
            else:
                hits = [Hits(at, at + 1) for at in found.hits[number, contexts, None]]
            samples = [lines_of(search, each.sample(1, seed), _WIDTH, self._cite) for each in hits]
            columns.append([next(iter(sample), None) for sample in samples])
        return list(zip(*columns, strict=True))

    def _of_counts(self, words: tuple[str, str]) -> _Weights:
        """Return the rows of two words of the matrix that the run factored."""
        config = self._described.settings(SvdConfig)
        if config.pieces is not None:
            raise SettingError(f"{self._run}: counts pieces of words; pass a run without `pieces`")
        names, matrix = self._matrix
        rows = np.stack([matrix[names.index(word)].toarray()[0] for word in words])
        rows = rows.astype(np.float64)
        return _Weights(names, rows, _cosine_products(rows), config.weighting.replace("-", " "))

    @cached_property
    def _matrix(self) -> tuple[list[str], Any]:
        """The matrix that the run factored, float32 CSR (V, V), with the words of its rows."""
        config = self._described.settings(SvdConfig)
        self._corpus.verify()
        return weighted_matrix(self._corpus, config)


def _of_predictions(vectors: WordVectors, words: tuple[str, str]) -> _Weights:
    """Return how strongly two words predict each context word."""
    contexts = np.asarray(vectors.contexts)
    own = np.stack([vectors[word] for word in words])
    weights = np.maximum((own @ contexts.T).astype(np.float64), 0)
    return _Weights(
        vectors.vocabulary, weights, _cosine_products(weights), "estimated shifted PPMI"
    )


def _of_masks(encoder: MaskFiller, words: tuple[str, str], search: Search, seed: int) -> _Weights:
    """Return how likely an encoder finds each piece in place of two words."""
    number_of: dict[str, int] = {}
    found: list[dict[int, tuple[float, float, int]]] = []  # mean, most, and where
    for word in words:
        hits = search.of_word(word).sample(_SENTENCES, seed)
        likely: dict[int, tuple[float, float, int]] = {}
        for start, left, right in zip(hits.starts.tolist(), *_sides(search, hits), strict=True):
            for piece, probability in _predict(encoder, left, right):
                number = number_of.setdefault(piece, len(number_of))
                mean, most, where = likely.get(number, (0.0, -1.0, start))
                most, where = max((most, where), (probability, start))
                likely[number] = mean + probability / len(hits), most, where
        found.append(likely)
    weights, places = np.zeros((2, len(number_of))), np.full((2, len(number_of)), -1)
    for row, place, likely in zip(weights, places, found, strict=True):
        row[list(likely)] = [mean for mean, _, _ in likely.values()]
        place[list(likely)] = [where for _, _, where in likely.values()]
    products = np.sqrt(weights[0] * weights[1])
    return _Weights(list(number_of), weights, products, "probability when masked", places)


def _sides(search: Search, hits: Hits) -> tuple[list[list[str]], list[list[str]]]:
    """Return the words before and after each hit, in its sentence."""
    sentences = search.sentences_of(hits.starts)
    firsts = np.maximum(search.sentence_starts[sentences], hits.starts - _SIDE)
    lasts = np.minimum(search.sentence_starts[sentences + 1], hits.stops + _SIDE)
    return search.words(firsts, hits.starts), search.words(hits.stops, lasts)


def _predict(encoder: MaskFiller, left: list[str], right: list[str]) -> Sequence[tuple[str, float]]:
    """Return predictions between some words, of which as many are read as fit in a row."""
    while True:
        try:
            return encoder.fill_mask(" ".join([*left, _MASK, *right]), _PREDICTED)[0]
        except SettingError:
            if not left and not right:
                raise
        left, right = left[len(left) // 2 + 1 :], right[: len(right) // 2]


def _cosine_products(rows: np.ndarray) -> np.ndarray:
    """Return the products of two rows that add up to their cosine, float64 (n_contexts,)."""
    # rows: float64 (2, n_contexts)
    lengths = np.linalg.norm(rows, axis=1).prod()
    return np.asarray(rows[0] * rows[1] / (lengths or 1.0))


def _near(search: Search, word: str, contexts: Sequence[str], tried: int, seed: int) -> list[Hits]:
    """Return occurrences of a word with each context in the same sentence, if possible of few."""
    every = search.of_word(word)
    few = every.sample(tried, seed)
    found = []
    for context in contexts:
        others = search.of_word(context)
        some = search.near(few, others, _WIDTH, unit="sentence")
        found.append(some if len(some) else search.near(every, others, _WIDTH, unit="sentence"))
    return found
