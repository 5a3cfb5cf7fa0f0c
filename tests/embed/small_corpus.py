"""In-memory stand-ins for a corpus and its view, for tests of training."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import scipy.sparse

from firth.corpora.common.errors import SettingError
from firth.corpora.store.corpus import Corpus
from firth.corpora.text.segment import TextSettings


class SmallView:
    """A view of sentences given as lists, in shards of some sentences each."""

    keeps_heads = False

    def __init__(self, units, *, words=None, units_per_shard=1 << 30, held_out=(), per_cluster=1):
        self.words = words or [word for word, _ in counted(units)]
        row = {word: index for index, word in enumerate(self.words)}
        self.units = [[row[word] for word in unit if word in row] for unit in units]
        self.units_per_shard = units_per_shard
        self.held_out = held_out
        self.per_cluster = per_cluster
        tokens = [word for unit in self.units for word in unit]
        self.counts = np.bincount(tokens, minlength=len(row)).astype(np.int64)
        self.n_tokens = len(tokens)

    def shards(self):
        """Yield the concatenated rows and offsets of some units at a time."""
        for start in range(0, len(self.units), self.units_per_shard):
            units = self.units[start : start + self.units_per_shard]
            offsets = np.cumsum([0] + [len(unit) for unit in units])
            yield np.concatenate([*units, []]).astype(np.int32), offsets.astype(np.int64)

    @property
    def stored(self):
        """The sizes of what the view is of: its shards and vocabulary."""
        shards = [
            SimpleNamespace(ids=ids, offsets=lambda _, offsets=offsets: offsets)
            for ids, offsets in self.shards()
        ]
        return SimpleNamespace(shards=shards, vocabulary=self.words)

    def clusters(self):
        """Yield the offsets of clusters of some units each."""
        for _, offsets in self.shards():
            yield np.unique(np.append(offsets[:: self.per_cluster], offsets[-1]))

    def select(self, documents):
        """Return the held-out units over the same vocabulary."""
        assert documents == "held-out"
        return SmallView(
            self.held_out,
            words=self.words,
            units_per_shard=self.units_per_shard,
            per_cluster=self.per_cluster,
        )


class SmallCorpus(Corpus):
    """The parts of a corpus that training functions use."""

    fingerprint = "0123456789abcdef"
    trained_on = {"corpus": fingerprint}
    text = TextSettings()
    training_tokens = 0

    def __init__(self, text, name="small"):
        self.path = Path(name)
        self.units = [line.split() for line in text.splitlines()]
        self.training_tokens = sum(map(len, self.units))

    def view(self, *, min_count, max_vocabulary, punctuation, boundary, keep=()):
        """Return a view of the frequent words; the other options have no effect here."""
        words = [word for word, count in counted(self.units) if count >= min_count]
        if not words:
            raise SettingError(f"{self.path}: no word occurs {min_count} times or more")
        return SmallView(self.units, words=words[:max_vocabulary])


def counted(units):
    """Return words with counts, most frequent first, ties by code point."""
    counts = Counter(word for unit in units for word in unit)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def dense(counts):
    """Return co-occurrence counts as a dense matrix."""
    n_words = len(counts.starts) - 1
    parts = (counts.counts, counts.columns, counts.starts)
    return scipy.sparse.csr_array(parts, shape=(n_words, n_words)).toarray()
