"""Words joined to readable text: the spaces that segmentation removed, as far as can be told."""

import unicodedata
from collections.abc import Sequence

_NO_SPACE_BEFORE = frozenset(".,;:!?%…。，、；：！？")
_NO_SPACE_AFTER = frozenset("$£€¿¡#@")
_BOTH = frozenset("-/_")  # no space on either side
_QUOTES = "\"'"  # that look the same at both ends
_AFTER_APOSTROPHE = frozenset({"s", "t", "d", "m", "ll", "re", "ve"})
_APOSTROPHES = ("'", "’")
# beginnings of the names of characters between which there are no spaces
_UNSPACED = (
    "CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "FULLWIDTH", "IDEOGRAPHIC",
)  # fmt: skip


def join_words(words: Sequence[str]) -> str:
    """Join words and punctuation marks with spaces where text has them.

    A guess: straight quotation marks open and close in turns, hyphens join, and a mark between
    digits belongs to the number.

    >>> join_words('he said , " it \\' s 3 . 5 well - known ( old ) things . "'.split())
    'he said, "it\\'s 3.5 well-known (old) things."'
    """
    parts: list[str] = []
    is_open = dict.fromkeys(_QUOTES, False)
    glued = True  # whether the next word follows without a space
    for number, word in enumerate(words):
        before, after = ("", *words)[number], (*words[number + 1 :], "")[0]
        joins = glued or _follows(before, word)
        glued = word in _BOTH or word in _NO_SPACE_AFTER or _kind(word) in ("Ps", "Pi")
        if word in (".", ",") and before[-1:].isdigit() and after[:1].isdigit():
            glued = True
        suffixed = before[-1:].isalpha() and after.lower() in _AFTER_APOSTROPHE
        if word in _APOSTROPHES and suffixed:
            joins = glued = True
        elif word in _QUOTES:
            glued = not is_open[word]
            joins = joins or is_open[word]
            is_open[word] = not is_open[word]
        parts += [word] if joins else [" ", word]
    return "".join(parts)


def _follows(before: str, word: str) -> bool:
    """Return whether a word follows another without a space, whatever else is around."""
    if word in _NO_SPACE_BEFORE or word in _BOTH or _kind(word) in ("Pe", "Pf"):
        return True
    return _is_unspaced(before[-1:]) and _is_unspaced(word[:1])


def _kind(word: str) -> str:
    """Return the Unicode category of a word of one character."""
    return unicodedata.category(word) if len(word) == 1 else ""


def _is_unspaced(character: str) -> bool:
    """Return whether a character is of a script, or a mark, without spaces between words."""
    return unicodedata.name(character or " ", "").startswith(_UNSPACED)
