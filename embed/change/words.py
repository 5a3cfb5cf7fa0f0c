"""Measures which words change between periods, how far, and whether by more than chance."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.artifact import refuse_existing
from firth.corpora.common.errors import SettingError, UnknownWordError
from firth.corpora.common.options import config_of, many
from firth.corpora.store.corpus import Corpus, is_corpus
from firth.corpora.store.view import StoredText
from firth.embed.align.pairs import shared_pairs
from firth.embed.change.config import MOST_WORDS, ChangeConfig, refuse_training
from firth.embed.change.periods import (
    Periods,
    period_names,
    read_periods,
    read_texts,
    two_corpora,
)
from firth.embed.change.result import TooRareError, WordChanges
from firth.embed.change.routes import ComparedPeriods, measure
from firth.embed.change.saved import is_change, open_changes
from firth.embed.change.table import ChangeTable, top_shares
from firth.embed.formats.vector_files import load_vectors
from firth.embed.runs.run import Run
from firth.embed.vectors.word_vectors import WordVectors


def word_changes(
    corpus: Corpus | WordVectors | str | Path,
    other: Corpus | WordVectors | str | Path | None = None,
    config: ChangeConfig | None = None,
    *,
    by: str | None = None,
    periods: Sequence[str] = (),
    within: Sequence[str] = (),
    words: Sequence[str] | None = None,
    require: Sequence[str] = (),
    out: str | Path | None = None,
    force: bool = False,
) -> WordChanges:
    """Measure how words change between periods of a corpus, or between two corpora.

    The distance of a word is 1 - cosine of its vectors in the first and the last period. With
    ``svd-joint`` these are in one space (Levy, Goldberg & Dagan 2015 for the weighting), and p is
    that of a permutation test: the documents with the word are dealt out to the periods at
    random, so that the word keeps its number of tokens in each, and all are counted again. The
    distances of a word are standardized by their own mean and deviation, and compared with those
    of all words of similar frequency. With ``procrustes`` each period has a space of its own, by
    any ``method``, and all are rotated onto the first (Hamilton, Leskovec & Jurafsky 2016). With
    ``contextual`` the vectors are means of states by an encoder, the prototypes (Kutuzov &
    Giulianelli 2020), and the mean over pairs of occurrences, one of each period, is beside their
    distance (Giulianelli, Del Tredici & Fernández 2020). Deterministic.

    Parameters
    ----------
    corpus : Corpus, WordVectors, str or Path
        All of its documents count, held-out ones too. A run made by ``out`` is opened again.
    other : Corpus, WordVectors, str or Path, optional
        A second corpus, which is the later period; then ``by`` and ``periods`` are left out. Both
        may be vectors, of runs or files, which ``procrustes`` compares. The corpora of two runs
        are read; other vectors have no counts and sentences.
    config : ChangeConfig, optional
        The settings.
    by : str
        A kept field of the documents.
    periods : sequence of str
        Two or more values of the field, or ranges of numbers such as ``1840-1869``, or
        decades such as ``1840s``; ISO dates count by their year.
    within : sequence of str
        Kept fields, such as genre. Documents are dealt out only among those that are alike in
        them, so that other shares of genres in the later period are no change of words. Documents
        of which there are none alike in another period are left out, and those without a value.
    words : sequence of str, optional
        The words that are asked for: no others are compared, unless a run is made. p of
        ``svd-joint`` is then by the permutations of each word alone, and q is corrected for the
        number of these words. By default all that are frequent enough.
    require : sequence of str
        Further words that must be compared.
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
        Periods have no documents or overlap, the field is no number, settings exclude each other,
        or no word is frequent enough in every period.
    ArtifactError
        The corpus of a run is not found.
    UnknownWordError
        None of ``words`` is in the vocabulary or, with ``contextual``, can be compared, or one of
        ``require`` cannot.
    """
    settings = config_of(config, ChangeConfig)
    if out is not None:
        refuse_existing(Path(out), force)
    if other is None and isinstance(corpus, str | Path) and is_change(corpus):
        if config is not None or by is not None or periods or within or out is not None:
            raise SettingError(
                f"{corpus}: is a finished run, which has its settings; leave out all but words, "
                "or pass its corpus to compare anew"
            )
        return open_changes(Path(corpus))
    vectors = _open_vectors(corpus, other)
    settings = _with_route(settings, vectors)
    if within and (vectors or other is not None or settings.route not in (None, "svd-joint")):
        raise SettingError(
            "`within` deals out the documents of one corpus by `route=svd-joint`; leave it out"
        )
    if vectors and (by is not None or periods):
        raise SettingError("`by` and `periods` divide one corpus; vectors are periods themselves")
    runs = [Run.open(each.path) for each in vectors if each.path is not None]
    if vectors and not (len(runs) == 2 and all(run.corpus_checksum for run in runs)):
        compared = _shared_words(vectors, settings)
    else:
        remedy = "pass the corpora instead of the runs"
        corpora: list[Any] = [run.corpus(remedy=remedy) for run in runs] or [corpus, other]
        compared = _frequent_words(
            _choose(corpora, by, many(periods), many(within)), settings, trained=vectors
        )
    needed = [compared.row(word) for word in many(require)]
    missing: list[UnknownWordError] = []  # of which a row says so
    for word in many(words or ()):
        try:
            needed.append(compared.row(word))
        except UnknownWordError as error:
            missing.append(error)
    rare = any(isinstance(error, TooRareError) for error in missing)
    if missing and not needed and (not rare or settings.route == "contextual"):
        raise missing[0]
    only = bool(words) and (out is None or settings.route == "contextual")
    found = measure(dataclasses.replace(compared, needed=needed, only=only), vectors)
    counts = compared.counts[:, found.rows]
    shares = [top_shares(text)[found.rows] for text in compared.texts]
    table = ChangeTable(
        periods=compared.periods.names,
        words=compared.names(found.rows),
        counts=counts.T,
        shares=np.reshape(shares, counts.shape).T,
        **found.columns,
    )
    kept = found.rows if settings.route == "contextual" else np.arange(len(compared.words))
    changes = WordChanges(
        table=_sorted(table), vectors=found.vectors, vocabulary=compared.names(kept),
        counts=compared.counts[:, kept], n_untested=compared.n_untested, no_p=found.no_p,
        config=settings, periods=compared.periods, recipe=found.recipe,
    )  # fmt: skip
    if out is not None:
        changes.save(out, force=force)
    return changes


def _open_vectors(*given: Any) -> list[WordVectors]:
    """Open both of what is compared if they are vectors; none if one is a corpus."""
    paths = [each for each in given if isinstance(each, str | Path)]
    if None in given or Corpus in map(type, given) or any(is_corpus(Path(each)) for each in paths):
        return []
    vectors = [load_vectors(v, verified=True) if v in paths else v for v in given]
    first, second = (Path(each.path or each.name) for each in vectors)
    if first.resolve() == second.resolve():
        raise SettingError(f"{first}: is compared with itself; pass vectors of another name")
    return vectors


def _with_route(settings: ChangeConfig, vectors: Sequence[WordVectors]) -> ChangeConfig:
    """Return the settings with the route that corpora or vectors have by default."""
    route = settings.route or ("procrustes" if vectors else "svd-joint")
    if vectors and route != "procrustes":
        names = " and ".join(each.name for each in vectors)
        raise SettingError(
            f"{names} are vectors, which `route=procrustes` compares; pass it, or corpora"
        )
    if vectors:
        refuse_training(settings, "vectors, which are trained already")
    return dataclasses.replace(settings, route=route)


def _shared_words(vectors: Sequence[WordVectors], settings: ChangeConfig) -> ComparedPeriods:
    """Return what is compared of vectors without texts: the words that both have."""
    if settings.min_count != ChangeConfig.min_count:
        raise SettingError("`min_count` has no effect on vectors without counts; leave it out")
    pairs = shared_pairs(vectors[0], vectors[1], None)
    words = [vectors[0].vocabulary[row] for row in pairs.a[:MOST_WORDS].tolist()]
    no_counts = np.zeros((0, len(words)), np.int64)
    names = period_names([v.path or Path(v.name) for v in vectors])
    no_text = StoredText(None, [], None)  # type: ignore[arg-type]
    periods = Periods(names, [], no_text, np.zeros(0, np.int64))
    return ComparedPeriods(
        periods, [], words, no_counts, np.arange(len(words)), settings,
        n_untested=len(pairs) - len(words),
    )  # fmt: skip


def _frequent_words(
    periods: Periods, settings: ChangeConfig, *, trained: Sequence[WordVectors]
) -> ComparedPeriods:
    """Return what is compared of periods: the words that are frequent enough in all of them."""
    training = settings.training
    view = periods.view(training.boundary, training.punctuation)
    texts = read_texts(periods, view)
    n_words = min(MOST_WORDS, len(view.counts))
    counts = np.array([text.counts[:n_words] for text in texts])
    trains_svd = settings.route != "contextual" and settings.trains_svd and not trained
    if trains_svd and training.dim > n_words:
        raise SettingError(
            f"`dim={training.dim}` is larger than the vocabulary ({n_words} {periods.noun}s); pass "
            f"`dim={n_words}` or less"
        )
    rows = _tested(counts, settings, periods)
    enough = counts.sum(axis=0) >= settings.min_count * len(texts)
    return ComparedPeriods(
        periods, texts, view.words[:n_words], counts, rows, settings,
        n_untested=int(enough.sum() - enough[rows].sum()),
    )  # fmt: skip


def _choose(
    given: Sequence[Any], by: str | None, periods: Sequence[str], within: Sequence[str]
) -> Periods:
    """Open one or two corpora, and choose the documents of the periods."""
    present = [each for each in given if each is not None]
    opened = [Corpus.open(each) for each in present]
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
    return read_periods(opened[0], by, periods, within)


def _tested(counts: np.ndarray, settings: ChangeConfig, periods: Periods) -> np.ndarray:
    """Return the rows of the words that are frequent enough in every period."""
    # counts: int64 (K, V)
    for name, tokens in zip(periods.names, counts.sum(axis=1).tolist(), strict=True):
        if not tokens:
            raise SettingError(f"{name}: its documents have no frequent {periods.noun}s")
    least = counts.min(axis=0)
    rows = np.flatnonzero(least >= settings.min_count)
    if not len(rows):
        most = int(least.max(initial=0))
        remedy = f"pass `min_count={most}`" if most else f"they have no {periods.noun} in common"
        raise SettingError(
            f"no {periods.noun} occurs {settings.min_count} times in each of "
            f"{', '.join(periods.names)}; {remedy}"
        )
    return rows


def _sorted(table: ChangeTable) -> ChangeTable:
    """Return a table with its rows in order."""
    order = table.ordered()
    arrays = {name: a[order] for name, a in vars(table).items() if isinstance(a, np.ndarray)}
    return dataclasses.replace(table, words=[table.words[row] for row in order], **arrays)
