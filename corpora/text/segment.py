"""Normalization and segmentation: how text becomes words, the same for corpora and queries."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, Self

import numpy as np

from corpora.common.errors import SettingError
from corpora.common.options import check, setting

# Chinese and Japanese words have two characters or so, Thai ones about four.
_LONG_WORD = 6
LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # what Python makes of bytes that are not UTF-8
SEGMENTERS = ("words", "whitespace", "characters", "jieba")


@dataclass(frozen=True, kw_only=True)
class TextSettings:
    """How text is written and divided; every corpus and run carries its own.

    The defaults equal ``BertNormalizer(lowercase=True, strip_accents=False)``
    followed by ``BertPreTokenizer`` of the ``tokenizers`` library.
    """

    keep_case: bool = setting(False, "Keep capitals instead of lower-casing.")
    strip_accents: bool = setting(False, "Remove accents (hatte = hätte): rarely wanted.")
    fold_digits: bool = setting(False, "Write every digit as 0.")
    segmenter: str = setting(
        "words",
        "How words are found: words splits off punctuation, whitespace and characters do as "
        "they say, jieba finds Chinese words (extra: zh).",
        choices=SEGMENTERS,
    )

    def __post_init__(self) -> None:
        check(self)

    def words(self, text: str) -> list[str]:
        """Normalize and divide a text as the corpus was.

        Parameters
        ----------
        text : str
            A query, an evaluation word or a sentence.

        Returns
        -------
        list of str
            Its words; empty where only spaces and control characters are given.

        Raises
        ------
        SettingError
            The text holds half a character, as a command line that is not UTF-8 does; or the
            jieba segmenter was chosen and jieba is not installed.

        Examples
        --------
        >>> TextSettings().words("I don't, Zoë!")
        ['i', 'don', "'", 't', ',', 'zoë', '!']
        """
        if LONE_SURROGATE.search(text):
            raise SettingError(f"{text!r} is not UTF-8; give UTF-8")
        if self.segmenter == "jieba":
            tokens = jieba_cutter()(text)
            inner = replace(self, segmenter="whitespace")
            return [word for token in tokens if (word := " ".join(inner.words(token)))]
        normalized = self._normalizer()(text)
        if self.fold_digits:
            normalized = "".join("0" if c.isdecimal() else c for c in normalized)
        if self.segmenter == "words":
            return [word for word, _ in _pre_tokenizer().pre_tokenize_str(normalized)]
        if self.segmenter == "whitespace":
            return [word for word in normalized.split(" ") if word]
        return _characters(normalized)

    def to_json(self) -> dict[str, Any]:
        """Give the settings as a JSON object.

        Returns
        -------
        dict
            One entry per setting.
        """
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Read what :meth:`to_json` gave.

        Parameters
        ----------
        value : dict
            One entry per setting.

        Returns
        -------
        TextSettings
            Checked.

        Raises
        ------
        SettingError
            An entry is no setting of this version.
        """
        try:
            return cls(**value)
        except TypeError:
            raise SettingError(f"text settings {value!r} are of another version") from None

    def _normalizer(self) -> Callable[[str], str]:
        """The library's normalizer for these settings."""
        from tokenizers.normalizers import BertNormalizer

        normalizer = BertNormalizer(
            handle_chinese_chars=self.segmenter == "words",
            strip_accents=self.strip_accents,
            lowercase=not self.keep_case,
        )
        normalize: Callable[[str], str] = normalizer.normalize_str
        return normalize


def strip_accents(text: str) -> str:
    """Remove accents as the library does, keeping line ends."""
    from tokenizers.normalizers import BertNormalizer

    normalize = BertNormalizer(
        clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False
    ).normalize_str
    return "\n".join(normalize(line) for line in text.split("\n"))


@cache
def jieba_cutter() -> Callable[[str], list[str]]:
    """Load the Chinese segmenter."""
    try:
        import jieba
    except ImportError:
        raise SettingError(
            "`segmenter=jieba` needs the package jieba; pip install 'firth[zh]'"
        ) from None
    jieba.setLogLevel("CRITICAL")  # a cache that it cannot write is no matter
    cut: Callable[[str], list[str]] = jieba.lcut
    return cut


def unspaced_advice(
    n_tokens: int, n_characters: int, n_unspaced: int, segmenter: str
) -> str | None:
    """Say which segmenter fits a text that is written without spaces."""
    if segmenter not in ("words", "whitespace") or n_unspaced * 2 < n_characters:
        return None
    if segmenter == "whitespace" and n_unspaced < _LONG_WORD * n_tokens:
        return None  # its words were divided before
    return (
        f"{n_unspaced / n_characters:.0%} of the characters belong to scripts without spaces "
        f"between words, which `segmenter={segmenter}` does not divide well; "
        "take `segmenter=jieba` (Chinese) or `segmenter=characters`"
    )


@cache
def _pre_tokenizer() -> Any:
    """The library's pre-tokenizer."""
    from tokenizers.pre_tokenizers import BertPreTokenizer

    return BertPreTokenizer()


def _characters(text: str) -> list[str]:
    """Single characters, combining marks with the one before."""
    out: list[str] = []
    for part in text.split(" "):
        for place, character in enumerate(part):
            if place and unicodedata.category(character).startswith("M"):
                out[-1] += character
            else:
                out.append(character)
    return out


def split_offsets(text: np.ndarray, separator: str, starts: np.ndarray) -> np.ndarray:
    """Find where the parts of a text start that a separator ends."""
    # text: uint8 (n_bytes,); starts: int64; returns int64
    after = np.flatnonzero(text == ord(separator)) + 1
    return np.unique(np.concatenate([after, starts]))
