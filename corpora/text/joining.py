"""Words joined to readable text, with the spaces that segmentation removed, by rules."""

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain

# `` and '' are the quotation marks of treebanks
_NO_SPACE_BEFORE = frozenset([*".,;:!?%…。，、；：！？", "''"])
_NO_SPACE_AFTER = frozenset([*"$£€¿¡#@", "``"])
_BOTH = frozenset("-/_")  # no space on either side
_QUOTES = "\"'"  # that look the same at both ends
_AFTER_APOSTROPHE = frozenset({"s", "t", "d", "m", "ll", "re", "ve"})
_APOSTROPHES = ("'", "’")
# beginnings of the names of characters between which there are no spaces
_UNSPACED = (
    "CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "FULLWIDTH", "IDEOGRAPHIC",
)  # fmt: skip


class SpelledWords(list[str]):
    """The words of a text, with their places in it."""

    def __init__(self, words: Iterable[str], text: str, spans: Sequence[tuple[int, int]]) -> None:
        super().__init__(words)
        self.text = text
        self.spans = spans  # start and stop of each word in the text


def joined_parts(parts: Sequence[list[str]], gaps: Sequence[str]) -> list[str]:
    """Return the words of the parts of a text, with a gap before each, spelled if all parts are."""
    words = [word for part in parts for word in part]
    spelled_parts = [part for part in parts if isinstance(part, SpelledWords)]
    if len(spelled_parts) < len(parts):
        return words
    whole = spelled([part.text for part in spelled_parts], gaps)
    places = zip(whole.spans, spelled_parts, strict=True)
    spans = [(first + a, first + b) for (first, _), part in places for a, b in part.spans]
    return SpelledWords(words, whole.text, spans)


def after_context(context: list[str], words: list[str]) -> list[str]:
    """Return words after those of a context, with a space between the two texts."""
    return joined_parts([context, words], ["", " " if context else ""])


def spelled(words: Sequence[str], gaps: Sequence[str] | None = None) -> SpelledWords:
    """Return words with their text; unless they have one, with gaps, as :func:`gaps_before`."""
    if isinstance(words, SpelledWords):
        return words
    gaps = gaps_before(words) if gaps is None else gaps
    stops = accumulate(len(gap) + len(word) for gap, word in zip(gaps, words, strict=True))
    spans = [(stop - len(word), stop) for word, stop in zip(words, stops, strict=True)]
    return SpelledWords(words, "".join(chain(*zip(gaps, words, strict=True))), spans)


def join_words(words: Sequence[str]) -> str:
    """Join words and punctuation marks with spaces where text has them.

    A guess: straight quotation marks open and close in turns, hyphens join, and a mark between
    digits belongs to the number.

    >>> join_words('he said , " it \\' s 3 . 5 well - known ( old ) things . "'.split())
    'he said, "it\\'s 3.5 well-known (old) things."'
    """
    return spelled(words).text


def gaps_before(words: Sequence[str]) -> list[str]:
    """Return what stands before each word in a text, a space or nothing; see :func:`join_words`."""
    gaps: list[str] = []
    is_open = dict.fromkeys(_QUOTES, False)
    glued = True  # whether the next word follows without a space
    for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False):
        joins = glued or _follows(before, word)
        glued = word in _BOTH or word in _NO_SPACE_AFTER or _kind(word) in ("Ps", "Pi")
        if word in (".", ",") and before[-1:].isdigit() and after[:1].isdigit():
            glued = True
        suffixed = before[-1:].isalpha() and after.lower() in _AFTER_APOSTROPHE
        if word in _APOSTROPHES and suffixed:
            joins = glued = True
        elif word in is_open:
            glued = not is_open[word]
            joins = joins or is_open[word]
            is_open[word] = not is_open[word]
        gaps.append("" if joins else " ")
    return gaps


def _follows(before: str, word: str) -> bool:
    """Return whether a word follows another without a space, whatever else is around."""
    is_clitic = word[:1] in _APOSTROPHES and word[1:].lower() in _AFTER_APOSTROPHE
    if is_clitic or word in _NO_SPACE_BEFORE or word in _BOTH or _kind(word) in ("Pe", "Pf"):
        return True
    return is_unspaced(before[-1:]) and is_unspaced(word[:1])


def _kind(word: str) -> str:
    """Return the Unicode category of a word of one character."""
    return unicodedata.category(word) if len(word) == 1 else ""


def is_unspaced(character: str) -> bool:
    """Return whether a character is of a script, or a mark, without spaces between words."""
    return unicodedata.name(character or " ", "").startswith(_UNSPACED)
