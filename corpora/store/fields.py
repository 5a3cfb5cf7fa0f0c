"""Kept fields of documents: which documents have some values, and what a line is cited by."""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from firth.corpora.common.errors import SettingError
from firth.corpora.common.options import split_list
from firth.corpora.common.reporting import note
from firth.corpora.store.corpus import Corpus

_MONTH = r"-(?:0[1-9]|1[0-2])"
_BOUND = rf"-?\d{{4,}}{_MONTH}(?:-\d\d)?|-?\d+(?:\.\d+)?"  # an ISO date, or a number
_RANGE = re.compile(rf"({_BOUND})?\s*[-–]\s*({_BOUND})?")
_DECADE = re.compile(r"(-?\d*)0s")
_DATE = re.compile(rf"(-?\d{{4,}}{_MONTH}(?:-\d\d)?)(?:[T ].*)?")
_NEXT_FIELD = re.compile(r",\s*(?=[^,=]+=)")  # a value may have commas
_CITED = ("author", "title", "year", "date")  # unless other fields are asked for
_SHORT = 24  # characters of a value that a line is cited by where these fields are missing
_CLOSE = 0.8  # how alike a value is that may be meant, from 0 to 1
_NAMED = 3  # values that a message names

Bound = tuple[float, ...]  # a number, or a year with its month and day


@dataclass(frozen=True)
class Range:
    """Numbers or dates from ``low`` to ``high``, both included; either may be open."""

    name: str  # how it is written, without spaces
    low: Bound | None
    high: Bound | None
    is_single: bool = False  # one number or date

    def __contains__(self, value: Bound) -> bool:
        """Return whether a number or date is inside; a year has all of its days."""
        return (self.low is None or value[: len(self.low)] >= self.low) and (
            self.high is None or value[: len(self.high)] <= self.high
        )


def as_range(text: str) -> Range | None:
    """Return ``1840-1870``, ``1880-``, ``-1870``, ``1840s``, 1914-07 and others as a range."""
    text = text.strip()
    if decade := _DECADE.fullmatch(text):
        return Range(text, (float(f"{decade[1]}0"),), (float(f"{decade[1]}9"),))
    if re.fullmatch(_BOUND, text) and not text.startswith("-"):
        return Range(text, _bound(text), _bound(text), is_single=True)
    ends = _RANGE.fullmatch(text)
    if ends is None or not (ends[1] or ends[2]):
        return None
    low, high = (_bound(end) if end else None for end in ends.groups())
    if low and high and high < low[: len(high)]:
        century = ends[1][: len(ends[1]) - len(ends[2])]  # of 1914-18
        right = f"{ends[1]}-{century}{ends[2]}" if century else f"{ends[2]}-{ends[1]}"
        raise SettingError(f"{text} ends before it begins; pass {right}")
    return Range(f"{ends[1] or ''}-{ends[2] or ''}", low, high)


def _bound(text: str) -> Bound:
    """Return a number or an ISO date; a time of day is left out."""
    date = _DATE.fullmatch(text)
    if date is None:
        return (float(text),)
    sign, digits = (-1, date[1][1:]) if date[1].startswith("-") else (1, date[1])
    year, *rest = map(float, digits.split("-"))
    return (sign * year, *rest)


def as_number(text: str) -> float | None:
    """Return a number as it is, and an ISO date as a year with its part; None for other text."""
    try:
        first, *rest = _bound(text.strip())
    except ValueError:
        return None
    parts = zip(rest, (12, 365.25), strict=False)
    number = first + sum((part - 1) / whole for part, whole in parts)
    return number if np.isfinite(number) else None


def kept_fields(corpus: Corpus) -> list[str]:
    """Return the names of a corpus's kept fields, in alphabetical order."""
    return sorted({name for shard in corpus.shards for name in shard.fields})


def require_field(corpus: Corpus, name: str) -> None:
    """Raise unless a corpus keeps a field."""
    if name not in (names := kept_fields(corpus)):
        kept = ", ".join(names) or "none"
        raise SettingError(
            f"{corpus.path}: keeps no field {name!r} (it keeps {kept}); build it with "
            f"`keep={name}`, or with a table that has it as `metadata`"
        )


def kept_field(corpus: Corpus, name: str) -> list[str]:
    """Return a kept field of all documents; empty where a shard lacks it."""
    require_field(corpus, name)
    values: list[str] = []
    for shard in corpus.shards:
        n_documents = len(shard.documents) - 1
        values += shard.field(name) if name in shard.fields else [""] * n_documents
    return values


def documents_where(corpus: Corpus, conditions: str) -> np.ndarray:
    """Return which documents satisfy all ``FIELD=VALUE,...``, bool (n_documents,)."""
    chosen = np.ones(corpus.n_documents, bool)
    for condition in _NEXT_FIELD.split(conditions):
        name, equals, wanted = (part.strip() for part in condition.partition("="))
        if not equals:
            raise SettingError(
                f"{condition!r}: expected FIELD=VALUE, for example year=1850 or year=1840-1870"
            )
        chosen &= documents_with(kept_field(corpus, name), name, wanted)
    if not chosen.any():
        raise SettingError(f"no document has all of {conditions}; pass fewer, or longer ranges")
    return chosen


def documents_with(values: Sequence[str], name: str, wanted: str) -> np.ndarray:
    """Return which documents have a value of a field, bool (n_documents,); raise if none has.

    That is the value as it is written; or else those in a range of numbers or ISO dates; or else
    those with the same words inside, as *Fontane* is in *Fontane, Theodor*.
    """
    inside = np.array([value == wanted for value in values], bool)
    if not inside.any() and (bounds := as_range(wanted)):
        numbers = [_number(value, n, name, bounds) for n, value in enumerate(values)]
        inside = np.array([number is not None and number in bounds for number in numbers], bool)
    elif not inside.any() and wanted:
        words = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)", re.IGNORECASE)
        inside = np.array([bool(words.search(value)) for value in values], bool)
        if inside.any():
            found = {v: None for v, chosen in zip(values, inside.tolist(), strict=True) if chosen}
            note(f"{name}={wanted}: {int(inside.sum()):,} documents, of {_listed([*found])}")
    if not inside.any():
        raise SettingError(f"no document has {name}={wanted}; {_known(values, wanted)}")
    return inside


def _number(value: str, document: int, name: str, bounds: Range) -> Bound | None:
    """Return a value as a number or date; None if it is empty."""
    try:
        number = _bound(value.strip()) if value.strip() else None
    except ValueError:
        if bounds.is_single:
            return None
        raise SettingError(
            f"document {document + 1}: {name}={value!r} is neither a number nor an ISO date, which "
            f"the range {bounds.name} needs; correct or empty it in the source, or pass values of "
            "the field"
        ) from None
    return number if number and number == number else None  # "nan" is empty, too


def _known(values: Sequence[str], wanted: str) -> str:
    """Return what values there are, for a message."""
    known = sorted({value for value in values if value.strip()})
    try:
        known.sort(key=_bound)
    except ValueError:
        near = [
            value for value in known if wanted and _is_like(value.casefold(), wanted.casefold())
        ]
        return f"did you mean {_listed(near)}?" if near else f"its values are {_listed(known)}"
    return f"its values are from {known[0]} to {known[-1]}" if known else "it is always empty"


def _is_like(value: str, wanted: str) -> bool:
    """Return whether a text is part of a value, or is close to it or a word of it."""
    parts = [value, *re.findall(r"\w+", value)]
    return wanted in value or bool(difflib.get_close_matches(wanted, parts, 1, _CLOSE))


def _listed(names: Sequence[str]) -> str:
    """Return the first names, for a message."""
    more = f"; and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return "; ".join(names[:_NAMED]) + more


def cited_fields(corpus: Corpus, cite: str | None) -> Sequence[str] | None:
    """Return the fields that lines are cited by: those asked for, or usual ones; None for all."""
    if cite is not None:
        asked = split_list(cite)
        for name in asked:
            require_field(corpus, name)
        return asked
    names = kept_fields(corpus)
    usual = [name for each in _CITED for name in names if name.casefold() == each]
    is_enough = {*_CITED[:2]} & {name.casefold() for name in usual}
    return usual[:3] if is_enough else None  # a year or a date is the third


def citation(fields: Mapping[str, str], names: Sequence[str] | None, source: str) -> str:
    """Return what a document is cited by, or the name of its file if all of that is empty."""
    short = [value for value in fields.values() if len(value) < _SHORT]
    values = short if names is None else [fields.get(name, "") for name in names]
    return ", ".join(filter(None, map(str.strip, values))) or source.rpartition("/")[2]
