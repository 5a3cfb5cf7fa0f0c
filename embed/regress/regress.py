"""Regression of what a word means on the covariates of its documents."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.common.display import TableList
from firth.corpora.common.errors import SettingError
from firth.corpora.common.options import ALL, many
from firth.corpora.common.reporting import note, progress
from firth.corpora.store.concordance import Line, lines_of
from firth.corpora.store.corpus import Corpus, is_corpus
from firth.corpora.store.fields import kept_field, require_field
from firth.corpora.store.search import Hits, Search
from firth.embed.contextual.encoders import open_encoder
from firth.embed.contextual.pooling import AUTO, parse_layers
from firth.embed.contextual.states import states_at
from firth.embed.formats.vector_files import load_vectors
from firth.embed.protocols import ContextualEncoder
from firth.embed.regress.config import (
    A_LA_CARTE,
    BOTH,
    DOCUMENT,
    OCCURRENCE,
    STATES,
    RegressConfig,
)
from firth.embed.regress.covariates import (
    Group,
    read_covariates,
    read_terms,
)
from firth.embed.regress.least_squares import Cells, Fit
from firth.embed.regress.meanings import FEWEST, Meanings
from firth.embed.regress.occurrences import Surroundings, find_topic, rows_of
from firth.embed.regress.result import Regression
from firth.embed.regress.transform import (
    Transform,
    TransformSettings,
    open_transform,
    read_transform,
)
from firth.embed.runs.run import Run
from firth.embed.vectors.neighbors import known_word, vector_of
from firth.embed.vectors.search import unit_length
from firth.embed.vectors.word_vectors import WordVectors

_SIDE = 12  # words of a line on each side
_WINDOW = 5  # of vectors that do not say what theirs was
_MOST, _MOST_STATES = 100_000, 2_000  # occurrences


def regress(
    place: str | os.PathLike[str],
    topics: str | Sequence[str],
    by: str,
    config: RegressConfig | None = None,
    *,
    vectors: str | os.PathLike[str] | None = None,
    transform: str | os.PathLike[str] | None = None,
    corpora: Sequence[str | Path] = (),
    words: str | Sequence[str] = (),
    k: int = 10,
    lines: int = 2,
    cite: str | None = None,
) -> list[Regression]:
    """Regress the vectors of a word's occurrences on the fields of their documents.

    The vector of an occurrence is A u: the mean u of the vectors of the words around it, and the
    matrix A that maps such means of frequent words to their vectors, estimated from the same text
    (Khodak et al. 2018; Rodriguez, Spirling & Stewart 2023, "Embedding Regression").

    Parameters
    ----------
    place : str or Path
        A run, or a corpus with ``vectors``.
    topics : str or sequence of str
        Each a word, a phrase, or a pattern such as ``immigr*``; commas join several to one topic.
    by : str
        Kept fields, such as ``party,year``. ``party*year`` stands for both and their product.
        Fields of numbers or ISO dates are used as numbers, others as levels.
    config : RegressConfig, optional
        Settings.
    vectors : str or Path, optional
        A run or file of vectors for a corpus.
    transform : str or Path, optional
        A file with A, which is estimated otherwise.
    corpora : sequence of str or Path
        Where the corpus of a run is, if it was moved.
    words : str or sequence of str
        Words whose cosines with each group are shown.
    k : int
        Nearest words of each group.
    lines : int
        Occurrences to show of each group.
    cite : str, optional
        Kept fields that lines are cited by.

    Returns
    -------
    list of Regression
        One for each topic, and for each source.

    Raises
    ------
    SettingError
        If a field is not kept, or is known from others, or there are too few documents.
    UnknownWordError
        If a word is not in the corpus, or one of ``words`` has no vector.
    """
    config = config or RegressConfig()
    sources = [A_LA_CARTE, STATES] if config.source == BOTH else [config.source]
    opened = _Opened(Path(place), by, config, vectors, transform, corpora)
    for word in many(words):
        vector_of(opened.vectors, word)  # or it is refused
    asked = rows_of(opened.vectors, (known_word(opened.vectors, word) for word in many(words)))
    return TableList(
        [
            opened.regress(topic, source, asked, k, lines, cite)
            for source in sources
            for topic in many(topics)
        ]
    )


class _Opened:
    """A corpus with vectors for the occurrences of its words."""

    def __init__(
        self,
        place: Path,
        by: str,
        config: RegressConfig,
        vectors: Any,
        transform: Any,
        corpora: Any,
    ) -> None:
        if is_corpus(place) and vectors is None:
            raise SettingError(f"{place}: is a corpus; pass a run of it, or `vectors`")
        self._config, self._place, self._given = config, place, transform
        self.vectors: WordVectors = load_vectors(place if vectors is None else vectors)
        self._run = None if self.vectors.path is None else Run.open(self.vectors.path)
        if is_corpus(place):
            self._corpus = Corpus.open(place)
        elif self._run is None:
            raise SettingError(f"{place}: is no run with a corpus; pass a corpus and `vectors`")
        else:
            self._corpus = self._run.corpus(corpora)
        self._by, self._terms = by, read_terms(self._corpus, by)  # refused before what takes long
        if config.cluster not in {DOCUMENT, OCCURRENCE}:
            require_field(self._corpus, config.cluster)
        self._search = Search(self._corpus)
        trained = self._run.options.get("window") if self._run else None
        usual = trained if isinstance(trained, int) and trained != ALL else _WINDOW
        self._window = config.window or usual
        self._near = Surroundings(self._search, self.vectors, self._window)

    @cached_property
    def _transform(self) -> Transform:
        """The matrix that makes vectors of the means around occurrences."""
        if self._given is not None:
            return read_transform(self._given, self.vectors.dim)
        settings = TransformSettings(self._window, self._config.weights, self._config.min_count)
        return open_transform(self.vectors, self._corpus, settings)

    @cached_property
    def _encoder(self) -> ContextualEncoder:
        """The encoder whose states are read."""
        return open_encoder(self._place)

    def regress(
        self, topic: str, source: str, asked: np.ndarray, k: int, lines: int, cite: str | None
    ) -> Regression:
        """Regress the occurrences of a topic."""
        config = self._config
        transform = None if source == STATES else self._transform
        hits = self._sampled(topic, source, find_topic(self._search, topic))
        near, offsets = self._near.around(hits)
        rows = self._states(hits) if transform is None else self._near.means(near, offsets)
        known = np.isfinite(rows).all(axis=1)
        if not known.all():
            note(
                f"{topic}: {int((~known).sum()):,} of {len(hits):,} occurrences have no known word "
                "near: left out"
            )
        documents, places = np.unique(
            self._search.documents_of(hits.starts[known]), return_inverse=True
        )
        covariates, complete = read_covariates(self._corpus, self._terms, documents)
        known[known] = complete[places]
        candidates = np.unique(near[np.repeat(known, np.diff(offsets))])
        hits, rows, documents = hits[known], rows[known], documents[complete]
        places = (np.cumsum(complete) - 1)[places[complete[places]]]
        clusters = self._clusters(documents, places)
        n_clusters = int(clusters.max()) + 1
        if n_clusters < len(covariates.names) + FEWEST:
            raise SettingError(
                f"{topic}: {len(hits):,} occurrences in {n_clusters:,} clusters by "
                f"{config.cluster} that have these fields, too few for {len(covariates.names)} "
                "coefficients; pass another word, or fewer fields"
            )
        covariates.keep_distinct()
        design = covariates.design()
        cells = _cells(design, places, rows, clusters)
        if transform is not None:
            cells = replace(cells, sums=cells.sums @ transform.matrix.T)
        fit = Fit(cells, config.groups, config.seed)
        groups = covariates.groups(places, clusters)
        meanings = Meanings(fit, self.vectors, groups, config.permutations)
        if rows.shape[1] != self.vectors.dim:
            note(
                f"states have {rows.shape[1]} dimensions and the vectors {self.vectors.dim}, so no "
                "words are near; pass `vectors` of `pool_run()` with `source=states`"
            )
            candidates = asked = candidates[:0]

        def lines_near(group: Group, vector: np.ndarray) -> list[Line]:
            inside = np.flatnonzero(group.members[places])
            vectors = rows[inside] if transform is None else rows[inside] @ transform.matrix.T
            cosines = unit_length(vectors.astype(np.float64)) @ vector
            best = inside[np.argsort(-cosines, kind="stable")[:lines]]
            return lines_of(self._search, hits[best], _SIDE, cite)

        described, ratios = meanings.groups(candidates, asked, k, lines_near)
        return Regression(
            topic, self._by, source, self._window, len(hits), len(documents), n_clusters,
            config.cluster, covariates.references,
            meanings.coefficients(covariates.names, covariates.clusters_of(places, clusters)),
            described, ratios, None if transform is None else transform.about(), fit.coefficients,
        )  # fmt: skip

    def _sampled(self, topic: str, source: str, hits: Hits) -> Hits:
        """Return the occurrences that are read."""
        most = self._config.occurrences or (_MOST_STATES if source == STATES else _MOST)
        if len(hits) > most:
            note(f"{topic}: a random {most:,} of {len(hits):,} occurrences")
        return hits.sample(most, self._config.seed)

    def _states(self, hits: Hits) -> np.ndarray:
        """Return the states of the first words of occurrences, float32 (n, D)."""
        encoder = self._encoder
        layers = parse_layers(AUTO, encoder.n_layers)
        rows = np.full((len(hits), encoder.encode([[]], layers)[0].shape[1]), np.nan, np.float32)
        with progress("encoding", "occurrences") as show:
            n_done = 0
            for chosen, states in states_at(self._search, hits.starts, encoder, layers):
                rows[chosen] = states
                show(n_done := n_done + len(chosen), len(hits))
        return rows

    def _clusters(self, documents: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return the cluster of each occurrence, int64 (n,), from 0."""
        # documents: int64 (m,); places: int64 (n,), of occurrences among these
        if self._config.cluster == OCCURRENCE:
            return np.arange(len(places))
        if self._config.cluster == DOCUMENT:
            return places
        values = np.array(kept_field(self._corpus, self._config.cluster), object)[documents]
        named = [value or f"\n{number}" for number, value in enumerate(values)]  # or its own
        return np.asarray(np.unique(named, return_inverse=True)[1][places])


def _cells(design: np.ndarray, places: np.ndarray, rows: np.ndarray, clusters: np.ndarray) -> Cells:
    """Add up occurrences of the same cluster and covariates."""
    # design: float64 (m, k), of documents; places, clusters: int64 (n,); rows: float32 (n, D)
    distinct, kinds = np.unique(design, axis=0, return_inverse=True)
    keys = clusters * len(distinct) + kinds.ravel()[places]
    order = np.argsort(keys, kind="stable")
    cells, firsts, sizes = np.unique(keys[order], return_index=True, return_counts=True)
    sums = np.add.reduceat(rows[order], firsts, axis=0, dtype=np.float64)
    return Cells(
        distinct[cells % len(distinct)], sizes.astype(np.float64), sums, cells // len(distinct)
    )
