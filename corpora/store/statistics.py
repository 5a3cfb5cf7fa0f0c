"""Corpus statistics: sizes, frequent words, vocabulary growth, duplicates."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.common.display import Table
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.view_kernels import count_new_types, hash_parts
from firth.corpora.store.vocabulary import PRUNED, Vocabulary

_CURVE_POINTS = 20
_PARTS = {  # of the bytes on disk, by the start of a file's name
    "ids": "ids",
    "texts": "original text",
    "field": "kept fields",
    "heads": "syntactic heads",
    "vocabulary": "vocabulary",
    "occurrences": "index of occurrences",
    "graph": "graph",
}


class Described(Table, dict[str, Any]):
    """Statistics of a corpus: JSON, whose numbers and texts are shown as a table."""

    __repr__ = dict.__repr__

    def _records(self) -> list[dict[str, Any]]:
        plain = {name: value for name, value in self.items() if not isinstance(value, dict | list)}
        return [{"statistic": name, "value": value} for name, value in plain.items()]


def describe(corpus: Corpus | str | os.PathLike[str], *, top: int | None = 20) -> Described:
    """Compute statistics of a corpus.

    Parameters
    ----------
    corpus : Corpus, str or path
        All documents are counted, held-out ones included.
    top : int, optional
        Number of most frequent words to list; all with None.

    Returns
    -------
    Described
        A dict, JSON with ``documents``, ``paragraphs``, ``sentences``, ``tokens``, ``types``,
        ``hapaxes`` (types that occur once), ``type_token_ratio``, ``on_disk`` (bytes by part,
        ``ids`` for one), ``bytes`` (those that were read), ``unknown_bytes`` (share of
        bytes dropped, including U+FFFD from replacement), ``duplicate_lines`` (paragraphs with
        the same tokens as an earlier one), ``most_frequent`` and ``type_token_curve``, among
        others.
    """
    corpus = Corpus.open(corpus)
    manifest = corpus.manifest
    tally = manifest["tally"]
    vocabulary = corpus.vocabulary
    sizes = ("documents", "paragraphs", "sentences", "tokens", "types")
    found = {
        "path": str(corpus.path),
        "fingerprint": corpus.fingerprint,
        **{name: manifest[name] for name in sizes},
        "hapaxes": int((vocabulary.counts == 1).sum()),
        "type_token_ratio": manifest["types"] / manifest["tokens"],
        "on_disk": bytes_by_part(corpus.path),
        "bytes": tally["bytes"],
        "unknown_bytes": tally["dropped_bytes"] / tally["bytes"],
        "duplicate_lines": _count_duplicates(corpus),
        "held_out_unit": corpus.held_out_unit,
        "held_out_units": corpus.held_out_units,
        "held_out_documents": manifest["held_out_documents"],
        "held_out_tokens": manifest["held_out_tokens"],
        "text": corpus.text.shown,
        "keeps_text": corpus.keeps_text,
        "share_with_heads": corpus.share_with_heads,
        "tally": tally,
        "most_frequent": [_word(vocabulary, each) for each in range(len(vocabulary))[:top]],
        "type_token_curve": type_token_curve(corpus),
    }
    return Described(found)


def bytes_by_part(directory: Path) -> dict[str, int]:
    """Return how many bytes of a corpus are ids, text, vocabulary and others, most first."""
    sizes: Counter[str] = Counter()
    for path in directory.rglob("*"):
        if path.is_file():
            shard = path.relative_to(directory).parts[0] == "shards"
            start = path.name if shard else path.relative_to(directory).parts[0]
            sizes[_PARTS.get(start.partition(".")[0], "bounds and records")] += path.stat().st_size
    return dict(sizes.most_common())


def frequent_words(corpus: Corpus, top: int | None) -> list[dict[str, Any]]:
    """Return the most frequent words without punctuation, with their counts."""
    vocabulary = corpus.vocabulary
    types = np.flatnonzero(~vocabulary.punctuation & (vocabulary.counts > 0))[:top].tolist()
    return [_word(vocabulary, each) for each in types if vocabulary[each] != PRUNED]


def _word(vocabulary: Vocabulary, type_id: int) -> dict[str, Any]:
    """Return a word with its counts."""
    return {
        "word": vocabulary[type_id],
        "count": int(vocabulary.counts[type_id]),
        "documents": int(vocabulary.document_counts[type_id]),
    }


def type_token_curve(corpus: Corpus) -> list[dict[str, int]]:
    """Return the number of types after each power of two of tokens, and at the end."""
    powers = 2 ** np.arange(10, 10 + _CURVE_POINTS * 2, dtype=np.int64)
    marks = np.append(powers[powers < corpus.n_tokens], corpus.n_tokens)
    seen = np.zeros(len(corpus.vocabulary), dtype=bool)
    new = np.zeros(len(marks) + 1, dtype=np.int64)
    first = 0
    for shard in corpus.shards:
        count_new_types(shard.ids, first, seen, marks, new)
        first += len(shard.ids)
    types = np.cumsum(new[:-1])
    return [
        {"tokens": int(mark), "types": int(count)} for mark, count in zip(marks, types, strict=True)
    ]


def _count_duplicates(corpus: Corpus) -> int:
    """Count paragraphs that repeat an earlier one."""
    hashes = []
    for shard in corpus.shards:
        offsets = shard.array("paragraphs")
        hashes.append(np.empty(len(offsets) - 1, dtype=np.uint64))
        hash_parts(shard.ids, offsets, hashes[-1])
    all_hashes = np.concatenate(hashes)
    return len(all_hashes) - len(np.unique(all_hashes))
