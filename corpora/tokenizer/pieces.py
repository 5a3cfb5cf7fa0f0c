"""Subword pieces (WordPiece), learned deterministically from types and counts."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.common.errors import SettingError
from firth.corpora.tokenizer.merge_kernels import BOUNDARY, learn_merges

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PAD, UNK, CLS, SEP, MASK = range(5)
FIRST_PIECE = len(SPECIAL)
CONTINUATION = "##"
# Greedy search is quadratic in the length of a word: 0.1 s at this length.
MAX_CHARACTERS = 1000
# Words with these prefixes could be taken for a special piece or a continuation.
_AMBIGUOUS = (*SPECIAL, CONTINUATION)
_BATCH_WORDS = 1 << 14


class Pieces:
    """An immutable subword vocabulary that splits words, as the ``tokenizers`` library does."""

    unknown = UNK

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.continues = np.array([name.startswith(CONTINUATION) for name in self.names])
        self.continues.flags.writeable = False

    def __len__(self) -> int:
        return len(self.names)

    def split(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return ids and offsets of the pieces of words; an unknown word is one [UNK]."""
        # ids: int32 (n_pieces,); offsets: int64 (n_words + 1,)
        parts = [
            self._split_batch(words[first : first + _BATCH_WORDS])
            for first in range(0, len(words), _BATCH_WORDS)
        ]
        if not parts:
            return np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64)
        ids, lengths = (np.concatenate(each) for each in zip(*parts, strict=True))
        return ids, offsets_of(lengths)

    def covers(self, words: Sequence[str]) -> np.ndarray:
        """Return which words can be split, bool (n_words,); others become [UNK]."""
        ids, offsets = self.split(words)
        return np.asarray(ids[offsets[:-1]] != UNK)

    @cached_property
    def model(self) -> Any:
        """The library's model, a ``tokenizers.models.WordPiece``."""
        from tokenizers import models

        vocabulary = {name: piece for piece, name in enumerate(self.names)}
        return models.WordPiece(
            vocabulary, unk_token=SPECIAL[UNK], max_input_chars_per_word=MAX_CHARACTERS
        )

    @cached_property
    def _library(self) -> Any:
        """The library's tokenizer, without normalizer, pre-tokenizer and special tokens."""
        from tokenizers import Tokenizer

        return Tokenizer(self.model)

    def _split_batch(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the pieces of a batch of words, and how many each has."""
        # the library returns no pieces for empty words
        safe = ["" if word.startswith(_AMBIGUOUS) else word for word in words]
        encoding = self._library.encode(safe, is_pretokenized=True, add_special_tokens=False)
        ids = np.array(encoding.ids, dtype=np.int32)
        word_of = np.array(encoding.word_ids, dtype=np.int64)
        lengths = np.bincount(word_of, minlength=len(words))
        split = lengths > 0
        lengths[~split] = 1
        out = np.full(lengths.sum(), UNK, dtype=np.int32)
        out[np.repeat(split, lengths)] = ids
        return out, lengths


def auto_vocabulary_size(n_tokens: int) -> int:
    """Return the number of pieces for a corpus size, as ``--pieces auto`` does."""
    if n_tokens < 20_000_000:
        return 8_000
    return 16_000 if n_tokens < 200_000_000 else 32_000


def learn_pieces(
    words: Sequence[str],
    counts: np.ndarray,
    *,
    size: int,
    coverage: float = 0.9995,
    exact: bool = True,
) -> Pieces:
    """Learn ``size`` pieces by repeatedly merging the most frequent adjacent pair.

    Single characters are kept until they cover ``coverage`` of the text. With ``exact`` a size
    that cannot be reached is an error, else the nearest one is taken.

    The result depends neither on the machine nor on the order of words: ties go to the pair
    whose left piece is older, then to the older right one; characters are ordered by code point.

    Sennrich, Haddow, Birch 2016 (arXiv:1508.07909), section 3.2, with continuation pieces
    instead of an end-of-word symbol.
    """
    # counts: int64 (V,)
    if not 0 < coverage <= 1:
        raise SettingError(f"coverage must be above 0 and at most 1, got {coverage}")
    codes, word_of, counts = _training_words(words, counts, coverage)
    if not len(counts):
        raise SettingError(f"`pieces={size}`: the corpus has no words to learn pieces from")
    alphabet, symbols = _alphabet(codes, word_of)
    n_single = FIRST_PIECE + len(alphabet)
    if not exact:
        size = max(size, n_single)
    if size < n_single:
        raise SettingError(
            f"`pieces={size}`: the characters and special pieces already need {n_single}; "
            f"pass `pieces={n_single}` or more"
        )
    merges = np.empty((size - n_single, 2), dtype=np.int32)
    n_merges = learn_merges(*_with_boundaries(symbols, word_of), counts, n_single, merges)
    if n_merges < len(merges) and exact:
        most = n_single + n_merges
        raise SettingError(
            f"`pieces={size}`: this corpus yields at most {most} pieces; "
            f"pass `pieces={most}` or less"
        )
    names = [*SPECIAL, *alphabet]
    for left, right in merges[:n_merges].tolist():
        names.append(names[left] + names[right].removeprefix(CONTINUATION))
    return Pieces(names)


def _training_words(
    words: Sequence[str], counts: np.ndarray, coverage: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the code points of the training words, the word of each, and the word counts."""
    lengths = np.fromiter(
        (0 if word.startswith(_AMBIGUOUS) else len(word) for word in words),
        dtype=np.int64,
        count=len(words),
    )
    lengths[(counts <= 0) | (lengths > MAX_CHARACTERS)] = 0
    chosen = np.flatnonzero(lengths)
    text = "".join([words[i] for i in chosen.tolist()]).encode("utf-32-le")
    codes = np.frombuffer(text, dtype=np.uint32)
    word_of = np.repeat(np.arange(len(chosen), dtype=np.int32), lengths[chosen])
    rare = ~_frequent_characters(codes, counts[chosen][word_of], coverage)[codes]
    whole = np.ones(len(chosen), dtype=bool)
    whole[word_of[rare]] = False
    kept = whole[word_of]
    number = np.cumsum(whole, dtype=np.int32) - 1
    return codes[kept], number[word_of[kept]], counts[chosen][whole].astype(np.int64)


def _frequent_characters(codes: np.ndarray, counts: np.ndarray, coverage: float) -> np.ndarray:
    """Return a mask of the most frequent code points that cover enough of the text."""
    frequencies = np.bincount(codes, weights=counts)  # exact: sums of integers below 2^53
    by_count = np.argsort(-frequencies, kind="stable")
    summed = np.cumsum(frequencies[by_count])
    n_kept = 0
    if len(summed):
        n_kept = int(np.searchsorted(summed, coverage * summed[-1])) + 1
    keep = np.zeros(len(frequencies), dtype=bool)
    keep[by_count[:n_kept]] = True
    return keep


def _alphabet(codes: np.ndarray, word_of: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return single-character pieces, initial ones first, and the text as their ids."""
    begins = np.diff(word_of, prepend=-1) > 0
    first, rest = np.unique(codes[begins]), np.unique(codes[~begins])
    symbols = np.where(
        begins, np.searchsorted(first, codes), len(first) + np.searchsorted(rest, codes)
    )
    names = [chr(code) for code in first] + [CONTINUATION + chr(code) for code in rest]
    return names, (FIRST_PIECE + symbols).astype(np.int32)


def _with_boundaries(symbols: np.ndarray, word_of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Insert a boundary before the first word and after each, as the kernel expects."""
    slots = np.arange(1, len(symbols) + 1) + word_of
    n_slots = len(symbols) + int(word_of[-1]) + 2
    bordered = np.full(n_slots, BOUNDARY, dtype=np.int32)
    bordered[slots] = symbols
    words = np.zeros(n_slots, dtype=np.int32)
    words[slots] = word_of
    return bordered, words
