"""Periods: which documents belong to which part of a corpus, and the text of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from firth.corpora.common.errors import SettingError
from firth.corpora.common.reporting import note
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.fields import as_range, documents_with, kept_field
from firth.corpora.store.occurrence_kernels import count_by_group
from firth.corpora.store.view import StoredText, View, choose_words
from firth.embed.change.config import FEWEST
from firth.embed.resampling.drawn_text import documents_of_units, joined_text

_NO_PERIOD = -1
_NAMED = 5  # strata in a message
_END = "\x1f"  # of a value, in the name of a stratum


@dataclass(frozen=True, eq=False)
class Periods:
    """Documents of one corpus, or of two, in two or more periods."""

    names: list[str]
    corpora: list[Corpus]  # one, or one for each period; none if vectors are compared
    stored: StoredText  # of all documents, shards of the first corpus first
    period_of: np.ndarray  # int64 (n_documents,), by document; -1 if it is of no period
    by: str | None = None  # the field that divides the documents
    within: tuple[str, ...] = ()  # the fields in which the documents of a stratum are alike
    strata: np.ndarray | None = None  # int64 (n_documents,)

    @property
    def noun(self) -> str:
        """What output calls a type."""
        return self.corpora[0].text.noun if self.corpora else "word"

    def text_of(self, number: int) -> StoredText:
        """Return the text of a period, as views read it."""
        return self._selected(self.period_of == number)

    def view(self, boundary: str, punctuation: str) -> View:
        """Return the words of all periods together, most frequent first."""
        stored = self._selected(self.period_of >= 0)
        types, missing, counts = choose_words(
            stored, min_count=FEWEST, max_vocabulary=None,
            punctuation=punctuation, documents="train", keep=(),  # type: ignore[arg-type]
        )  # fmt: skip
        if not len(types):
            raise SettingError(
                f"{self.corpora[0].path}: no {self.noun} occurs {FEWEST} times in "
                f"{', '.join(self.names)}"
            )
        return View(stored, types, missing, counts, boundary=boundary, documents="train")  # type: ignore[arg-type]

    @cached_property
    def _document_of_unit(self) -> list[np.ndarray]:
        """The document of each unit of each shard, -1 of an empty one."""
        return documents_of_units(self.stored, held_out=True)

    def _selected(self, chosen: np.ndarray) -> StoredText:
        """Return the text of some documents; held-out ones are as good as others here."""
        # chosen: bool (n_documents,)
        masks = [chosen[each] & (each >= 0) for each in self._document_of_unit]
        return StoredText(self.stored.vocabulary, self.stored.shards, masks, self.stored.unit)


@dataclass(frozen=True, eq=False)
class PeriodText:
    """The text of a period in memory; counting reads it as any other view."""

    rows: np.ndarray  # int32 (n,): words, as rows of a vocabulary that the periods share
    offsets: np.ndarray  # int64 (n_parts + 1,): parts that no window crosses
    documents: np.ndarray  # int64 (n_parts,): the document of each part, ascending
    counts: np.ndarray  # int64 (V,)

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return len(self.rows)

    def shards(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the text as one shard."""
        return [(self.rows, self.offsets)]


def read_texts(periods: Periods, view: View) -> list[PeriodText]:
    """Read the text of each period, with the words of a view."""
    columns = np.where(view.rows_of_types() >= 0, 0, -1).astype(np.int64)
    sizes = np.zeros((len(periods.period_of), 1), np.int64)  # kept tokens of each document
    first = 0
    for shard in periods.stored.shards:
        groups = first + np.arange(len(shard.documents) - 1)
        count_by_group(shard.ids, shard.documents, groups, columns, sizes)
        first += len(groups)
    return [
        _read_text(
            periods.text_of(number), view, np.where(periods.period_of == number, sizes[:, 0], 0)
        )
        for number in range(len(periods.names))
    ]


def _read_text(stored: StoredText, view: View, sizes: np.ndarray) -> PeriodText:
    """Read the text of one period; ``sizes`` are the kept tokens of its documents, else 0."""
    # sizes: int64 (n_documents,)
    own = view.of(stored)
    rows, offsets, start = [], [np.zeros(1, np.int64)], 0
    for part, bounds in own.shards():
        rows.append(part)
        offsets.append(start + bounds[1:])
        start += len(part)
    bounds = np.concatenate(offsets)
    documents = np.searchsorted(np.cumsum(sizes), bounds[:-1], "right")
    return PeriodText(np.concatenate(rows), bounds, documents, own.counts)


def read_periods(
    corpus: Corpus, by: str, periods: Sequence[str], within: Sequence[str] = ()
) -> Periods:
    """Sort the documents of a corpus into periods by a kept field.

    A period is a value of the field, or a range of numbers or ISO dates ``A-B``, with both ends,
    or open, ``A-``, or a decade ``1840s``; it may be written with spaces or an en dash. Documents
    that are alike in the fields ``within`` are a stratum; those of one period only are left out,
    and those without a value.
    """
    if len(periods) < 2:
        raise SettingError(
            f"`periods={','.join(periods)}`: pass two or more, such as 1840-1869,1890-1920"
        )
    if len(set(periods)) < len(periods):
        raise SettingError(f"`periods={','.join(periods)}`: the same period occurs twice")
    values = kept_field(corpus, by)
    ranges = [None if each in values else as_range(each) for each in periods]
    periods = [each.name if each else name for each, name in zip(ranges, periods, strict=True)]
    period_of = np.full(len(values), _NO_PERIOD, np.int64)
    for number, period in enumerate(periods):
        inside = documents_with(values, by, period)
        twice = np.flatnonzero(inside & (period_of >= 0))
        if len(twice):
            first = int(twice[0])
            raise SettingError(
                f"document {first + 1} ({by}={values[first]}) is in {periods[period_of[first]]} "
                f"and in {period}; pass periods that do not overlap"
            )
        period_of[inside] = number
    without = sum(not value.strip() for value in values)
    if without:
        note(f"{without:,} of {len(values):,} documents have no {by} and are left out")
    strata = _strata(corpus, within, period_of, periods) if within else None
    return Periods(periods, [corpus], corpus.stored, period_of, by, tuple(within), strata)


def _strata(
    corpus: Corpus, within: Sequence[str], period_of: np.ndarray, periods: Sequence[str]
) -> np.ndarray:
    """Return the stratum of each document; take those out that lack one or share it with none."""
    # period_of: int64 (n_documents,), is changed; returns int64 (n_documents,)
    rows = list(zip(*(kept_field(corpus, field) for field in within), strict=True))
    fields = " and ".join(within)
    inside = period_of >= 0
    empty = np.array([not all(map(str.strip, row)) for row in rows]) & inside
    if empty.any():
        note(
            f"{int(empty.sum()):,} of {int(inside.sum()):,} documents in the periods have no "
            f"{' or '.join(within)} and are left out"
        )
        period_of[empty] = _NO_PERIOD
    names, strata = np.unique([_END.join(row) for row in rows], return_inverse=True)
    table = np.zeros((len(names), len(periods)), np.int64)
    inside &= ~empty
    np.add.at(table, (strata[inside], period_of[inside]), 1)
    n_periods = (table > 0).sum(axis=1)
    apart = np.flatnonzero(~table[n_periods > 1].any(axis=0))
    if len(apart):
        raise SettingError(
            f"`within={','.join(within)}`: {periods[apart[0]]} shares no {fields} with another "
            "period; pass other fields, or longer periods"
        )
    columns = f"documents in {', '.join(periods)}"
    if (n_periods == 1).any():
        alone = _listed(names, table, n_periods == 1)
        note(f"left out, since only one period has this {fields} ({columns}): {alone}")
        period_of[n_periods[strata] == 1] = _NO_PERIOD
    note(f"chance is measured within {fields} ({columns}): {_listed(names, table, n_periods > 1)}")
    return np.asarray(strata, np.int64)


def _listed(names: np.ndarray, table: np.ndarray, chosen: np.ndarray) -> str:
    """Return some strata with their documents in each period, the largest first."""
    # names: str (S,); table: int64 (S, K), documents; chosen: bool (S,)
    order = np.flatnonzero(chosen)[np.argsort(-table[chosen].sum(axis=1), kind="stable")]
    shown = [
        f"{', '.join(names[s].split(_END))} ({', '.join(map(str, table[s]))})"
        for s in order[:_NAMED]
    ]
    rest = table[order[_NAMED:]].sum(axis=0)
    more = f"{len(order) - _NAMED:,} more ({', '.join(map(str, rest))})"
    return "; ".join(shown + [more] * (len(order) > _NAMED))


def two_corpora(a: Corpus, b: Corpus) -> Periods:
    """Take two corpora as periods, named like their folders."""
    if a.fingerprint == b.fingerprint:
        raise SettingError(f"{b.path}: has the same text as {a.path}; pass another corpus")
    names = period_names([a.path, b.path])
    stored = joined_text(a, b, one_unit=False)
    sizes = [a.n_documents, b.n_documents]
    return Periods(names, [a, b], stored, np.repeat([0, 1], sizes))


def period_names(paths: Sequence[Path]) -> list[str]:
    """Return the names of files or folders, or their paths if the names are the same."""
    names = [path.resolve().name for path in paths]
    return names if len(set(names)) == len(names) else list(map(str, paths))
