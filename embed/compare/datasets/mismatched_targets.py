"""Detect marked words that differ from the listed ones: inflected, or marked by mistake."""

import unicodedata
from collections.abc import Sequence

_N_LETTERS = 2  # length of the prefix that forms of a word share
# Scripts of languages that mostly inflect by suffixes. Elsewhere prefixes, or the spelling of the
# stem, change with the form.
_SCRIPTS = ("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "GEORGIAN")


def mismatch_note(listed: Sequence[tuple[int, str, str]]) -> str | None:
    """Describe how many targets start differently from the words in (line, word, target)."""
    known = [each for each in listed if all(map(_is_suffixing, each[1:]))]
    unlike = [each for each in known if not _alike(*map(_first_letters, each[1:]))]
    if not unlike:
        return None
    line, word, target = unlike[0]
    return (
        f"{len(unlike):,} of {len(known):,} targets start differently from the listed words, first "
        f"{target!r} for {word!r} in line {line}; inflected forms may"
    )


def _alike(a: str, b: str) -> bool:
    """Return whether one prefix starts with the other."""
    return a.startswith(b) or b.startswith(a)


def _is_suffixing(text: str) -> bool:
    """Return whether the first letters are of one of _SCRIPTS."""
    letters = _first_letters(text)
    return bool(letters) and all(unicodedata.name(c, "").startswith(_SCRIPTS) for c in letters)


def _first_letters(text: str) -> str:
    """Return the first letters of a text, casefolded and without accents."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(filter(str.isalpha, plain))[:_N_LETTERS]
