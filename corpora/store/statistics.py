"""What a corpus is like: sizes, frequent words, growth of the vocabulary, repetition."""

from typing import Any

import numpy as np

from corpora.store.corpus import Corpus
from corpora.store.view_kernels import count_new_types, hash_parts

_CURVE_POINTS = 20


def describe(corpus: Corpus, *, n_frequent: int = 20) -> dict[str, Any]:
    """Measure a corpus.

    Parameters
    ----------
    corpus : Corpus
        All its documents count, held out or not.
    n_frequent : int
        How many of the most frequent words to list.

    Returns
    -------
    dict
        JSON: ``documents``, ``paragraphs``, ``sentences``, ``tokens``, ``types``, ``hapaxes``
        (types that occur once), ``type_token_ratio``, ``unknown_bytes`` (share of the
        text's bytes that were dropped, U+FFFD for what was replaced among them),
        ``duplicate_lines`` (paragraphs whose tokens equal those of an earlier one),
        ``most_frequent``, ``type_token_curve``.
    """
    manifest = corpus.manifest
    tally = manifest["tally"]
    vocabulary = corpus.vocabulary
    n_frequent = min(n_frequent, len(vocabulary))
    sizes = ("documents", "paragraphs", "sentences", "tokens", "types")
    return {
        "path": str(corpus.path),
        "fingerprint": corpus.fingerprint,
        **{name: manifest[name] for name in sizes},
        "hapaxes": int((vocabulary.counts == 1).sum()),
        "type_token_ratio": manifest["types"] / manifest["tokens"],
        "bytes": tally["bytes"],
        "unknown_bytes": tally["dropped_bytes"] / tally["bytes"],
        "duplicate_lines": _duplicates(corpus),
        "held_out_documents": manifest["held_out_documents"],
        "held_out_tokens": manifest["held_out_tokens"],
        "text": manifest["text"],
        "tally": tally,
        "most_frequent": [
            {"word": word, "count": int(count), "documents": int(documents)}
            for word, count, documents in zip(
                vocabulary.words(0, n_frequent),
                vocabulary.counts[:n_frequent],
                vocabulary.document_counts[:n_frequent],
                strict=True,
            )
        ],
        "type_token_curve": _curve(corpus),
    }


def _curve(corpus: Corpus) -> list[dict[str, int]]:
    """Types after each power of two of tokens, and at the end."""
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


def _duplicates(corpus: Corpus) -> int:
    """Paragraphs that repeat an earlier one."""
    hashes = []
    for shard in corpus.shards:
        offsets = shard.array("paragraphs")
        hashes.append(np.empty(len(offsets) - 1, dtype=np.uint64))
        hash_parts(shard.ids, offsets, hashes[-1])
    everything = np.concatenate(hashes)
    return len(everything) - len(np.unique(everything))
