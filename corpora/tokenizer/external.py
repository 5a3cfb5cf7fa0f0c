"""Tokenizers of external models: any ``tokenizer.json`` that the ``tokenizers`` library reads."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.artifacts.artifact import read_json
from firth.corpora.common.errors import ArtifactError

_SPACE_MARK = "▁"  # SentencePiece's space
_BATCH_WORDS = 1 << 14


class ExternalTokenizer:
    """Splits words into the pieces that they have inside a sentence."""

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        described = read_json(path)
        try:
            self._library = Tokenizer.from_file(str(path))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - Rust panics are not an Exception
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise ArtifactError(
                f"{path}: not a tokenizer that the tokenizers library can read ({lines[0]}); "
                "save it with a fast tokenizer"
            ) from None
        # words are neither truncated nor padded, and names of special pieces are plain text
        self._library.no_truncation()
        self._library.no_padding()
        self._library.encode_special_tokens = True
        self._unknown = _unknown_piece(described["model"], self._library)

    def __len__(self) -> int:
        """Return the highest id plus one, counting added and special pieces."""
        return max(self._library.get_vocab(with_added_tokens=True).values(), default=-1) + 1

    def split(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return ids and offsets of the pieces of words, each as if after a space.

        A word without pieces gets the unknown piece, or piece 0 if there is none.
        """
        # ids: int64 (n_pieces,); offsets: int64 (n_words + 1,)
        ids, lengths = self._split(words)
        fallback = 0 if self._unknown is None else self._unknown
        empty = np.flatnonzero(lengths == 0)
        ids = np.insert(ids, np.cumsum(lengths)[empty], fallback)
        return ids, offsets_of(np.maximum(lengths, 1))

    def covers(self, words: Sequence[str]) -> np.ndarray:
        """Return which words have pieces without an unknown one, bool (n_words,)."""
        ids, lengths = self._split(words)
        known: np.ndarray = lengths > 0
        if self._unknown is not None:
            known[np.repeat(np.arange(len(lengths)), lengths)[ids == self._unknown]] = False
        return known

    def words(self, text: str) -> list[str]:
        """Divide text into words with the tokenizer's own normalizer and pre-tokenizer."""
        text = self._normalized(self._prefix + text)
        splitter = self._library.pre_tokenizer
        # offsets, since byte-level pre-tokenizers rewrite the words
        spans = (
            [(0, len(text))]
            if splitter is None
            else [o for _, o in splitter.pre_tokenize_str(text)]
        )
        return [word for a, b in spans for word in text[a:b].replace(_SPACE_MARK, " ").split()]

    def whole_words(self) -> tuple[list[str], np.ndarray]:
        """Return the words that are a single piece, and their ids, int64 (n_words,)."""
        named = [(piece, text.strip()) for piece, text in enumerate(self._texts())]
        named = [(piece, name) for piece, name in named if name.split() == [name]]
        pieces = np.array([piece for piece, _ in named], dtype=np.int64)
        names = [name for _, name in named]
        ids, lengths = self._split(names)
        own = (lengths == 1) & (pieces != (-1 if self._unknown is None else self._unknown))
        starts = np.cumsum(lengths) - lengths
        own[own] = ids[starts[own]] == pieces[own]
        return [names[i] for i in np.flatnonzero(own).tolist()], pieces[own]

    @cached_property
    def frame(self) -> tuple[list[int], list[int]]:
        """The special pieces before and after a sentence."""
        for text in self._candidate_texts():
            try:
                encoding = self._library.encode([text], is_pretokenized=True)
            except Exception:  # noqa: BLE001 - as in _split_batch
                continue
            inside = np.flatnonzero(np.array(encoding.special_tokens_mask) == 0)
            if len(inside):
                return encoding.ids[: inside[0]], encoding.ids[inside[-1] + 1 :]
        return [], []

    @cached_property
    def _prefix(self) -> str:
        """The prefix of a word inside a sentence: a space, unless the normalizer adds one."""
        added = self._normalized("a").startswith(_SPACE_MARK)
        return "" if added or self._library.pre_tokenizer is None else " "

    def _texts(self) -> list[str]:
        """Return the text of each piece, empty for special ones."""
        singles = [[piece] for piece in range(len(self))]
        texts: list[str] = self._library.decode_batch(singles, skip_special_tokens=True)
        return texts

    def _candidate_texts(self) -> Iterator[str]:
        """Yield candidate texts that may split into pieces; the first usually does."""
        yield "a"
        yield from filter(str.strip, self._texts())

    def _normalized(self, text: str) -> str:
        normalizer = self._library.normalizer
        normalized: str = text if normalizer is None else normalizer.normalize_str(text)
        return normalized

    def _split(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the pieces of words, and how many each has (0 is possible)."""
        parts = [
            self._split_batch(words[first : first + _BATCH_WORDS])
            for first in range(0, max(len(words), 1), _BATCH_WORDS)
        ]
        ids, lengths = zip(*parts, strict=True)
        return np.concatenate(ids), np.concatenate(lengths)

    def _split_batch(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        # an empty word gets no prefix, since a lone space can be a piece
        prefixed = [self._prefix + word if word else "" for word in words]
        try:
            encoding = self._library.encode(
                prefixed, is_pretokenized=True, add_special_tokens=False
            )
        except Exception:  # noqa: BLE001 - a bare Exception for a character without a piece
            if len(words) == 1:
                return np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
            ids, lengths = zip(*(self._split_batch([word]) for word in words), strict=True)
            return np.concatenate(ids), np.concatenate(lengths)
        word_of = np.array(encoding.word_ids, dtype=np.int64)
        return np.array(encoding.ids, dtype=np.int64), np.bincount(word_of, minlength=len(words))


def _unknown_piece(model: dict[str, Any], library: Any) -> int | None:
    """Return the id of the unknown piece; byte-level models have none."""
    if isinstance(number := model.get("unk_id"), int):
        return number
    name = model.get("unk_token")
    return None if name is None else library.token_to_id(name)
