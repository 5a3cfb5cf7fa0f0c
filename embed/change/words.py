"""Measures which words change between periods, how far, and whether by more than chance."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.artifact import refuse_existing
from firth.corpora.artifacts.kinds import RUN, kind_of
from firth.corpora.common.errors import SettingError
from firth.corpora.common.options import config_of, many
from firth.corpora.store.corpus import Corpus
from firth.embed.change.config import MOST_WORDS, ChangeConfig, refuse_training
from firth.embed.change.periods import Periods, read_periods, read_texts, two_corpora
from firth.embed.change.result import WordChanges, compared_row
from firth.embed.change.routes import ComparedPeriods, measure
from firth.embed.change.table import ChangeTable, top_shares
from firth.embed.formats.vector_files import load_vectors
from firth.embed.runs.run import Run
from firth.embed.vectors.word_vectors import WordVectors


def word_changes(
    corpus: Corpus | str | Path,
    other: Corpus | str | Path | None = None,
    config: ChangeConfig | None = None,
    *,
    by: str | None = None,
    periods: Sequence[str] = (),
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
    ``contextual`` the distance is the mean over pairs of occurrences, one of each period, of the
    distance of their states by an encoder (Giulianelli, Del Tredici & Fernández 2020).
    Deterministic.

    Parameters
    ----------
    corpus : Corpus, str or Path
        All of its documents count, held-out ones too.
    other : Corpus, str or Path, optional
        A second corpus, which is the later period; then ``by`` and ``periods`` are left out. With
        ``procrustes`` both may be runs: their vectors are compared, and their corpora are read.
    config : ChangeConfig, optional
        The settings.
    by : str
        A kept field of the documents.
    periods : sequence of str
        Two or more values of the field, or ranges of numbers such as ``1840-1869``, or
        decades such as ``1840s``; ISO dates count by their year.
    words : sequence of str, optional
        Words that must be compared, checked before anything is measured. ``contextual`` compares
        these only, by default all that are frequent enough.
    require : sequence of str
        Further words that must be compared, which do not limit ``contextual`` to them.
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
        One of ``words`` is missing or too rare in a period, or has no vector in a run.
    """
    settings = config_of(config, ChangeConfig)
    if out is not None:
        refuse_existing(Path(out), force)
    runs = _open_runs(corpus, other, settings)
    if runs:
        remedy = "pass the corpora instead of the runs"
        corpus, other = (Run.open(Path(str(run.path))).corpus(remedy=remedy) for run in runs)
    chosen = _choose(corpus, other, by, many(periods))
    training = settings.training
    view = chosen.view(training.boundary, training.punctuation)
    texts = read_texts(chosen, view)
    n_words = min(MOST_WORDS, len(view.counts))
    counts = np.array([text.counts[:n_words] for text in texts])
    trains_svd = settings.route != "contextual" and settings.trains_svd and not runs
    if trains_svd and training.dim > n_words:
        raise SettingError(
            f"`dim={training.dim}` is larger than the vocabulary ({n_words} words); pass "
            f"`dim={n_words}` or less"
        )
    rows = _tested(counts, settings, chosen.names)
    enough = counts.sum(axis=0) >= settings.min_count * len(texts)
    n_untested = int(enough.sum() - enough[rows].sum())
    vocabulary = view.words[:n_words]
    index = {word: row for row, word in enumerate(vocabulary)}
    asked, needed = (
        [compared_row(each, chosen, index, counts, settings.min_count) for each in part]
        for part in (many(words or ()), many(require))
    )
    compared = ComparedPeriods(chosen, texts, vocabulary, counts, rows, [*asked, *needed], settings)
    found = measure(compared, runs, only=bool(asked))
    table = ChangeTable(
        periods=chosen.names,
        words=[vocabulary[row] for row in found.rows.tolist()],
        counts=counts[:, found.rows].T,
        shares=np.array([top_shares(text)[found.rows] for text in texts]).T,
        **found.columns,
    )
    kept = found.rows if settings.route == "contextual" else np.arange(n_words)
    changes = WordChanges(
        table=_sorted(table), vectors=found.vectors, vocabulary=[vocabulary[row] for row in kept],
        counts=counts[:, kept], n_untested=n_untested, no_p=found.no_p, config=settings,
        periods=chosen, recipe=found.recipe,
    )  # fmt: skip
    if out is not None:
        changes.save(out, force=force)
    return changes


def _open_runs(
    corpus: Corpus | str | Path, other: Corpus | str | Path | None, settings: ChangeConfig
) -> list[WordVectors]:
    """Open the runs if they are compared rather than corpora."""
    places = [each for each in (corpus, other) if isinstance(each, str | Path)]
    for place in places:
        if Path(place).is_file():
            raise SettingError(
                f"{place}: is a file of vectors, without counts and text; `align_vectors()` "
                "and `differ()` compare two of them"
            )
    if len(places) != 2 or any(kind_of(place) != RUN for place in places):
        return []
    if settings.route != "procrustes":
        raise SettingError(
            f"{places[0]} and {places[1]} are runs, which `route=procrustes` compares; pass it, or "
            "their corpora"
        )
    refuse_training(settings, "runs, which are trained already")
    return [load_vectors(place, verified=True) for place in places]


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


def _sorted(table: ChangeTable) -> ChangeTable:
    """Return a table with its rows in order."""
    order = table.ordered()
    parts = {field.name: getattr(table, field.name) for field in dataclasses.fields(table)}
    parts |= {name: part[order] for name, part in parts.items() if isinstance(part, np.ndarray)}
    return ChangeTable(**{**parts, "words": [table.words[row] for row in order.tolist()]})
