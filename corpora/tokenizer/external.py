"""Tokenizers of external models: any ``tokenizer.json`` that the ``tokenizers`` library reads."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.artifacts.artifact import read_json
from firth.corpora.common.errors import ArtifactError
from firth.corpora.text.joining import SpelledWords, spelled

_SPACE_MARK = "▁"  # SentencePiece's space
_WORD = re.compile(rf"[^\s{_SPACE_MARK}]+")
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
        self.unknown = _unknown_piece(described["model"], self._library)
        self.frame = self._frame()  # the special pieces before and after a sentence
        self._library.post_processor = None  # it would trim spaces from the places of pieces

    def __len__(self) -> int:
        """Return the highest id plus one, counting added and special pieces."""
        return max(self._library.get_vocab(with_added_tokens=True).values(), default=-1) + 1

    def split(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return ids and offsets of the pieces of words, each as if after a space, at least one."""
        # ids: int64 (n_pieces,); offsets: int64 (n_words + 1,)
        ids, lengths = self._split(words)
        fallback = 0 if self.unknown is None else self.unknown
        empty = np.flatnonzero(lengths == 0)
        ids = np.insert(ids, np.cumsum(lengths)[empty], fallback)
        return ids, offsets_of(np.maximum(lengths, 1))

    def covers(self, words: Sequence[str]) -> np.ndarray:
        """Return which words have pieces without an unknown one, bool (n_words,)."""
        ids, lengths = self._split(words)
        known: np.ndarray = lengths > 0
        if self.unknown is not None:
            known[np.repeat(np.arange(len(lengths)), lengths)[ids == self.unknown]] = False
        return known

    def split_sentences(self, sentences: Iterable[Sequence[str]]) -> tuple[np.ndarray, ...]:
        """Return the pieces of sentences as the model's tokenizer reads their text, in groups.

        A group has the pieces of a word and of the white space before it. Words that are part of
        one piece share a group. Where a word has no piece at all, the words of the sentence are
        split one by one.
        """
        # ids: int64 (n_pieces,); bounds: int64 (n_groups + 1,); offsets: int64 (n_sentences + 1,),
        # of sentences among the groups; groups: int64 (n_words,)
        empty = np.zeros(0, dtype=np.int64)
        parts = [self._split_text(spelled(words)) for words in sentences]
        offsets = offsets_of(len(lengths) for _, lengths, _ in parts)
        groups = [first + part for first, (*_, part) in zip(offsets.tolist(), parts, strict=False)]
        ids, lengths = (np.concatenate([empty, *(part[n] for part in parts)]) for n in (0, 1))
        return ids, offsets_of(lengths), offsets, np.concatenate([empty, *groups])

    def words(self, text: str) -> list[str]:
        """Divide text into words with the tokenizer's own normalizer and pre-tokenizer."""
        normalized, places = self._normalized_places(text)
        splitter = self._library.pre_tokenizer
        # offsets, since byte-level pre-tokenizers rewrite the words
        parts = (
            [(0, len(normalized))]
            if splitter is None
            else [part for _, part in splitter.pre_tokenize_str(normalized)]
        )
        # without repetitions, since a space that the splitter adds has the place of a word
        distinct = dict.fromkeys(parts)
        found = [match for a, b in distinct for match in _WORD.finditer(normalized, a, b)]
        spans = [(places[match.start()][0], places[match.end() - 1][1]) for match in found]
        return SpelledWords([match.group() for match in found], text, spans)

    def whole_words(self) -> tuple[list[str], np.ndarray]:
        """Return the words that are a single piece, and their ids, int64 (n_words,)."""
        named = [(piece, text.strip()) for piece, text in enumerate(self._texts())]
        named = [(piece, name) for piece, name in named if name.split() == [name]]
        pieces = np.array([piece for piece, _ in named], dtype=np.int64)
        names = [name for _, name in named]
        ids, lengths = self._split(names)
        own = (lengths == 1) & (pieces != (-1 if self.unknown is None else self.unknown))
        starts = np.cumsum(lengths) - lengths
        own[own] = ids[starts[own]] == pieces[own]
        return [names[i] for i in np.flatnonzero(own).tolist()], pieces[own]

    def _frame(self) -> tuple[list[int], list[int]]:
        """Return the special pieces before and after a sentence."""
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
    def names(self) -> list[str]:
        """The name of each piece; empty where an id has none."""
        return [self._library.id_to_token(piece) or "" for piece in range(len(self))]

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

    def _normalized_places(self, text: str) -> tuple[str, Sequence[tuple[int, int]]]:
        """Normalize text; return start and stop in the text of each character as well."""
        from tokenizers import PreTokenizedString, Regex, pre_tokenizers

        if self._normalized(text) == text:
            return text, [(place, place + 1) for place in range(len(text))]
        characters = PreTokenizedString(text)
        characters.normalize(self._library.normalizer.normalize)
        pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated").pre_tokenize(characters)
        found = characters.get_splits("original", "char")
        return "".join(character for character, *_ in found), [place for _, place, _ in found]

    def _split_text(self, words: SpelledWords) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the pieces of the text of words, the length of each group, and words' groups."""
        try:
            encoding = self._library.encode(words.text, add_special_tokens=False)
        except Exception:  # noqa: BLE001 - as in _split_batch
            found = None
        else:
            found = _grouped(np.array(encoding.offsets), np.array(words.spans))
        if found is not None:
            return np.array(encoding.ids, dtype=np.int64), *found
        ids, bounds = self.split(words)
        return ids, np.diff(bounds), np.arange(len(words))

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


def _grouped(pieces: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the length of each group of pieces, and words' groups; None if a word has no piece."""
    # pieces: int64 (n_pieces, 2) and words: int64 (n_words, 2), starts and stops in a text
    if not len(pieces) or not len(words):
        return None
    # the last word that begins before the end of a piece, or the next one if it ends before it
    last = np.searchsorted(words[:, 0], pieces[:, 1] - 1, side="right") - 1
    owners = np.where(pieces[:, 0] < words[last, 1], last, last + 1).clip(0, len(words) - 1)
    counts = np.bincount(np.maximum.accumulate(owners), minlength=len(words))
    has_pieces = counts > 0
    lengths = counts[has_pieces]
    groups: np.ndarray = np.cumsum(has_pieces) - has_pieces  # without a piece, the next one
    firsts = np.append(pieces[offsets_of(lengths)[:-1], 0], np.iinfo(np.int64).max)[groups]
    shared = np.maximum(firsts, words[:, 0]) < words[:, 1]
    return (lengths, groups) if (shared | has_pieces).all() else None


def _unknown_piece(model: dict[str, Any], library: Any) -> int | None:
    """Return the id of the unknown piece; byte-level models have none."""
    if isinstance(number := model.get("unk_id"), int):
        return number
    name = model.get("unk_token")
    return None if name is None else library.token_to_id(name)
