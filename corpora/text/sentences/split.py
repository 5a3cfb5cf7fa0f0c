"""Rule-based sentence splitting for many languages, on raw cased text before segmentation.

A period that is not part of an abbreviation or number ends a sentence if what follows can
begin one: a capital, a digit, a letter of a script without case, or a symbol.
"""

import functools
from itertools import pairwise
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.text.sentences.rules import PARTICLES, TERMINATORS, character_classes, word_flags


@functools.cache
def _tables() -> tuple[np.ndarray, ...]:
    """Return the data for the kernel: lead bytes, classes, word table, particles."""
    from firth.corpora.text.sentences.character_kernels import build_table

    leads = np.zeros(256, dtype=np.bool_)
    leads[[character.encode()[0] for group in TERMINATORS.values() for character in group]] = True
    words = [word.encode() for word in word_flags()]
    offsets = offsets_of(map(len, words))
    table = np.zeros((1 << (2 * len(words)).bit_length(), 2), dtype=np.uint64)
    text = np.frombuffer(b"".join(words), dtype=np.uint8)
    build_table(text, offsets, np.array(list(word_flags().values())), table)
    particles = np.zeros((len(PARTICLES), 16), dtype=np.uint8)
    for row, particle in zip(particles, PARTICLES, strict=True):
        encoded = particle.encode()
        row[: 1 + len(encoded)] = [len(encoded), *encoded]
    return leads, character_classes(), table, particles


def sentence_offsets(
    text: np.ndarray[Any, np.dtype[np.uint8]], paragraphs: np.ndarray[Any, np.dtype[np.int64]]
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the byte offsets of sentences, int64 (n_sentences + 1,).

    Paragraphs are independent of each other. Spaces between two sentences belong to the first.
    """
    # text: uint8 (n_bytes,); paragraphs: int64 (n_paragraphs + 1,), byte offsets
    from firth.corpora.text.sentences.boundary_kernels import find_sentences

    offsets = np.empty(len(text) + 1, dtype=np.int64)
    n_sentences = find_sentences(text, paragraphs, *_tables(), offsets)
    return offsets[: n_sentences + 1].copy()


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences; each line is a paragraph."""
    encoded = text.encode()
    buffer = np.frombuffer(encoded, dtype=np.uint8)
    ends = np.flatnonzero(buffer == ord("\n")) + 1
    paragraphs = np.unique(np.concatenate([[0], ends, [len(buffer)]])).astype(np.int64)
    offsets = sentence_offsets(buffer, paragraphs)
    return [encoded[a:b].decode() for a, b in pairwise(offsets.tolist())]
