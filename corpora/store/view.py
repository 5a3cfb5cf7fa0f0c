"""Views of a corpus: the words and documents that a method trains on, as rows and counts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from corpora.store.shards import Shard
from corpora.store.view_kernels import count_rows, select_rows
from corpora.store.vocabulary import PRUNED, Vocabulary

Boundary = Literal["sentence", "paragraph", "document"]
Documents = Literal["train", "held-out", "all"]
_DROPPED = -1
_TYPES_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class StoredText:
    """What views are made of: the types of a corpus, its shards, the documents of a sample."""

    vocabulary: Vocabulary  # every type
    shards: Sequence[Shard]  # in the order of the text
    # sequence of bool (n_documents,) or None: of a sample, shard by shard, its training documents;
    # None where all are
    sampled: Sequence[np.ndarray] | None
    _counted: dict[Documents, np.ndarray] = field(default_factory=dict, init=False, repr=False)

    def selected(self, number: int, documents: Documents) -> np.ndarray:
        """Tell which documents of a shard are selected."""
        # returns bool (n_documents,)
        held_out = np.asarray(self.shards[number].held_out)
        if documents == "held-out":
            return held_out
        train = ~held_out if self.sampled is None else self.sampled[number]
        return train if documents == "train" else train | held_out

    def count_types(self, documents: Documents) -> np.ndarray:
        """Count the tokens of each type in some documents; counted once, then cached."""
        # returns int64 (n_types,)
        if documents == "all" and self.sampled is None:
            return self.vocabulary.counts
        if documents not in self._counted:
            counts = np.zeros(len(self.vocabulary), dtype=np.int64)
            for number, shard in enumerate(self.shards):
                count_rows(shard.ids, shard.documents, self.selected(number, documents), counts)
            counts.flags.writeable = False
            self._counted[documents] = counts
        return self._counted[documents]


class View:
    """Words and documents of a corpus; :meth:`Corpus.view` makes one, methods others of it."""

    def __init__(
        self,
        stored: StoredText,
        types: np.ndarray,
        lacking: list[str],
        counts: np.ndarray,
        *,
        boundary: Boundary,
        documents: Documents,
    ) -> None:
        # counts: int64 (V,); types: int64 (V,)
        self.stored = stored
        self.boundary = boundary
        self.documents = documents
        self.counts = counts
        self.n_tokens = int(counts.sum())
        self._types = types
        self._lacking = lacking
        known = np.flatnonzero(types >= 0)
        self._rows = np.full(len(stored.vocabulary), _DROPPED, dtype=np.int32)
        self._rows[types[known]] = known

    @cached_property
    def words(self) -> list[str]:
        """The word of each row."""
        found = self.stored.vocabulary.words(0, int(self._types.max(initial=-1)) + 1)
        types = self._types.tolist()
        return [found[type_id] if type_id >= 0 else self._lacking[~type_id] for type_id in types]

    def shards(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Give the selected tokens shard by shard."""
        # yields rows: int32 (n,); yields offsets: int64 (m + 1,)
        for number, shard in enumerate(self.stored.shards):
            bounds = shard.array(self.boundary + "s")
            selected = self.stored.selected(number, self.documents)
            rows = np.empty(len(shard.ids), dtype=np.int32)
            offsets = np.empty(len(bounds), dtype=np.int64)
            n_rows, n_parts = select_rows(
                shard.ids, bounds, shard.documents, selected, self._rows, rows, offsets
            )
            yield rows[:n_rows], offsets[: n_parts + 1]

    def select(self, documents: Documents) -> "View":
        """View other documents under the same words, row by row."""
        counts = _counts_of(self._types, self.stored.count_types(documents))
        return self._like(self._types, counts, documents)

    def ordered(self, order: np.ndarray) -> "View":
        """View the same words in another order."""
        # order: int64 (V,)
        return self._like(self._types[order], self.counts[order], self.documents)

    def _like(self, types: np.ndarray, counts: np.ndarray, documents: Documents) -> "View":
        """A view that differs in these."""
        return View(
            self.stored, types, self._lacking, counts, boundary=self.boundary, documents=documents
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
    """Choose the words of a view."""
    # returns types: int64 (V,); returns counts: int64 (V,)
    vocabulary = stored.vocabulary
    counts = stored.count_types(documents)
    kept, lacking = _find_types(vocabulary, keep)
    joins = counts >= max(min_count, 1)
    if punctuation == "drop":
        joins &= ~vocabulary.punctuation
    if vocabulary[len(vocabulary) - 1] == PRUNED:
        joins[-1] = False
    joins[kept] = False
    room = None if max_vocabulary is None else max(0, max_vocabulary - len(keep))
    types = np.concatenate([kept, _by_count(np.flatnonzero(joins), counts)[:room]])
    types = np.concatenate([_by_count(types, counts), ~np.arange(len(lacking))])
    return types, lacking, _counts_of(types, counts)


def _find_types(vocabulary: Vocabulary, words: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """The types of words, and the words that are no type; walks over the vocabulary once."""
    left = dict.fromkeys(words)
    found: list[int] = []
    for first in range(0, len(vocabulary) if left else 0, _TYPES_AT_ONCE):
        stop = min(first + _TYPES_AT_ONCE, len(vocabulary))
        for type_id, word in enumerate(vocabulary.words(first, stop), first):
            # the empty word is no type: it stands for those that were pruned
            if word != PRUNED and word in left:
                del left[word]
                found.append(type_id)
    return np.array(found, dtype=np.int64), list(left)


def _by_count(types: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Types by count, ties by id."""
    types = np.sort(types)
    return types[np.argsort(-counts[types], kind="stable")]


def _counts_of(types: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The count of each type; 0 for words that the corpus lacks."""
    return np.where(types >= 0, counts[np.maximum(types, 0)], 0)
