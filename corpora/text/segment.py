"""Normalization and segmentation of text into words, for corpora and queries alike."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property, partial
from typing import Any, Self

import numpy as np

from firth.corpora.common.errors import SettingError
from firth.corpora.common.options import check, describe_settings, rare_setting, setting

# Characters per token above which text is not divided: Chinese and Japanese words have about
# two characters, Thai ones about four.
_LONG_WORD = 6
LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # how Python decodes non-UTF-8 arguments
SEGMENTERS = ("words", "whitespace", "characters", "jieba")


@describe_settings
@dataclass(frozen=True, kw_only=True)
class TextSettings:
    """How text is normalized and divided into words; stored with every corpus and run.

    The defaults equal ``BertNormalizer(lowercase=True, strip_accents=False)``
    followed by ``BertPreTokenizer`` of the ``tokenizers`` library.
    """

    keep_case: bool = setting(False, "Keep capitals instead of lower-casing.", heading="Words")
    strip_accents: bool = rare_setting(
        False, "Remove accents (hätte becomes hatte); rarely useful."
    )
    fold_digits: bool = rare_setting(False, "Write every digit as 0.")
    segmenter: str = setting(
        "words",
        "How text is divided: words (at spaces and punctuation), whitespace, characters, or "
        "jieba for Chinese words (extra: zh).",
        choices=SEGMENTERS,
    )
    lemmatize: str | None = setting(
        None,
        "Replace words by their lemmas, in a language such as de or ru (extra: lemmas). Queries "
        "and the words of evaluation sets are, too.",
        metavar="LANGUAGE",
    )

    def __post_init__(self) -> None:
        check(self)
        if self.lemmatize and self.segmenter not in ("words", "whitespace"):
            raise SettingError(
                "TextSettings.lemmatize needs the words of an alphabet, so segmenter must be words "
                f"or whitespace, got {self.segmenter!r}"
            )

    @cached_property
    def _after_lemmas(self) -> "TextSettings":
        """Settings by which lemmas are normalized."""
        return replace(self, lemmatize=None)

    @cached_property
    def before_lemmas(self) -> "TextSettings":
        """Settings of the forms that are lemmatized: capitals and accents help to find lemmas."""
        if self.lemmatize is None:
            return self
        return replace(self, lemmatize=None, keep_case=True, strip_accents=False)

    def lemma(self, form: str) -> str:
        """Look up the lemma of a form in the language of ``lemmatize``.

        Parameters
        ----------
        form : str
            A word, with its capitals and accents.

        Returns
        -------
        str
            Normalized by the other settings; the form itself if the lemma is not a single word.

        Raises
        ------
        SettingError
            simplemma is not installed, or has no such language.
        """
        for text in (lemmatizer(str(self.lemmatize))(form), form):
            if len(words := self._after_lemmas.words(text)) == 1:
                return words[0]
        return form

    def words(self, text: str) -> list[str]:
        """Normalize and divide a text in the same way as the corpus.

        Parameters
        ----------
        text : str
            A query, an evaluation word or a sentence.

        Returns
        -------
        list of str
            Its words; empty if there are only spaces and control characters.

        Raises
        ------
        SettingError
            The text has a lone surrogate (from a command line that is not UTF-8), or jieba or
            simplemma is needed and not installed.

        Examples
        --------
        >>> TextSettings().words("I don't, Zoë!")
        ['i', 'don', "'", 't', ',', 'zoë', '!']
        """
        if LONE_SURROGATE.search(text):
            raise SettingError(f"{text!r} is not UTF-8; pass UTF-8")
        if self.lemmatize is not None:
            return [self.lemma(form) for form in self.before_lemmas.words(text)]
        if self.segmenter == "jieba":
            tokens = jieba_cutter()(text)
            inner = replace(self, segmenter="whitespace")
            return [word for token in tokens if (word := " ".join(inner.words(token)))]
        normalized = bert_normalizer(self).normalize_str(text)
        if self.fold_digits:
            normalized = "".join("0" if c.isdecimal() else c for c in normalized)
        if self.segmenter == "words":
            return [word for word, _ in _pre_tokenizer().pre_tokenize_str(normalized)]
        if self.segmenter == "whitespace":
            return [word for word in normalized.split(" ") if word]
        return _characters(normalized)

    def to_json(self) -> dict[str, Any]:
        """Return the settings as a JSON object.

        Returns
        -------
        dict
            One entry per setting; ``lemmatize`` only if it is set.

        Examples
        --------
        >>> TextSettings().to_json()["segmenter"]
        'words'
        """
        settings = asdict(self)
        if self.lemmatize is None:  # as written by versions without lemmas
            del settings["lemmatize"]
        return settings

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Read settings written by :meth:`to_json`.

        Parameters
        ----------
        value : dict
            One entry per setting.

        Returns
        -------
        TextSettings
            The settings.

        Raises
        ------
        SettingError
            An entry is not a setting of this version, or is out of range.
        """
        try:
            return cls(**value)
        except TypeError:
            raise SettingError(f"text settings {value!r} are from another version") from None


def bert_normalizer(text: TextSettings) -> Any:
    """Return the library's normalizer for some settings."""
    from tokenizers.normalizers import BertNormalizer

    return BertNormalizer(
        clean_text=True,
        handle_chinese_chars=text.segmenter == "words",
        strip_accents=text.strip_accents,
        lowercase=not text.keep_case,
    )


def strip_accents(text: str) -> str:
    """Remove accents as the library does, but keep line ends."""
    from tokenizers.normalizers import BertNormalizer

    normalize = BertNormalizer(
        clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False
    ).normalize_str
    return "\n".join(normalize(line) for line in text.split("\n"))


@cache
def jieba_cutter() -> Callable[[str], list[str]]:
    """Return jieba's segmentation function."""
    try:
        import jieba
    except ImportError:
        raise SettingError(
            "`segmenter=jieba` needs the package jieba; pip install 'firth[zh]'"
        ) from None
    jieba.setLogLevel("CRITICAL")  # hides failures to write its cache
    cut: Callable[[str], list[str]] = jieba.lcut
    return cut


@cache
def lemmatizer(language: str) -> Callable[[str], str]:
    """Return simplemma's function from a word to its lemma."""
    try:
        from simplemma import lemmatize
        from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES
    except ImportError:
        raise SettingError(
            f"`lemmatize={language}` needs the package simplemma; pip install 'firth[lemmas]'"
        ) from None
    if language not in SUPPORTED_LANGUAGES:
        raise SettingError(
            f"`lemmatize={language}`: no lemmas of this language; the languages are "
            f"{', '.join(sorted(SUPPORTED_LANGUAGES))}"
        )
    return partial(lemmatize, lang=language)


def unspaced_advice(
    n_tokens: int, n_characters: int, n_unspaced: int, segmenter: str
) -> str | None:
    """Return advice if the segmenter does not suit a text without spaces, else None."""
    if segmenter not in ("words", "whitespace") or n_unspaced * 2 < n_characters:
        return None
    if segmenter == "whitespace" and n_unspaced < _LONG_WORD * n_tokens:
        return None  # already divided into words
    return (
        f"{n_unspaced / n_characters:.0%} of the characters belong to scripts without spaces "
        f"between words, which `segmenter={segmenter}` does not divide well; "
        "use `segmenter=jieba` (Chinese) or `segmenter=characters`"
    )


@cache
def _pre_tokenizer() -> Any:
    """Return the library's pre-tokenizer."""
    from tokenizers.pre_tokenizers import BertPreTokenizer

    return BertPreTokenizer()


def _characters(text: str) -> list[str]:
    """Return single characters, combining marks joined to the preceding one."""
    out: list[str] = []
    for part in text.split(" "):
        for place, character in enumerate(part):
            if place and unicodedata.category(character).startswith("M"):
                out[-1] += character
            else:
                out.append(character)
    return out


def split_offsets(text: np.ndarray, separator: str, starts: np.ndarray) -> np.ndarray:
    """Return the sorted ``starts`` and the offsets after each separator."""
    # text: uint8 (n_bytes,); starts: int64 (n,)
    after = np.flatnonzero(text == ord(separator)) + 1
    return np.unique(np.concatenate([after, starts]))
