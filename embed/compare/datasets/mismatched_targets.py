"""Marked words that look unlike the listed ones: inflected, or marked by mistake."""

import unicodedata
from collections.abc import Sequence

_N_LETTERS = 2  # that forms of a word begin with
# Where words are inflected at their end. Elsewhere what is written before a stem, or how it is
# written, changes with its form.
_SCRIPTS = ("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "GEORGIAN")


def mismatch_note(listed: Sequence[tuple[int, str, str]]) -> str | None:
    """Tell how many words begin otherwise where they stand in a text than in a list.

    Forms of a word may, as *went* of *go*; where many do, other words are marked than are listed.
    """
    known = [each for each in listed if all(map(_changes_at_its_end, each[1:]))]
    unlike = [each for each in known if not _alike(*map(_first_letters, each[1:]))]
    if not unlike:
        return None
    line, word, target = unlike[0]
    return (
        f"{len(unlike):,} of {len(known):,} targets begin otherwise than the words listed, first "
        f"{target!r} for {word!r} in line {line}; forms may"
    )


def _alike(a: str, b: str) -> bool:
    """Whether two beginnings are equal as far as both go."""
    n_letters = min(len(a), len(b))
    return a[:n_letters] == b[:n_letters]


def _changes_at_its_end(text: str) -> bool:
    """Whether the first letters are of an alphabet whose words do."""
    letters = _first_letters(text)
    return bool(letters) and all(unicodedata.name(c, "").startswith(_SCRIPTS) for c in letters)


def _first_letters(text: str) -> str:
    """The first letters of a text, without case and accents."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(filter(str.isalpha, plain))[:_N_LETTERS]
