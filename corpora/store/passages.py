"""Cuts documents into passages, labeled by kept fields, to tell for example their authors."""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import pairwise

import numpy as np

from firth.corpora.common.errors import SettingError
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.fields import kept_field

DOCUMENT = "document"  # names the column of documents
_LETTERS = re.compile(r"[^\W\d_]{2,}")  # not I
_INSIDE = re.compile(rf"(?<=[\w,;] ){_LETTERS.pattern}")  # not first in a sentence or a quotation


def passages(
    corpus: Corpus, label: str, groups: str, length: int, limit: int, masked: Collection[str] = ()
) -> list[tuple[str, str, str]]:
    """Return (label, group, text) of whole passages, up to ``limit`` evenly in a document."""
    labels = kept_field(corpus, label)
    if groups == DOCUMENT:
        named = [str(number + 1) for number in range(len(labels))]
    else:
        named = kept_field(corpus, groups)
    rows = []
    for of_label, group, sentences in zip(labels, named, document_sentences(corpus), strict=True):
        if not of_label.strip():
            continue
        tokens = [token for text in sentences for token in text.split()]
        tokens = [token for token in tokens if not masked or not _is_name(token, masked)]
        starts = np.arange(len(tokens) // length) * length
        if limit and len(starts) > limit:
            starts = starts[np.linspace(0, len(starts) - 1, limit).round().astype(int)]
        fields = " ".join(of_label.split()), " ".join(group.split())
        rows += [(*fields, " ".join(tokens[start : start + length])) for start in starts.tolist()]
    if not rows:
        raise SettingError(
            f"{corpus.path}: no document with {label} has `length={length}`; pass fewer"
        )
    return rows


def proper_names(corpus: Corpus) -> set[str]:
    """Return the words, case-folded, that are mostly capitalized within sentences."""
    times: Counter[str] = Counter()
    capitals: Counter[str] = Counter()
    for sentences in document_sentences(corpus):
        for word in (word for text in sentences for word in _INSIDE.findall(text)):
            times[word.casefold()] += 1
            capitals[word.casefold()] += word[0].isupper()
    return {word for word, n in capitals.items() if 2 * n > times[word]}


def document_sentences(corpus: Corpus) -> Iterator[list[str]]:
    """Yield the original sentences of each document."""
    for shard in corpus.shards:
        bounds = np.searchsorted(shard.offsets("sentence"), shard.documents)
        for start, stop in pairwise(bounds.tolist()):
            yield shard.sentence_texts(np.arange(start, stop))


def _is_name(token: str, names: Collection[str]) -> bool:
    """Return whether the first word of a token is capitalized and one of some names."""
    word = _LETTERS.search(token)
    return word is not None and word[0][0].isupper() and word[0].casefold() in names
