"""Views of a corpus: the words and documents that a method trains on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from firth.corpora.store.shards import Shard
from firth.corpora.store.view_kernels import count_selected_tokens, select_rows
from firth.corpora.store.vocabulary import PRUNED, Vocabulary
from firth.corpora.text.trees import part_heads

Boundary = Literal["sentence", "paragraph", "document"]
Documents = Literal["train", "held-out", "all"]
_DROPPED = -1


@dataclass(frozen=True, eq=False)
class StoredText:
    """The data behind views: vocabulary, shards and, for a sample, its documents."""

    vocabulary: Vocabulary
    shards: Sequence[Shard]  # in text order
    # for a sample, masks of its training units by shard, bool (n_units,); else None
    sampled: Sequence[np.ndarray] | None
    unit: Boundary = "document"  # by which text is held out and sampled
    _counted: dict[Documents, np.ndarray] = field(default_factory=dict, init=False, repr=False)

    def selected(self, number: int, documents: Documents) -> np.ndarray:
        """Return a mask of the selected units of a shard, bool (n_units,)."""
        held_out = np.asarray(self.shards[number].held_out)
        if documents == "held-out":
            return held_out
        train = ~held_out if self.sampled is None else self.sampled[number]
        return train if documents == "train" else train | held_out

    def count_types(self, documents: Documents) -> np.ndarray:
        """Return the tokens of each type in the selected text, int64 (n_types,); cached."""
        if documents == "all" and self.sampled is None:
            return self.vocabulary.counts
        if documents not in self._counted:
            counts = np.zeros(len(self.vocabulary), dtype=np.int64)
            for number, shard in enumerate(self.shards):
                count_selected_tokens(
                    shard.ids, shard.units, self.selected(number, documents), counts
                )
            counts.flags.writeable = False
            self._counted[documents] = counts
        return self._counted[documents]


class View:
    """A selection of words and documents of a corpus, made by :meth:`Corpus.view`.

    Row r is type ``types[r]``, or word ``missing[n]`` if ``types[r]`` is ``-1 - n``. Counts are
    in descending order, except in views made by :meth:`ordered` and :meth:`select`.
    """

    def __init__(
        self,
        stored: StoredText,
        types: np.ndarray,
        missing: list[str],
        counts: np.ndarray,
        *,
        boundary: Boundary,
        documents: Documents,
    ) -> None:
        # types: int64 (V,); counts: int64 (V,)
        self.stored = stored
        self.boundary = boundary
        self.documents = documents
        self.counts = counts
        self.n_tokens = int(counts.sum())
        self._types = types
        self._missing = missing
        known = np.flatnonzero(types >= 0)
        self._rows = np.full(len(stored.vocabulary), _DROPPED, dtype=np.int32)
        self._rows[types[known]] = known

    @cached_property
    def words(self) -> list[str]:
        """The word of each row."""
        found = self.stored.vocabulary.words(0, int(self._types.max(initial=-1)) + 1)
        types = self._types.tolist()
        return [found[type_id] if type_id >= 0 else self._missing[~type_id] for type_id in types]

    def rows_of_types(self) -> np.ndarray:
        """Return the row of each type of the vocabulary, int32 (n_types,); -1 if it is dropped."""
        return self._rows

    def shards(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the kept tokens of each shard as rows, and the offsets of their parts.

        Parts are sentences, paragraphs or documents, and are never empty. Where text inside them
        is not selected, they are cut, so that no context window crosses it.
        """
        # rows: int32 (n,); offsets: int64 (m + 1,)
        for number, shard in enumerate(self.stored.shards):
            selected = self.stored.selected(number, self.documents)
            bounds = _cut(shard.offsets(self.boundary), shard.units, selected)
            rows = np.empty(len(shard.ids), dtype=np.int32)
            offsets = np.empty(len(bounds), dtype=np.int64)
            n_rows, n_parts = select_rows(
                shard.ids, bounds, shard.units, selected, self._rows, rows, offsets
            )
            yield rows[:n_rows], offsets[: n_parts + 1]

    @property
    def keeps_heads(self) -> bool:
        """Whether syntactic heads of words are known."""
        return any(shard.keeps_heads for shard in self.stored.shards)

    def heads(self) -> Iterator[np.ndarray]:
        """Yield for each shard the distance of each kept token to its head, 0 if none."""
        # int64 (n,), of the tokens that shards() yields
        for number, shard in enumerate(self.stored.shards):
            yield part_heads(shard.heads, self._kept(number).astype(np.int64))

    def units_of_tokens(self, unit: Boundary) -> Iterator[np.ndarray]:
        """Yield for each shard the unit of each kept token, numbered over all shards."""
        # int64 (n,), of the tokens that shards() yields
        first = 0
        for number, shard in enumerate(self.stored.shards):
            offsets = shard.offsets(unit)
            numbers = first + np.arange(len(offsets) - 1)
            yield np.repeat(numbers, np.diff(offsets))[self._kept(number)]
            first += len(numbers)

    def _kept(self, number: int) -> np.ndarray:
        """Return which tokens of a shard are kept, bool (n_tokens,)."""
        shard = self.stored.shards[number]
        selected = np.repeat(self.stored.selected(number, self.documents), np.diff(shard.units))
        return np.asarray(selected & (self._rows[shard.ids] >= 0))

    def clusters(self) -> Iterator[np.ndarray]:
        """Yield, for each shard, the offsets of parts at which a unit of held-out text starts.

        Text is held out unit by unit, so that statistics of it are clustered by unit. Adjacent
        units within one part are one cluster.
        """
        # int64 (n_clusters + 1,), among the offsets that shards() yields
        by_unit = self._like(self._types, self.counts, self.documents, self.stored.unit)
        for (_, offsets), (_, units) in zip(self.shards(), by_unit.shards(), strict=True):
            yield np.intersect1d(offsets, units)

    def select(self, documents: Documents) -> "View":
        """Return a view of other documents with the same rows; counts may be 0."""
        counts = _counts_of(self._types, self.stored.count_types(documents))
        return self._like(self._types, counts, documents, self.boundary)

    def of(self, stored: StoredText) -> "View":
        """Return a view of other text of the same vocabulary with the same rows."""
        counts = _counts_of(self._types, stored.count_types(self.documents))
        return View(
            stored, self._types, self._missing, counts, boundary=self.boundary,
            documents=self.documents,
        )  # fmt: skip

    def ordered(self, order: np.ndarray) -> "View":
        """Return a view whose row r is row ``order[r]`` of this one."""
        # order: int64 (V,), a permutation
        return self._like(self._types[order], self.counts[order], self.documents, self.boundary)

    def _like(
        self, types: np.ndarray, counts: np.ndarray, documents: Documents, boundary: Boundary
    ) -> "View":
        """Return a copy with other words, counts, documents or boundary."""
        return View(
            self.stored, types, self._missing, counts, boundary=boundary, documents=documents
        )


def choose_words(
    stored: StoredText,
    *,
    min_count: int,
    max_vocabulary: int | None,
    punctuation: Literal["keep", "drop"],
    documents: Documents,
    keep: Sequence[str],
) -> tuple[np.ndarray, list[str], np.ndarray]:
    """Return the types, missing words and counts of a view, with arguments as in Corpus.view.

    The most frequent types come first, ties by id, then ``-1 - n`` for missing word n.
    """
    # returns types: int64 (V,); counts: int64 (V,)
    vocabulary = stored.vocabulary
    counts = stored.count_types(documents)
    kept, missing = _find_types(vocabulary, keep)
    eligible = counts >= max(min_count, 1)
    if punctuation == "drop":
        eligible &= ~vocabulary.punctuation
    if vocabulary.is_pruned:
        eligible[-1] = False
    eligible[kept] = False
    limit = None if max_vocabulary is None else max(0, max_vocabulary - len(keep))
    types = np.concatenate([kept, _by_count(np.flatnonzero(eligible), counts)[:limit]])
    types = np.concatenate([_by_count(types, counts), ~np.arange(len(missing))])
    return types, missing, _counts_of(types, counts)


def _cut(bounds: np.ndarray, units: np.ndarray, selected: np.ndarray) -> np.ndarray:
    """Return the offsets of parts with cuts where the selection of units changes."""
    # bounds: int64 (n_parts + 1,); units: int64 (n_units + 1,); selected: bool (n_units,)
    changes = np.unique(units[1:-1][selected[1:] != selected[:-1]])
    places = np.searchsorted(bounds, changes)
    inside = bounds[places] != changes
    return np.insert(bounds, places[inside], changes[inside]) if inside.any() else bounds


def _find_types(vocabulary: Vocabulary, words: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """Return the types of words, and the words without a type, in one scan of the vocabulary."""
    missing = dict.fromkeys(words)
    found: list[int] = []
    for type_id, word in enumerate(vocabulary if missing else ()):
        # PRUNED is the entry of all pruned types, not a word
        if word != PRUNED and word in missing:
            del missing[word]
            found.append(type_id)
    return np.array(found, dtype=np.int64), list(missing)


def _by_count(types: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Sort types by count, ties by id."""
    types = np.sort(types)
    return types[np.argsort(-counts[types], kind="stable")]


def _counts_of(types: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the count of each type; 0 for missing words."""
    return np.where(types >= 0, counts[np.maximum(types, 0)], 0)
