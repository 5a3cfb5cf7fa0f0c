"""A corpus and its view held in lists, for tests of training."""

from collections import Counter
from pathlib import Path

import numpy as np
import scipy.sparse

from corpora.common.errors import SettingError
from corpora.text.segment import TextSettings


class SmallView:
    """Rows and counts of units of words, in shards of some units each."""

    def __init__(self, units, *, words=None, units_per_shard=1 << 30, held_out=()):
        self.words = words or [word for word, _ in counted(units)]
        row = {word: index for index, word in enumerate(self.words)}
        self.units = [[row[word] for word in unit if word in row] for unit in units]
        self.units_per_shard = units_per_shard
        self.held_out = held_out
        tokens = [word for unit in self.units for word in unit]
        self.counts = np.bincount(tokens, minlength=len(row)).astype(np.int64)
        self.n_tokens = len(tokens)

    def shards(self):
        """Some units at a time, laid end to end."""
        for start in range(0, len(self.units), self.units_per_shard):
            units = self.units[start : start + self.units_per_shard]
            offsets = np.cumsum([0] + [len(unit) for unit in units])
            yield np.concatenate([*units, []]).astype(np.int32), offsets.astype(np.int64)

    def select(self, documents):
        """The held-out units under the same words."""
        assert documents == "held-out"
        return SmallView(self.held_out, words=self.words, units_per_shard=self.units_per_shard)


class SmallCorpus:
    """What train functions ask of a corpus."""

    def __init__(self, text, name="small"):
        self.path = Path(name)
        self.fingerprint = "0123456789abcdef"
        self.text = TextSettings()
        self.units = [line.split() for line in text.splitlines()]

    def view(self, *, min_count, max_vocabulary, punctuation, boundary, keep=()):
        """The frequent words; the other choices change nothing here."""
        words = [word for word, count in counted(self.units) if count >= min_count]
        if not words:
            raise SettingError(f"{self.path}: no word occurs {min_count} times or more")
        return SmallView(self.units, words=words[:max_vocabulary])


def counted(units):
    """Words by count, ties by code point."""
    counts = Counter(word for unit in units for word in unit)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def dense(counts):
    """Co-occurrence counts as a matrix."""
    n_words = len(counts.starts) - 1
    parts = (counts.counts, counts.columns, counts.starts)
    return scipy.sparse.csr_array(parts, shape=(n_words, n_words)).toarray()
