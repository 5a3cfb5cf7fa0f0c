"""Normalization and segmentation of text into words, for corpora and queries alike."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import islice
from typing import Any, Self

import numpy as np

from firth.corpora.common.errors import SettingError, imported
from firth.corpora.common.options import (
    check,
    describe_settings,
    rare_setting,
    refuse_unused,
    setting,
)
from firth.corpora.text.characters import CharacterTable, character_table
from firth.corpora.text.joining import join_words
from firth.corpora.text.patterns import tokens_by

# Characters per token above which text is not divided: Chinese and Japanese words have about
# two characters, Thai ones about four.
_LONG_WORD = 6
LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # how Python decodes non-UTF-8 arguments
SEGMENTERS = ("words", "whitespace", "characters", "jieba", "tokens")
DOTLESS_LANGUAGE = re.compile("(?:tr|tur|az|aze)(?![a-z])", re.IGNORECASE)
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:[-_]\w+)*")
# a soft hyphen or ¬ at the end of a line, inside a word
DIVIDED = "[\u00ad¬](?:(?<=\\S\u00ad)|(?<=[^\\W\\d_]¬))[\\s\x1c-\x1f]+(?=[^\\W\\d_])"
# Letters of Latin, Greek and Cyrillic, and their marks; those of other scripts are no accents
ACCENTED = "A-Za-z\u00aa-\u02af\u0370-\u0482\u048a-\u052f\u1c80-\u1dbf\u1e00-\u1fff\u2c60-\u2c7f"
ACCENTED += "\ua640-\ua66e\ua680-\ua69d\ua722-\ua7ff\uab30-\uab6f\uff21-\uff5a"
ACCENTS = "\u0300-\u036f\u0483-\u0487\u1ab0-\u1abd\u1abf-\u1aff\u1dc0-\u1dff\u20d0-\u20dc"
ACCENTS += "\u2de0-\u2dff\ua66f\ua674-\ua67d\ua69e\ua69f\ufe20-\ufe2f"
_ACCENTS = re.compile(f"(?<=[{ACCENTED}])[{ACCENTS}]+")


@describe_settings
@dataclass(frozen=True, kw_only=True)
class TextSettings:
    """How text is normalized and divided into words; stored with every corpus and run.

    The defaults are those of ``BertNormalizer(lowercase=True, strip_accents=False)``, followed by
    ``BertPreTokenizer`` of the ``tokenizers`` library, except that all white space separates,
    symbols such as emoji and € are words of their own, a final sigma is ς, İ becomes i, and joiners
    that change the form of letters are kept.

    Attributes
    ----------
    joined_phrases : tuple of str
        For each pass over the corpus the phrases that it joined, one per line, with tabs between
        words. Settings that differ only in this are equal.
    """

    keep_case: bool = setting(False, "Keep capitals instead of lower-casing.", heading="Words")
    strip_accents: bool = rare_setting(
        False, "Remove accents of Latin, Greek and Cyrillic (hätte becomes hatte); rarely useful."
    )
    fold_digits: bool = rare_setting(False, "Write every digit as 0.")
    segmenter: str = setting(
        "words",
        "How text is divided: words (at spaces and punctuation), whitespace, characters, jieba "
        "for Chinese words (extra: zh), or tokens for sequences such as sessions and moves: they "
        "are kept as they are, and each line or record is one sentence.",
        choices=SEGMENTERS,
    )
    pattern: str | None = setting(
        None,
        "Divide each line or record into tokens as this regular expression matches; or smiles for "
        "molecules, or kmer:K[:STEP] for words of K characters, one at every STEP (default: 1), or "
        "pairs[:UNITS:UNITS] for a source, a target and perhaps tags, divided by tabs, in "
        "characters or words (default: as the cells look). Implies `segmenter=tokens`.",
        metavar="REGEX",
    )
    lemmatize: str | None = setting(
        None,
        "Replace words by their lemmas, in a language such as de or ru (extra: lemmas). Queries "
        "and the words of evaluation sets are, too.",
        metavar="LANGUAGE",
    )
    language: str | None = rare_setting(
        None,
        "Language of the text, such as en: of tr and az, I is lower-cased to ı (default: detected "
        "from the text).",
        metavar="LANGUAGE",
    )
    joined_phrases: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        check(self)
        if self.pattern is not None:
            if self.segmenter not in ("words", "tokens"):
                raise SettingError(f"`pattern` and `segmenter={self.segmenter}`: drop one of them")
            object.__setattr__(self, "segmenter", "tokens")
            tokens_by(self.pattern)  # raises
        if self.of_tokens:
            changes = ("strip_accents", "fold_digits", "lemmatize", "language")
            refuse_unused(self, changes, "`segmenter=tokens` keeps tokens as they are")
            object.__setattr__(self, "keep_case", True)
        if self.lemmatize and self.segmenter not in ("words", "whitespace"):
            raise SettingError(
                "TextSettings.lemmatize needs the words of an alphabet, so segmenter must be words "
                f"or whitespace, got {self.segmenter!r}"
            )
        if self.language is not None and not _LANGUAGE.fullmatch(self.language):
            raise SettingError(
                f"TextSettings.language must be a code such as tr or en, got {self.language!r}"
            )

    @property
    def dotless(self) -> bool:
        """Whether the small letter of I is ı, and that of İ is i."""
        language = DOTLESS_LANGUAGE.match(self.language or self.lemmatize or "")
        return language is not None and not self.keep_case

    @property
    def of_tokens(self) -> bool:
        """Whether the text is sequences of tokens, which are kept as they are."""
        return self.segmenter == "tokens"

    @property
    def noun(self) -> str:
        """What output calls a type: word, or token in sequences of tokens."""
        return "token" if self.of_tokens else "word"

    @cached_property
    def _after_lemmas(self) -> "TextSettings":
        """Settings by which lemmas are normalized."""
        return replace(
            self, lemmatize=None, language=self.language or self.lemmatize, joined_phrases=()
        )

    @cached_property
    def before_lemmas(self) -> "TextSettings":
        """Settings of the forms that are lemmatized: capitals and accents help to find lemmas."""
        if self.lemmatize is None:
            return self
        return replace(self._after_lemmas, keep_case=True, strip_accents=False)

    @cached_property
    def _phrases(self) -> list[dict[tuple[str, ...], bool]]:
        """Of each pass the beginnings of phrases, and whether a phrase ends there."""
        passes: list[dict[tuple[str, ...], bool]] = []
        for lines in self.joined_phrases:
            phrases = [tuple(line.split("\t")) for line in lines.split("\n")]
            begun = {words[:n]: False for words in phrases for n in range(1, len(words))}
            passes.append(begun | dict.fromkeys(phrases, True))
        return passes

    def join_phrases(self, words: Sequence[str]) -> tuple[list[str], list[int]]:
        """Join the phrases of a sentence as in the corpus, the longest first.

        Parameters
        ----------
        words : sequence of str
            The words of a sentence, normalized.

        Returns
        -------
        joined : list of str
            With ``new_york`` for ``new`` and ``york`` if the corpus joined them.
        lengths : list of int
            How many words each of these was.
        """
        joined, lengths = list(words), [1] * len(words)
        for phrases in self._phrases:
            joined, joins = _joined(joined, phrases)
            following = iter(lengths)
            lengths = [sum(islice(following, n)) for n in joins]
        return joined, lengths

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
        """Normalize and divide a text, and join phrases, in the same way as the corpus.

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
            The text has a lone surrogate (from a command line that is not UTF-8), or rjieba or
            simplemma is needed and not installed.

        Examples
        --------
        >>> TextSettings().words("I don't, Zoë!")
        ['i', 'don', "'", 't', ',', 'zoë', '!']
        """
        if LONE_SURROGATE.search(text):
            raise SettingError(f"{text!r} is not UTF-8; pass UTF-8")
        return self.join_phrases(self._single_words(text))[0]

    def _single_words(self, text: str) -> list[str]:
        """Normalize and divide a text."""
        if self.lemmatize is not None:
            return [self.lemma(form) for form in self.before_lemmas.words(text)]
        if self.pattern is not None:
            return [token for token, _, _ in tokens_by(self.pattern)(text)]
        if not self.of_tokens:
            text = join_divided(text)
        if self.strip_accents:
            text = strip_accents(text, self.dotless)
        if self.segmenter == "jieba":
            inner = replace(self, segmenter="whitespace", joined_phrases=())
            tokens = map(inner.words, jieba_cutter()(text))
            return [" ".join(words) for words in tokens if words]
        characters = characters_of(self)
        if "\0" not in (spaced := text.translate(characters.spaced)):
            return spaced.split()
        from firth.corpora.text.type_table import segment_short  # here, since numba is slow to load

        return [word for word, _, _ in segment_short(text, characters)]

    def written(self, words: Sequence[str]) -> str:
        """Return words as the text of a corpus with these settings has them, by rules.

        Characters and tokens of a pattern stand without spaces if :meth:`words` then returns the
        same; tokens of white space with them.

        Parameters
        ----------
        words : sequence of str
            Words as :meth:`words` returns them.

        Returns
        -------
        str
            The text, such as ``"CC(=O)"`` of atoms.
        """
        if self.segmenter == "characters" or self.pattern is not None:
            unspaced = "".join(words)
            return unspaced if self.words(unspaced) == list(words) else " ".join(words)
        is_spaced = self.segmenter in ("whitespace", "tokens")
        return " ".join(words) if is_spaced else join_words(words)

    def to_json(self) -> dict[str, Any]:
        """Return the settings as a JSON object.

        Returns
        -------
        dict
            One entry per setting; ``pattern``, ``lemmatize``, ``language`` and
            ``joined_phrases`` only if set.

        Examples
        --------
        >>> TextSettings().to_json()["segmenter"]
        'words'
        """
        # as written by versions without patterns, lemmas, languages and phrases
        optional = ("pattern", "lemmatize", "language", "joined_phrases")
        return {
            name: value for name, value in asdict(self).items() if value or name not in optional
        }

    @property
    def shown(self) -> dict[str, Any]:
        """What is shown of the settings: all but the phrases, which may be many."""
        return replace(self, joined_phrases=()).to_json()

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
            settings = cls(**value)
            return replace(settings, joined_phrases=tuple(map(str, settings.joined_phrases)))
        except TypeError:
            raise SettingError(f"text settings {value!r} are from another version") from None


def characters_of(settings: TextSettings, segmenter: str | None = None) -> CharacterTable:
    """Return how a segmenter treats each character, by default that of the settings."""
    chosen = segmenter or settings.segmenter
    return character_table(chosen, settings.keep_case, settings.fold_digits, settings.dotless)


def _joined(
    words: Sequence[str], phrases: dict[tuple[str, ...], bool]
) -> tuple[list[str], list[int]]:
    """Join phrases from left to right, the longest first; also return their lengths."""
    joined, lengths, start = [], [], 0
    while start < len(words):
        stop = end = start + 1
        while end <= len(words) and (begun := phrases.get(tuple(words[start:end]))) is not None:
            stop = end if begun else stop
            end += 1
        joined.append("_".join(words[start:stop]))
        lengths.append(stop - start)
        start = stop
    return joined, lengths


def join_divided(text: str) -> str:
    """Join words that are divided at the ends of lines."""
    return re.sub(DIVIDED, "", text)


def strip_accents(text: str, dotless: bool = False) -> str:
    """Remove the accents of Latin, Greek and Cyrillic letters; the result is in NFC."""
    text = unicodedata.normalize("NFD", text)
    if dotless:
        text = text.replace("I\u0307", "i")
    return unicodedata.normalize("NFC", _ACCENTS.sub("", text))


@cache
def jieba_cutter() -> Callable[[str], list[str]]:
    """Return jieba's segmentation, as rjieba has it."""
    missing = "`segmenter=jieba` needs the package rjieba; pip install 'firth[zh]'"
    cut: Callable[[str], list[str]] = imported("rjieba", SettingError(missing)).cut
    return cut


@cache
def lemmatizer(language: str) -> Callable[[str], str]:
    """Return simplemma's function from a word to its lemma."""
    missing = f"`lemmatize={language}` needs the package simplemma; pip install 'firth[lemmas]'"
    lemmatize = imported("simplemma", SettingError(missing)).lemmatize
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

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


def split_offsets(
    text: np.ndarray, separator: str, starts: np.ndarray, *, skip_empty: bool = False
) -> np.ndarray:
    """Return the sorted ``starts`` and the offsets after each separator, or each run of them."""
    # text: uint8 (n_bytes,); starts: int64 (n,)
    is_start = np.empty(len(text) + 1, dtype=bool)
    is_start[0] = False
    np.equal(text, ord(separator), out=is_start[1:])
    if skip_empty and is_start.any():  # a long line takes no more memory
        is_start[1:-1] &= ~is_start[2:]
    is_start[starts] = True
    return np.flatnonzero(is_start)
