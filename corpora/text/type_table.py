"""Segments texts; the types have ids in the order of their first occurrence."""

from dataclasses import dataclass

import numpy as np

from firth.corpora.artifacts.arrays import read_strings
from firth.corpora.text.characters import DROPPED, CharacterTable
from firth.corpora.text.segment_kernels import (
    FIRST_DROPPED,
    N_BYTES,
    N_DROPPED,
    N_TOKENS,
    N_TYPES,
    N_UNSPACED,
    POSITION,
    SENTENCE,
    STATE_LENGTH,
    reinsert,
    segment,
    slot_counts,
)

_FIRST_TYPES = 1 << 15
_FIRST_BYTES = 1 << 20
_SHORT = 64  # types and bytes of a short text
_BLOCK = 1 << 20  # bytes whose characters are counted at once
_NO_SPANS = np.empty((0, 2), dtype=np.int64)
# Counts are 32-bit, so a table is closed well before 2^32 tokens.
MAX_TABLE_TOKENS = 1 << 31

Piece = tuple[str, int, int]  # a word, and where it starts and stops in the text


@dataclass(frozen=True)
class Segmented:
    """A text as token ids of one type table."""

    token_ids: np.ndarray  # int32 (n_tokens,)
    offsets: np.ndarray  # int64 (n_sentences + 1,): token offsets of sentences
    n_characters: int
    n_unspaced: int  # characters of scripts written without spaces
    n_dropped: int  # bytes of dropped characters
    dropped: dict[str, int]  # how many of them there are, by kind


class TypeTable:
    """A growing hash table of distinct words, filled by segmenting texts."""

    def __init__(self, types: int = _FIRST_TYPES, arena_bytes: int = _FIRST_BYTES) -> None:
        self._slots = np.zeros((2 * types, 2), dtype=np.uint64)
        self._starts = np.zeros(types + 1, dtype=np.int64)
        self._arena = np.zeros(arena_bytes, dtype=np.uint8)
        self._n_types = 0
        self._n_bytes = 0
        self.n_tokens = 0

    def __len__(self) -> int:
        return self._n_types

    @property
    def nbytes(self) -> int:
        """Memory of the table in bytes."""
        return self._slots.nbytes + self._starts.nbytes + self._arena.nbytes

    @property
    def text(self) -> np.ndarray:
        """uint8 (n_bytes,): the UTF-8 of all types, concatenated."""
        return self._arena[: self._n_bytes]

    @property
    def offsets(self) -> np.ndarray:
        """int64 (n_types + 1,): where each type starts in ``text``."""
        return self._starts[: self._n_types + 1]

    def counts(self) -> np.ndarray:
        """Return the number of tokens of each type, int64 (n_types,)."""
        counts = np.zeros(self._n_types, dtype=np.int64)
        slot_counts(self._slots, counts)
        return counts

    def segment(
        self,
        text: np.ndarray,
        sentences: np.ndarray,
        table: CharacterTable,
        spans: np.ndarray = _NO_SPANS,
    ) -> Segmented:
        """Segment a text, adding unseen types; write where tokens start and stop, if asked."""
        # text: uint8 (n_bytes,), UTF-8; sentences: int64 (n_sentences + 1,), byte offsets
        # spans: int64 (n_bytes, 2) or (0, 2)
        state = np.zeros(STATE_LENGTH, dtype=np.int64)
        state[N_TYPES], state[N_BYTES] = self._n_types, self._n_bytes
        token_ids = np.empty(len(text), dtype=np.int32)
        offsets = np.zeros(len(sentences), dtype=np.int64)
        state[POSITION] = sentences[0]
        while True:
            segment(
                text, sentences, table.entries, table.neighbors,
                self._slots, self._starts, self._arena, state, token_ids, offsets,
                spans,
            )  # fmt: skip
            self._n_types, self._n_bytes = int(state[N_TYPES]), int(state[N_BYTES])
            if state[SENTENCE] >= len(sentences) - 1:
                break
            self._grow()
        n_tokens, dropped = int(state[N_TOKENS]), state[FIRST_DROPPED:].tolist()
        self.n_tokens += n_tokens
        return Segmented(
            token_ids=token_ids[:n_tokens].copy(),  # the buffer is sized for one-byte tokens
            offsets=offsets,
            n_characters=_count_characters(text),
            n_unspaced=int(state[N_UNSPACED]),
            n_dropped=int(state[N_DROPPED]),
            dropped={kind: n for kind, n in zip(DROPPED, dropped, strict=True) if n},
        )

    def _grow(self) -> None:
        """Double the full array; the kernel does not report which one it is."""
        if self._n_types == len(self._starts) - 1:
            slots = np.zeros((2 * len(self._slots), 2), dtype=np.uint64)
            reinsert(self._slots, slots)
            self._slots = slots
            more = np.zeros(len(self._starts) - 1, dtype=np.int64)
            self._starts = np.concatenate([self._starts, more])
        else:
            arena = np.zeros(2 * len(self._arena), dtype=np.uint8)
            arena[: self._n_bytes] = self.text
            self._arena = arena


def segment_short(text: str, table: CharacterTable) -> list[Piece]:
    """Return the words of a short text with their places."""
    raw = np.frombuffer(text.encode(), dtype=np.uint8)
    types, spans = TypeTable(_SHORT, _SHORT), np.empty((len(raw), 2), dtype=np.int64)
    ids = types.segment(raw, np.array([0, len(raw)]), table, spans).token_ids
    words = read_strings(types.text, types.offsets, 0, len(types))
    places = np.cumsum([0, *_starts_character(raw)])[spans[: len(ids)]]
    return [(words[i], *place) for i, place in zip(ids.tolist(), places.tolist(), strict=True)]


def _count_characters(text: np.ndarray) -> int:
    """Count the characters of UTF-8, some bytes at a time: a line may be long."""
    blocks = (text[at : at + _BLOCK] for at in range(0, len(text), _BLOCK))
    return sum(int(np.count_nonzero(_starts_character(block))) for block in blocks)


def _starts_character(text: np.ndarray) -> np.ndarray:
    """Return whether a character starts at each byte of UTF-8."""
    return text & 0xC0 != 0x80
