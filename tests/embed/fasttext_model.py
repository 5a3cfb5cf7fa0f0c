"""Writers of fastText ``.bin`` files and of runs with n-grams, for tests."""

import json
import struct

import numpy as np

from firth.embed.vectors.subwords import word_buckets
from firth.embed.vectors.word_vectors import WordVectors

MAGIC = 793712314


def fasttext_bytes(
    words,
    inputs,
    *,
    shortest=3,
    longest=6,
    counts=None,
    labels=(),
    model=2,
    version=12,
    pruned=-1,
    quantized=0,
):
    """Return a model as fastText writes it: header, dictionary, input table, output table."""
    dim = inputs.shape[1]
    entries = [*((word, 0) for word in words), *((label, 1) for label in labels)]
    numbers = iter(counts if counts is not None else range(len(entries), 0, -1))
    header = (dim, 5, 5, 1, 5, 1, 2, model, len(inputs) - len(words), shortest, longest, 100)
    n_outputs = len(labels) if model == 3 else len(words)
    parts = [
        struct.pack("<ii12id", MAGIC, version, *header, 1e-4),
        struct.pack("<3i2q", len(entries), len(words), len(labels), 1234, pruned),
        *(
            word.encode() + b"\0" + struct.pack("<qb", next(numbers), kind)
            for word, kind in entries
        ),
        struct.pack("<bqq", quantized, *inputs.shape) + inputs.astype("<f4").tobytes(),
        struct.pack("<bqq", 0, n_outputs, dim) + np.zeros((n_outputs, dim), "<f4").tobytes(),
    ]
    return b"".join(parts)


def some_inputs(n_words, n_buckets, dim=5, seed=3):
    """Return random rows of words and buckets."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_words + n_buckets, dim)).astype(np.float32)


def composed(words, inputs, n_buckets, shortest=3, longest=6):
    """The definition: the mean of a word's own row and those of its n-grams."""
    starts, buckets = word_buckets(words, shortest, longest, n_buckets)
    grams = inputs[len(words) :]
    return np.array(
        [
            np.vstack([inputs[w][None], grams[buckets[starts[w] : starts[w + 1]]]]).mean(axis=0)
            for w in range(len(words))
        ],
        dtype=np.float32,
    )


def write_run(folder, words, *, dim=5, n_buckets=5000, subwords="3-4", config=None):
    """Write a run trained with n-grams; only the buckets of its own words have rows."""
    shortest, longest = map(int, subwords.split("-"))
    inputs = some_inputs(len(words), n_buckets, dim)
    _, buckets = word_buckets(words, shortest, longest, n_buckets)
    kept = np.unique(buckets)
    folder.mkdir(parents=True, exist_ok=True)
    WordVectors(words, composed(words, inputs, n_buckets, shortest, longest)).write(folder)
    np.save(folder / "inputs.npy", np.vstack([inputs[: len(words)], inputs[len(words) + kept]]))
    np.save(folder / "buckets.npy", kept)
    options = {"text": None, "subwords": subwords, "buckets": n_buckets, **(config or {})}
    (folder / "config.json").write_text(json.dumps(options))
    return inputs, kept
