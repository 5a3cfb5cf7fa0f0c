"""Measures which words change between periods, how far, and whether by more than chance."""

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corpora.artifacts.artifact import refuse_existing
from corpora.common.errors import SettingError
from corpora.common.options import config_of
from corpora.common.threads import thread_count
from corpora.store.corpus import Corpus
from embed.change.config import PERMUTATIONS, RESAMPLES, ChangeConfig
from embed.change.contextual import (
    pair_distances,
    prototypes,
    read_occurrences,
    resampled_errors,
)
from embed.change.joint import joint_space
from embed.change.periods import Periods, PeriodText, read_periods, read_texts, two_corpora
from embed.change.permutation import (
    cosine_distances,
    dealt_text,
    permuted_distances,
    pooled_p,
    typical,
)
from embed.change.procrustes import aligned_spaces, bootstrap_errors, interval
from embed.change.result import WordChanges, compared_row
from embed.change.table import ChangeTable, top_shares
from embed.contextual.encoders import open_encoder
from embed.contextual.pooling import parse_layers
from embed.protocols import ContextualEncoder

_Measured = tuple[np.ndarray, dict[str, Any], str | None]

_FEWEST = 10  # documents of a period, below which there are few ways to deal them out


def word_changes(
    corpus: Corpus | str | Path,
    other: Corpus | str | Path | None = None,
    config: ChangeConfig | None = None,
    *,
    by: str | None = None,
    periods: Sequence[str] = (),
    words: Sequence[str] | None = None,
    out: str | Path | None = None,
    force: bool = False,
) -> WordChanges:
    """Measure how words change between periods of a corpus, or between two corpora.

    The distance of a word is 1 - cosine of its vectors in the first and the last period. With
    ``svd-joint`` these are in one space (Levy, Goldberg & Dagan 2015 for the weighting), and p is
    that of a permutation test: the documents with the word are dealt out to the periods at
    random, so that the word keeps its number of tokens in each, and all are counted again. The
    distances of a word are standardized by their own mean and deviation, and compared with those
    of all words of similar frequency. With ``procrustes`` each period has a space of its own, and
    all are rotated onto the first (Hamilton, Leskovec & Jurafsky 2016). With ``contextual`` the
    distance is the mean over pairs of occurrences, one of each period, of the distance of their
    states by an encoder (Giulianelli, Del Tredici & Fernández 2020). Deterministic.

    Parameters
    ----------
    corpus : Corpus, str or Path
        All of its documents count, held-out ones too.
    other : Corpus, str or Path, optional
        A second corpus, which is the later period; then ``by`` and ``periods`` are left out.
    config : ChangeConfig, optional
        The settings.
    by : str
        A kept field of the documents.
    periods : sequence of str
        Two or more values of the field, or ranges of numbers such as ``1840-1869``.
    words : sequence of str, optional
        Words that must be frequent enough, checked before anything is measured. ``contextual``
        compares these only, by default all that are frequent enough.
    out : str or Path, optional
        Directory of the run to make, see :meth:`WordChanges.save`.
    force : bool
        Overwrite a run at ``out``.

    Returns
    -------
    WordChanges
        ``table`` has all words with ``min_count`` tokens in every period.

    Raises
    ------
    SettingError
        Periods have no documents or overlap, the field is no number, or no word is frequent
        enough in every period.
    UnknownWordError
        One of ``words`` is missing or too rare in a period.
    """
    settings = config_of(config, ChangeConfig)
    if out is not None:
        refuse_existing(Path(out), force)
    chosen = _choose(corpus, other, by, periods)
    svd = settings.svd
    view = chosen.view(svd.boundary, svd.punctuation)
    texts = read_texts(chosen, view)
    n_words = min(settings.max_vocabulary, len(view.counts))
    counts = np.array([text.counts[:n_words] for text in texts])
    rows = _tested(counts, settings, chosen.names)
    enough = counts.sum(axis=0) >= settings.min_count * len(texts)
    n_untested = int(enough.sum() - enough[rows].sum())
    vocabulary = view.words[:n_words]
    index = {word: row for row, word in enumerate(vocabulary)}
    asked = [compared_row(each, chosen, index, counts, settings.min_count) for each in words or ()]
    if settings.route == "contextual":  # only the words to compare have vectors
        encoder = open_encoder(str(settings.encoder))
        rows = _readable(np.unique(asked) if asked else rows, vocabulary, encoder)
    shares = np.array([top_shares(text)[rows] for text in texts]).T
    if settings.route == "contextual":
        vocabulary, counts = [vocabulary[row] for row in rows.tolist()], counts[:, rows]
        rows = np.arange(len(rows))
        vectors, measured, no_p = _by_states(chosen, vocabulary, encoder, settings)
    else:
        job = _Job(settings, texts, n_words, rows, counts)
        vectors, measured, no_p = job.joint() if settings.route == "svd-joint" else job.aligned()
        measured["steps"] = _steps(vectors[:, rows], cosine_distances)
    table = ChangeTable(
        periods=chosen.names,
        words=[vocabulary[row] for row in rows.tolist()],
        counts=counts[:, rows].T,
        shares=shares,
        **measured,
    )
    found = WordChanges(
        table=_sorted(table), vectors=vectors, vocabulary=vocabulary, counts=counts,
        n_untested=n_untested, no_p=no_p, config=settings, periods=chosen,
    )  # fmt: skip
    if out is not None:
        found.save(out, force=force)
    return found


def _choose(
    corpus: Corpus | str | Path,
    other: Corpus | str | Path | None,
    by: str | None,
    periods: Sequence[str],
) -> Periods:
    """Open one or two corpora and choose the documents of the periods."""
    opened = [
        each if isinstance(each, Corpus) else Corpus.open(each)
        for each in (corpus, other)
        if each is not None
    ]
    for each in opened:
        if each.sampled is not None:
            raise SettingError(f"{each.path}: is a sample; pass the whole corpus")
        each.verify()
    if len(opened) == 2:
        if by is not None or periods:
            raise SettingError("`by` and `periods` divide one corpus; two are periods themselves")
        return two_corpora(*opened)
    if by is None or not periods:
        raise SettingError("pass two corpora, or one with `by` and `periods`")
    return read_periods(opened[0], by, periods)


def _tested(counts: np.ndarray, settings: ChangeConfig, names: Sequence[str]) -> np.ndarray:
    """Return the rows of the words that are frequent enough in every period."""
    # counts: int64 (K, V)
    if settings.route != "contextual" and settings.dim > counts.shape[1]:
        raise SettingError(
            f"`dim={settings.dim}` is larger than the vocabulary ({counts.shape[1]} words); pass "
            f"`dim={counts.shape[1]}` or less"
        )
    for name, tokens in zip(names, counts.sum(axis=1).tolist(), strict=True):
        if not tokens:
            raise SettingError(f"{name}: its documents have no words that are frequent enough")
    least = counts.min(axis=0)
    rows = np.flatnonzero(least >= settings.min_count)
    if not len(rows):
        most = int(least.max(initial=0))
        remedy = f"pass `min_count={most}`" if most else "they have no word in common"
        raise SettingError(
            f"{', '.join(names)}: no word has {settings.min_count} tokens in each; {remedy}"
        )
    return rows


def _readable(
    rows: np.ndarray, vocabulary: Sequence[str], encoder: ContextualEncoder
) -> np.ndarray:
    """Return the rows of the words that the encoder has pieces for."""
    kept = rows[encoder.covers([vocabulary[row] for row in rows.tolist()])]
    if not len(kept):
        raise SettingError(
            "the encoder knows none of the words that are frequent enough in every period; pass "
            "other `words`, or another `encoder`"
        )
    return kept


def _by_states(
    periods: Periods, words: Sequence[str], encoder: ContextualEncoder, settings: ChangeConfig
) -> _Measured:
    """Measure by the states of an encoder."""
    layers = parse_layers(settings.layers, encoder.n_layers)
    found = read_occurrences(periods, words, encoder, layers, settings.occurrences, settings.seed)
    means = prototypes(found, len(words), len(periods.names))
    distances = pair_distances(means[0], means[-1])
    errors = resampled_errors(
        found, periods, len(words), settings.resamples or RESAMPLES, settings.seed
    )
    low, high = interval(distances, errors)
    columns = {
        "distances": distances, "steps": _steps(means, pair_distances), "low": low, "high": high,
        "prototype": cosine_distances(means[0], means[-1]),
    }  # fmt: skip
    return means, columns, "only `route=svd-joint` has it"


def _steps(
    vectors: np.ndarray, distances: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> np.ndarray:
    """Return distances from each period to the next, float64 (n, K - 1)."""
    # vectors: float32 (K, n, D)
    steps = [distances(a, b) for a, b in itertools.pairwise(vectors)]
    return np.array(steps, np.float64).T


def _sorted(table: ChangeTable) -> ChangeTable:
    """Return a table with its rows in order."""
    order = table.ordered()
    parts = {field.name: getattr(table, field.name) for field in dataclasses.fields(table)}
    parts |= {name: part[order] for name, part in parts.items() if isinstance(part, np.ndarray)}
    return ChangeTable(**{**parts, "words": [table.words[row] for row in order.tolist()]})


@dataclass(frozen=True, eq=False)
class _Job:
    """What both routes need; each returns vectors, columns of the table, and why it has no p."""

    settings: ChangeConfig
    texts: list[PeriodText]
    n_words: int
    rows: np.ndarray  # int64 (n,): words to compare
    counts: np.ndarray  # int64 (K, V)

    def joint(self) -> _Measured:
        """Measure in one space."""
        from scipy.stats import false_discovery_control  # slow to import

        svd, chosen = self.settings.svd, self.settings.permutations
        space = joint_space(self.texts, self.n_words, svd)
        permutations = PERMUTATIONS if chosen is None else chosen
        fewest = min(len(np.unique(text.documents)) for text in self.texts)
        no_p = None if permutations else "`permutations=0`"
        if fewest < _FEWEST:
            no_p = (
                f"a period has {fewest} documents, too few to measure chance, which needs "
                f"{_FEWEST}; pass longer periods, or a corpus of more documents"
            )
        if no_p is not None:
            first, last = space.vectors[0, self.rows], space.vectors[-1, self.rows]
            return space.vectors, {"distances": cosine_distances(first, last)}, no_p
        dealt = dealt_text(self.texts, self.n_words, thread_count(svd.threads))
        distances = permuted_distances(
            dealt, space, self.rows, svd, permutations=permutations, seed=self.settings.seed
        )
        p = pooled_p(distances, self.counts[:, self.rows].min(axis=0))
        q = false_discovery_control(p)  # Benjamini & Hochberg 1995
        chance = typical(distances[:, 1:])
        columns = {"distances": distances[:, 0].astype(np.float64), "p": p, "q": q}
        return space.vectors, columns | {"chance": chance}, None

    def aligned(self) -> _Measured:
        """Measure in aligned spaces."""
        svd, seed = self.settings.svd, self.settings.seed
        shared = np.zeros(self.n_words, bool)
        shared[self.rows] = True
        vectors = aligned_spaces(self.texts, self.n_words, svd, shared)
        chosen = vectors[:, self.rows]
        distances = cosine_distances(chosen[0], chosen[-1])
        columns: dict[str, Any] = {"distances": distances}
        if self.settings.resamples is not None:
            errors = bootstrap_errors(
                self.texts, self.n_words, svd, shared,
                resamples=self.settings.resamples, seed=seed,
            )  # fmt: skip
            columns["low"], columns["high"] = interval(distances, errors[self.rows])
        return vectors, columns, "only `route=svd-joint` has it"
