"""Subword pieces, learnt from types and counts: the same ids every time."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from corpora.common.errors import SettingError
from corpora.tokenizer.merge_kernels import OUTSIDE, learn_merges

Kind = Literal["wordpiece", "bpe"]
KINDS: tuple[str, ...] = get_args(Kind)
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PAD, UNK, CLS, SEP, MASK = range(5)
FIRST_PIECE = len(SPECIAL)
CONTINUATION = "##"
# The greedy search takes time in the square of the length of a word: 0.1 s at this many.
MAX_CHARACTERS = 1000
# A word that begins so could be taken for a special piece or for the rest of another word.
_MISTAKABLE = (*SPECIAL, CONTINUATION)
_WORDS_AT_ONCE = 1 << 14


class Pieces:
    """The pieces of a corpus and how words are divided into them. Never changed once made.

    The ids are those of the ``tokenizers`` library, which does the dividing: WordPiece takes
    the longest piece that fits, from left to right; BPE repeats the merges in their order.
    """

    def __init__(
        self, kind: Kind, names: Sequence[str], merges: Sequence[tuple[str, str]] = ()
    ) -> None:
        self.kind = kind
        self.names = tuple(names)
        self.merges = tuple(merges)
        self.continues = np.array([name.startswith(CONTINUATION) for name in self.names])
        self.continues.flags.writeable = False

    def __len__(self) -> int:
        return len(self.names)

    def split(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Divide words into pieces, on one core."""
        # returns ids: int32 (n,); returns offsets: int64 (len(words) + 1,)
        parts = [
            self._split_some(words[first : first + _WORDS_AT_ONCE])
            for first in range(0, len(words), _WORDS_AT_ONCE)
        ]
        offsets = np.zeros(len(words) + 1, dtype=np.int64)
        if not parts:
            return np.zeros(0, dtype=np.int32), offsets
        np.cumsum(np.concatenate([lengths for _, lengths in parts]), out=offsets[1:])
        return np.concatenate([ids for ids, _ in parts]), offsets

    @cached_property
    def model(self) -> Any:
        """The library's model, a ``tokenizers.models.WordPiece`` or ``BPE``."""
        from tokenizers import models

        vocabulary = {name: piece for piece, name in enumerate(self.names)}
        if self.kind == "wordpiece":
            return models.WordPiece(
                vocabulary, unk_token=SPECIAL[UNK], max_input_chars_per_word=MAX_CHARACTERS
            )
        return models.BPE(
            vocabulary,
            list(self.merges),
            unk_token=SPECIAL[UNK],
            continuing_subword_prefix=CONTINUATION,
        )

    @cached_property
    def _library(self) -> Any:
        """The library's tokenizer without normalizer, pre-tokenizer and special tokens."""
        from tokenizers import Tokenizer

        return Tokenizer(self.model)

    def _split_some(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """The pieces of a few words, and how many each has."""
        # the library gives no pieces for empty words
        safe = ["" if word.startswith(_MISTAKABLE) else word for word in words]
        encoding = self._library.encode(safe, is_pretokenized=True, add_special_tokens=False)
        ids = np.array(encoding.ids, dtype=np.int32)
        word_of = np.array(encoding.word_ids, dtype=np.int64)
        known = np.bincount(word_of, minlength=len(words)) > 0
        known[word_of[ids == UNK]] = False  # BPE has [UNK] for a character, we for its word
        kept = known[word_of]
        lengths = np.bincount(word_of[kept], minlength=len(words))
        lengths[~known] = 1
        out = np.full(lengths.sum(), UNK, dtype=np.int32)
        out[np.repeat(known, lengths)] = ids[kept]
        return out, lengths


def auto_vocabulary_size(n_tokens: int) -> int:
    """Choose the number of pieces by the size of the corpus, as ``--pieces auto`` does."""
    if n_tokens < 20_000_000:
        return 8_000
    return 16_000 if n_tokens < 200_000_000 else 32_000


def learn_pieces(
    words: Sequence[str],
    counts: np.ndarray,
    *,
    size: int,
    kind: Kind = "wordpiece",
    coverage: float = 0.9995,
    exactly: bool = True,
) -> Pieces:
    """Learn pieces by merging the most frequent pair of neighbors until there are enough.

    The pieces are the same on every machine, in whatever order the words come: ties go to
    the pair whose left piece was there first, then to the right one's; single characters are
    there in the order of their code points. Both kinds learn the same pieces; they differ in
    how they divide a word.

    Sennrich, Haddow, Birch 2016 (arXiv:1508.07909), section 3.2, without an end-of-word
    symbol: the first piece of a word is told from the others instead.
    """
    # counts: int64 (V,)
    if kind not in KINDS:
        raise SettingError(f"pieces must be one of {', '.join(KINDS)}, got {kind!r}")
    if not 0 < coverage <= 1:
        raise SettingError(f"coverage must be above 0 and at most 1, got {coverage}")
    codes, word_of, counts = _learnable(words, counts, coverage)
    if not len(counts):
        raise SettingError(f"`pieces={size}`: the corpus has no words to learn pieces from")
    alphabet, symbols = _alphabet(codes, word_of)
    n_single = FIRST_PIECE + len(alphabet)
    if not exactly:
        size = max(size, n_single)
    if size < n_single:
        raise SettingError(
            f"`pieces={size}`: characters and special pieces alone are {n_single}; "
            f"pass `pieces={n_single}` or more"
        )
    merges = np.empty((size - n_single, 2), dtype=np.int32)
    n_merges = learn_merges(*_bordered(symbols, word_of), counts, n_single, merges)
    if n_merges < len(merges) and exactly:
        most = n_single + n_merges
        raise SettingError(
            f"`pieces={size}`: the words of this corpus give at most {most} pieces; "
            f"pass `pieces={most}` or less"
        )
    names = [*SPECIAL, *alphabet]
    pairs = []
    for left, right in merges[:n_merges].tolist():
        pairs.append((names[left], names[right]))
        names.append(names[left] + names[right].removeprefix(CONTINUATION))
    return Pieces(kind, names, pairs if kind == "bpe" else ())


def _learnable(
    words: Sequence[str], counts: np.ndarray, coverage: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Code points of the words that are learnt from, the word of each, and the words' counts."""
    lengths = np.fromiter(
        (0 if word.startswith(_MISTAKABLE) else len(word) for word in words),
        dtype=np.int64,
        count=len(words),
    )
    lengths[(counts <= 0) | (lengths > MAX_CHARACTERS)] = 0
    chosen = np.flatnonzero(lengths)
    text = "".join([words[i] for i in chosen.tolist()]).encode("utf-32-le")
    codes = np.frombuffer(text, dtype=np.uint32)
    word_of = np.repeat(np.arange(len(chosen), dtype=np.int32), lengths[chosen])
    rare = ~_covered(codes, counts[chosen][word_of], coverage)[codes]
    whole = np.ones(len(chosen), dtype=bool)
    whole[word_of[rare]] = False
    kept = whole[word_of]
    number = np.cumsum(whole, dtype=np.int32) - 1
    return codes[kept], number[word_of[kept]], counts[chosen][whole].astype(np.int64)


def _covered(codes: np.ndarray, counts: np.ndarray, coverage: float) -> np.ndarray:
    """Which code points to keep: the most frequent, until they make up enough of the text."""
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
    """Single characters as pieces, those that begin words first, and the text in their ids."""
    begins = np.diff(word_of, prepend=-1) > 0
    first, rest = np.unique(codes[begins]), np.unique(codes[~begins])
    symbols = np.where(
        begins, np.searchsorted(first, codes), len(first) + np.searchsorted(rest, codes)
    )
    names = [chr(code) for code in first] + [CONTINUATION + chr(code) for code in rest]
    return names, (FIRST_PIECE + symbols).astype(np.int32)


def _bordered(symbols: np.ndarray, word_of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Put a border before the first word and after each, as the kernel wants it."""
    slots = np.arange(1, len(symbols) + 1) + word_of
    n_slots = len(symbols) + int(word_of[-1]) + 2
    bordered = np.full(n_slots, OUTSIDE, dtype=np.int32)
    bordered[slots] = symbols
    words = np.zeros(n_slots, dtype=np.int32)
    words[slots] = word_of
    return bordered, words
