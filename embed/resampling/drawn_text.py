"""Corpora of documents drawn from one or two others, which training functions read as any other.

A document that is drawn twice is there twice: the shards are listed once for each copy, with a
mask of the documents that have so many. Nothing is written to disk.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from firth.corpora.common.errors import SettingError
from firth.corpora.common.reporting import SilentReporter, reporting_to
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.shards import UNITS, Shard
from firth.corpora.store.view import StoredText
from firth.corpora.store.vocabulary import PRUNED
from firth.embed.registry import METHODS
from firth.embed.resampling.chance import top_counts
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.vectors.wordlist import index_words

FEWEST_UNITS = 20  # fewer hardly show how they differ


class DrawnCorpus(Corpus):
    """The training text (``held_out`` adds the rest) of documents of shards, so often each."""

    def __init__(
        self,
        like: Corpus,
        text: StoredText,
        copies: np.ndarray,
        name: str,
        *,
        held_out: bool = False,
    ) -> None:
        # copies: int64 (n_documents,), numbered over all shards
        documents = documents_of_units(text, held_out)
        times = [np.where(each >= 0, copies[each], 0) for each in documents]  # by unit
        n_tokens = sum(
            int(np.diff(shard.units) @ each) for shard, each in zip(text.shards, times, strict=True)
        )
        changed = {
            "fingerprint": name,
            "tokens": n_tokens + int(like.manifest["held_out_tokens"]),
            "documents": int(copies.sum()) + int(like.manifest["held_out_documents"]),
            "held_out_unit": text.unit,
        }
        most = range(max(1, int(copies.max(initial=0))))
        masks = [each > copy for copy in most for each in times]
        super().__init__(like.path, {**like.manifest, **changed}, masks)
        self.vocabulary = text.vocabulary
        self.shards = [*text.shards] * len(most)


def train_again(method: str, config: Any, drawn: DrawnCorpus, seed: int) -> WordVectors:
    """Train on drawn documents in silence, with ``seed`` added to the config's."""
    config = dataclasses.replace(config, seed=config.seed + seed)
    with reporting_to(SilentReporter()):
        vectors: WordVectors = METHODS[method].train_function()(drawn, config)
    return vectors


def text_of_units(corpus: Corpus) -> tuple[str, StoredText]:
    """Return the largest unit of text of which there are enough, and text with it as documents."""
    for unit in UNITS:
        shards = [_UnitShard(shard, unit) for shard in corpus.shards]
        finest = shards[0].unit if shards else corpus.held_out_unit
        text = StoredText(corpus.vocabulary, shards, None, finest)  # type: ignore[arg-type]
        if (n_units := len(training_documents(text))) >= FEWEST_UNITS:
            return unit, text
    raise SettingError(
        f"{corpus.path}: has {n_units} sentences of training text, of which {FEWEST_UNITS} are "
        "needed to resample; train on more text, or leave out `resamples`"
    )


def training_documents(text: StoredText) -> np.ndarray:
    """Return the numbers of the documents with training text, int64 (n,), over all shards."""
    return np.unique(np.concatenate([each[each >= 0] for each in documents_of_units(text)]))


def count_documents(text: StoredText) -> int:
    """Return the number of documents, held-out and empty ones included."""
    return sum(len(shard.documents) - 1 for shard in text.shards)


def top_shares(text: StoredText, words: Sequence[str]) -> np.ndarray:
    """Return the share of each word's training tokens in the document that has most of them."""
    # returns float64 (n,), 0 for words without tokens, and if there is only one document
    if count_documents(text) == 1:
        return np.zeros(len(words))
    index, most = index_words(words), np.zeros(len(words), np.int64)
    types = text.vocabulary.words()
    rows_of_types = np.array([index.get(word, -1) for word in types], np.int64)
    for number, shard in enumerate(text.shards):
        rows = rows_of_types[shard.ids]
        chosen = np.repeat(text.selected(number, "train"), np.diff(shard.units)) & (rows >= 0)
        documents = np.searchsorted(shard.documents, np.flatnonzero(chosen), side="right") - 1
        most = np.maximum(most, top_counts(rows[chosen], documents, len(words)))
    counts = dict(zip(types, text.count_types("train").tolist(), strict=True))
    return np.asarray(most / np.maximum([counts.get(word, 0) for word in words], 1))


def documents_of_units(text: StoredText, held_out: bool = False) -> list[np.ndarray]:
    """Return the document of each unit of each shard, -1 if it is empty or not wanted.

    Text may be held out and sampled by smaller units than documents.
    """
    # returns list of int64 (n_units,)
    documents, first = [], 0
    for shard in text.shards:
        inside = np.searchsorted(shard.documents, shard.units[:-1], side="right") - 1
        usable = (held_out | ~np.asarray(shard.held_out)) & (np.diff(shard.units) > 0)
        documents.append(np.where(usable, first + inside, -1))
        first += len(shard.documents) - 1
    return documents


def joined_text(a: Corpus, b: Corpus, *, one_unit: bool = True) -> StoredText:
    """Return the shards of ``a``, then those of ``b``, in memory with one vocabulary.

    Raise SettingError if they split text differently, or with ``one_unit`` hold out text by
    different units.
    """
    if a.text != b.text or (one_unit and a.held_out_unit != b.held_out_unit):
        raise SettingError(f"{a.path} and {b.path} differ in how text is split; build both alike")
    made = [corpus.manifest["settings"] for corpus in (a, b)]
    types = [[each.get(name) for name in ("phrases", "max_types")] for each in made]
    learned = isinstance(types[0][0], dict) and "formula" in types[0][0]
    if types[0] != types[1] or learned:
        raise SettingError(
            f"{a.path} and {b.path} have phrases or types of their own; build both with the same "
            "`phrases_from` and `max_types`"
        )
    words = [corpus.vocabulary.words() for corpus in (a, b)]
    vocabulary = _JoinedVocabulary(words, [corpus.vocabulary for corpus in (a, b)])
    shards = [
        _RenumberedShard(shard, vocabulary.ids[number])
        for number, corpus in enumerate((a, b))
        for shard in corpus.shards
    ]
    return StoredText(vocabulary, shards, None, a.held_out_unit)  # type: ignore[arg-type]


class _JoinedVocabulary:
    """The types of two corpora, ids by descending count, as views read a vocabulary."""

    def __init__(self, words: Sequence[list[str]], vocabularies: Sequence[Any]) -> None:
        known = sorted({*words[0], *words[1]})
        place = {word: row for row, word in enumerate(known)}
        rows = [np.array([place[word] for word in each], np.int64) for each in words]
        counts, punctuation = np.zeros(len(known), np.int64), np.zeros(len(known), bool)
        for each, vocabulary in zip(rows, vocabularies, strict=True):
            counts[each] += vocabulary.counts
            punctuation[each] = vocabulary.punctuation
        sizes = np.where(np.array(known) == PRUNED, -1, counts)  # that entry is the last one
        order = np.argsort(-sizes, kind="stable")
        self._words = [known[row] for row in order.tolist()]
        self.is_pruned = self._words[-1:] == [PRUNED]
        self.counts, self.punctuation = counts[order], punctuation[order]
        ids = np.empty(len(known), np.int32)
        ids[order] = np.arange(len(known), dtype=np.int32)
        self.ids = [ids[each] for each in rows]  # new id of each type of either corpus

    def __len__(self) -> int:
        return len(self._words)

    def __getitem__(self, type_id: int) -> str:
        return self._words[type_id]

    def words(self, first: int = 0, stop: int | None = None) -> list[str]:
        """Return a range of types, by default all."""
        return self._words[first:stop]


class _RenumberedShard(Shard):
    """A shard whose types have other ids."""

    def __init__(self, shard: Shard, ids: np.ndarray) -> None:
        super().__init__(shard.directory, shard.unit)
        self.ids = ids[shard.ids]


class _UnitShard(Shard):
    """A shard whose documents are paragraphs, say."""

    def __init__(self, shard: Shard, unit: str) -> None:
        super().__init__(shard.directory, max(shard.unit, unit, key=UNITS.index))
        self.documents = shard.offsets(unit)
        wider = np.searchsorted(shard.units[1:-1], self.units[:-1], side="right")
        self.held_out = np.asarray(shard.held_out)[wider]
