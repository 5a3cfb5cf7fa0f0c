"""Pieces of other people's models: any ``tokenizer.json``, asked word by word.

:mod:`corpora.tokenizer.pieces` has our own; here is whatever the ``tokenizers`` library reads.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from corpora.artifacts.artifact import read_json
from corpora.common.errors import ArtifactError

_MARK = "▁"  # what SentencePiece writes for a space
_WORDS_AT_ONCE = 1 << 14


class ExternalTokenizer:
    """A tokenizer, and what it makes of words as they stand within a sentence."""

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        described = read_json(path)
        try:
            self._library = Tokenizer.from_file(str(path))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - its panics are not even an Exception
            told = str(error).strip().splitlines() or [type(error).__name__]
            raise ArtifactError(
                f"{path}: is no tokenizer that the tokenizers library reads ({told[0]}); "
                "save it with a fast tokenizer"
            ) from None
        # whole words are asked for, however many, and the names of special pieces are text
        self._library.no_truncation()
        self._library.no_padding()
        self._library.encode_special_tokens = True
        self._unknown = _unknown_piece(described["model"], self._library)

    def __len__(self) -> int:
        """One more than the highest id, added and special pieces included."""
        return max(self._library.get_vocab(with_added_tokens=True).values(), default=-1) + 1

    def split(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Divide words into pieces, each as if a space stood before it."""
        # returns ids: int64 (n,); returns offsets: int64 (len(words) + 1,)
        ids, lengths = self._split(words)
        spare = 0 if self._unknown is None else self._unknown
        empty = np.flatnonzero(lengths == 0)
        ids = np.insert(ids, np.cumsum(lengths)[empty], spare)
        offsets = np.zeros(len(words) + 1, dtype=np.int64)
        np.cumsum(np.maximum(lengths, 1), out=offsets[1:])
        return ids, offsets

    def knows(self, words: Sequence[str]) -> np.ndarray:
        """Tell which words are all there in their pieces."""
        # returns bool (n_words,)
        ids, lengths = self._split(words)
        known: np.ndarray = lengths > 0
        if self._unknown is not None:
            known[np.repeat(np.arange(len(lengths)), lengths)[ids == self._unknown]] = False
        return known

    def words(self, text: str) -> list[str]:
        """Cut text into words by the tokenizer's own normaliser and pre-tokeniser."""
        text = self._normalized(self._lead + text)
        cutter = self._library.pre_tokenizer
        # offsets, since byte-level pre-tokenisers rewrite the words themselves
        spans = (
            [(0, len(text))] if cutter is None else [o for _, o in cutter.pre_tokenize_str(text)]
        )
        return [word for a, b in spans for word in text[a:b].replace(_MARK, " ").split()]

    def whole_words(self) -> tuple[list[str], np.ndarray]:
        """List the words that are a single piece."""
        # returns ids: int64 (n,)
        named = [(piece, text.strip()) for piece, text in enumerate(self._texts())]
        named = [(piece, name) for piece, name in named if name.split() == [name]]
        pieces = np.array([piece for piece, _ in named], dtype=np.int64)
        names = [name for _, name in named]
        ids, lengths = self._split(names)
        own = (lengths == 1) & (pieces != (-1 if self._unknown is None else self._unknown))
        starts = np.cumsum(lengths) - lengths
        own[own] = ids[starts[own]] == pieces[own]
        return [names[place] for place in np.flatnonzero(own).tolist()], pieces[own]

    @cached_property
    def frame(self) -> tuple[list[int], list[int]]:
        """The special pieces that go before and after a sentence."""
        for text in self._samples():
            try:
                encoding = self._library.encode([text], is_pretokenized=True)
            except Exception:  # noqa: BLE001 - as in _split_some
                continue
            inside = np.flatnonzero(np.array(encoding.special_tokens_mask) == 0)
            if len(inside):
                return encoding.ids[: inside[0]], encoding.ids[inside[-1] + 1 :]
        return [], []

    @cached_property
    def _lead(self) -> str:
        """What makes a word look as it does after others: a space, unless the normaliser does."""
        marks = self._normalized("a").startswith(_MARK)
        return "" if marks or self._library.pre_tokenizer is None else " "

    def _texts(self) -> list[str]:
        """What each piece stands for; nothing for a special one."""
        singles = [[piece] for piece in range(len(self))]
        texts: list[str] = self._library.decode_batch(singles, skip_special_tokens=True)
        return texts

    def _samples(self) -> Iterator[str]:
        """Texts that have pieces, if any has; most have the first."""
        yield "a"
        yield from filter(str.strip, self._texts())

    def _normalized(self, text: str) -> str:
        normalizer = self._library.normalizer
        normalized: str = text if normalizer is None else normalizer.normalize_str(text)
        return normalized

    def _split(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """The pieces of words, and how many each has, perhaps none."""
        parts = [
            self._split_some(words[first : first + _WORDS_AT_ONCE])
            for first in range(0, max(len(words), 1), _WORDS_AT_ONCE)
        ]
        ids, lengths = zip(*parts, strict=True)
        return np.concatenate(ids), np.concatenate(lengths)

    def _split_some(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        led = [self._lead + word if word else "" for word in words]  # a lone space is a piece
        try:
            encoding = self._library.encode(led, is_pretokenized=True, add_special_tokens=False)
        except Exception:  # noqa: BLE001 - of a character without a piece, nothing more special
            if len(words) == 1:
                return np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
            ids, lengths = zip(*(self._split_some([word]) for word in words), strict=True)
            return np.concatenate(ids), np.concatenate(lengths)
        word_of = np.array(encoding.word_ids, dtype=np.int64)
        return np.array(encoding.ids, dtype=np.int64), np.bincount(word_of, minlength=len(words))


def _unknown_piece(model: dict[str, Any], library: Any) -> int | None:
    """The id of [UNK]; byte-level models have none."""
    if isinstance(number := model.get("unk_id"), int):
        return number
    name = model.get("unk_token")
    return None if name is None else library.token_to_id(name)
