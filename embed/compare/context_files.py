"""Read words in context in the forms that the field uses, found by content: SCWS, WiC, CoSimLex."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from corpora.errors import SourceError
from embed.compare.lines import Line, quoted, read_lines

_TAG = re.compile(r"<(/?)(?:b|strong)>")
_PLACES = re.compile(r"([0-9]+)-([0-9]+)")
_JUDGEMENTS = (("sim1", "sim_context1"), ("sim2", "sim_context2"))  # as published, as at SemEval
_LABELS = {"T": 1.0, "F": 0.0}
_FORMS = (
    "lines of SCWS (id, word, pos, word, pos, context, context, mean), "
    "WiC (word, pos, i-j, sentence, sentence) or CoSimLex (with its header), tabs between"
)


@dataclass(frozen=True)
class Target:
    """A word where it stands.

    Attributes
    ----------
    parts : tuple of str
        The context, cut where something is marked: parts 1, 3, 5, ... are what was marked.
    marks : tuple of int
        Which parts are the word; several where it is marked more than once.
    """

    parts: tuple[str, ...]
    marks: tuple[int, ...]


@dataclass(frozen=True)
class PairInContext:
    """Two words, each in a context, and how alike people found them there.

    Attributes
    ----------
    a, b : str
        The words as the file lists them, perhaps uninflected.
    first, second : Target
        Where they stand; perhaps in one context.
    gold : float
        A judgement, the higher, the more alike; of WiC 1 for one meaning and 0 for two.
    """

    a: str
    b: str
    first: Target
    second: Target
    gold: float


@dataclass(frozen=True)
class ContextSet:
    """A set of words in context.

    Attributes
    ----------
    form : str
        ``scws``, ``wic`` or ``cosimlex``.
    pairs : sequence of PairInContext
        In the order of the file; of CoSimLex pairs 2 i and 2 i + 1 are the same words, in the
        first context and in the second.
    """

    form: Literal["scws", "wic", "cosimlex"]
    pairs: Sequence[PairInContext]


def read_contexts(path: Path) -> ContextSet:
    """Read a set of words in context.

    - SCWS (Huang et al. 2012): two words, each marked ``<b>word</b>`` in a context of its own.
    - WiC (Pilehvar & Camacho-Collados 2019): one word in two sentences, at the places i-j, counted
      from 0 between spaces; T or F for each line in a file beside it that is called ``gold``
      where this one is called ``data``.
    - CoSimLex (Armendariz et al. 2020): two words, both marked ``<strong>word</strong>`` in a first
      and again in a second context; columns are found by the header. Judgements stand in the same
      file, or, as SemEval-2020 handed them out, line by line in one that is called ``gold`` where
      this one is called ``data``, beside it or in a folder ``gold`` beside its own.

    Parameters
    ----------
    path : Path
        UTF-8 text, an item a line, fields between tabs.

    Returns
    -------
    ContextSet
        Every word found where the file says that it is.

    Raises
    ------
    SourceError
        The file, or the one with the labels, is missing, is no text or holds no item; or a line is
        of another form, or a target is not in its context: the message has its number.
    """
    lines = read_lines(path)
    if not lines:
        raise SourceError(f"{path}: holds no word in context; expected {_FORMS}")
    records = [[field.strip() for field in line.text.split("\t")] for line in lines]
    rows = [_Row(path, *each) for each in zip(lines, records, strict=True)]
    header = [name.lower() for name in records[0]]
    if "context1" in header:
        return ContextSet("cosimlex", list(_cosimlex(*_judged(rows))))
    if any(_TAG.search(line.text) for line in lines):
        return ContextSet("scws", [_scws(row) for row in rows])
    if any(len(fields) > 2 and _PLACES.fullmatch(fields[2]) for fields in records):
        labels = _labels(path, len(rows))
        return ContextSet("wic", [_wic(*each) for each in zip(rows, labels, strict=True)])
    raise rows[0].wrong(f"is none of the {_FORMS}")


@dataclass(frozen=True)
class _Row:
    """A line in its fields."""

    path: Path
    line: Line
    fields: Sequence[str]

    def wrong(self, what: str) -> SourceError:
        """What is wrong with the whole line."""
        return self.error(f"{quoted(self.line.text)} {what}")

    def error(self, what: str) -> SourceError:
        """What is wrong with a part of it."""
        return SourceError(f"{self.path}:{self.line.number}: {what}")

    def number(self, field: str) -> float:
        """A finite number."""
        try:
            value = float(field)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.error(f"{quoted(field)} is no judgement; write a number")
        return value

    def parts(self, context: str, which: int) -> tuple[str, ...]:
        """A context, cut at its marks."""
        closing = [tag == "/" for tag in _TAG.findall(context)]
        if not closing or closing != [False, True] * (len(closing) // 2):
            what = "marks no word" if not closing else "does not close every mark that it opens"
            raise self.error(f"context {which} {what}; write <b>word</b> where the target stands")
        parts = tuple(_TAG.split(context)[::2])  # between them is what the group matched
        if not all(part.strip() for part in parts[1::2]):
            raise self.error(f"context {which} marks nothing; write <b>word</b> around the target")
        return parts


def _scws(row: _Row) -> PairInContext:
    """A line of SCWS."""
    if len(row.fields) < 8:
        raise row.wrong("is not id, word, pos, word, pos, context, context, mean between tabs")
    _, a, _, b, _, *contexts = row.fields[:7]
    found = [row.parts(context, which) for which, context in enumerate(contexts, start=1)]
    for which, parts in enumerate(found, start=1):
        if len(parts) != 3:
            n_marked = len(parts) // 2
            raise row.error(f"context {which} marks {n_marked} words; mark the target alone")
    first, second = (Target(parts, (1,)) for parts in found)
    return PairInContext(a, b, first, second, row.number(row.fields[7]))


def _wic(row: _Row, label: float) -> PairInContext:
    """A line of WiC with its label."""
    places = _PLACES.fullmatch(row.fields[2]) if len(row.fields) == 5 else None
    if places is None:
        raise row.wrong("is not word, pos, i-j, sentence, sentence between tabs")
    first, second = (
        _at(row, int(place), sentence)
        for place, sentence in zip(places.groups(), row.fields[3:], strict=True)
    )
    return PairInContext(row.fields[0], row.fields[0], first, second, label)


def _at(row: _Row, place: int, sentence: str) -> Target:
    """The word of a sentence at a place."""
    words = sentence.split()
    if place >= len(words):
        raise row.error(
            f"{quoted(sentence)} has {len(words)} words and none at {place}; correct the place, "
            "which is counted from 0"
        )
    return Target((" ".join(words[:place]), words[place], " ".join(words[place + 1 :])), (1,))


def _labels(path: Path, n_items: int) -> list[float]:
    """The labels of a file of WiC, 1 for T."""
    stem, dot, rest = path.name.rpartition(".data")
    gold = path.with_name(f"{stem}.gold{rest}" if dot else f"{path.stem}.gold{path.suffix}")
    if not gold.is_file():
        raise SourceError(f"{path}: is a set of WiC, and its labels T and F are not in {gold}")
    lines = read_lines(gold)
    for line in lines:
        if line.text not in _LABELS:
            raise SourceError(f"{gold}:{line.number}: {quoted(line.text)} is neither T nor F")
    if len(lines) != n_items:
        raise SourceError(f"{gold}: has {len(lines)} labels for the {n_items} lines of {path}")
    return [_LABELS[line.text] for line in lines]


def _judged(rows: Sequence[_Row]) -> tuple[_Row, list[str], Sequence[_Row]]:
    """The first line, the names of columns, and the lines below it, with judgements if any."""
    header = [name.lower() for name in rows[0].fields]
    path = rows[0].path
    if path.name.startswith("data") and not any(
        n in header for names in _JUDGEMENTS for n in names
    ):
        name = path.name.replace("data", "gold", 1)
        for gold in (path.with_name(name), path.parent.parent / "gold" / name):
            if gold.is_file():
                return _with_gold(rows, header, gold)
    return rows[0], header, rows[1:]


def _with_gold(
    rows: Sequence[_Row], header: Sequence[str], gold: Path
) -> tuple[_Row, list[str], Sequence[_Row]]:
    """The same with what stands in the same lines of another file."""
    judged = [[field.strip() for field in line.text.split("\t")] for line in read_lines(gold)]
    if len(judged) != len(rows):
        raise SourceError(f"{gold}: has {len(judged)} lines for the {len(rows)} of {rows[0].path}")
    short = len(header)
    both = [
        replace(row, fields=[*(list(row.fields) + [""] * short)[:short], *fields])
        for row, fields in zip(rows, judged, strict=True)
    ]
    return both[0], [*header, *(name.lower() for name in judged[0])], both[1:]


def _cosimlex(first: _Row, header: Sequence[str], rows: Sequence[_Row]) -> Iterator[PairInContext]:
    """The lines below a header, two pairs each."""
    places = {name: place for place, name in enumerate(header)}
    judgements = [next((n for n in names if n in places), "") for names in _JUDGEMENTS]
    named = ["word1", "word2", "context1", "context2", *judgements]
    if not all(name in places for name in named):
        raise first.error(
            "the header needs word1, word2, context1, context2, and the judgements sim1 and sim2 "
            "(or sim_context1 and sim_context2), here or in a file called gold beside one called "
            "data"
        )
    if not rows:
        raise first.error("nothing follows the header")
    for row in rows:
        if len(row.fields) <= max(places[name] for name in named):
            raise row.wrong("has fewer fields than the header; expected tabs between")
        fields = dict(zip(header, row.fields, strict=False))
        for which, judgement in enumerate(judgements, start=1):
            a, b = _both(row, fields, which)
            score = row.number(fields[judgement])
            yield PairInContext(fields["word1"], fields["word2"], a, b, score)


def _both(row: _Row, fields: Mapping[str, str], which: int) -> tuple[Target, Target]:
    """The two words of a context: by the forms that the file tells, or the only two marked."""
    parts = row.parts(fields[f"context{which}"], which)
    marks = range(1, len(parts), 2)
    forms = [fields.get(f"{word}_context{which}") or fields[word] for word in ("word1", "word2")]
    a, b = (
        tuple(mark for mark in marks if parts[mark].strip().casefold() == form.casefold())
        for form in forms
    )
    if a and b:
        return Target(parts, a), Target(parts, b)
    if len(marks) == 2:
        return Target(parts, (1,)), Target(parts, (3,))
    raise row.error(
        f"context {which} marks {len(marks)} words, which are not just {forms[0]!r} and "
        f"{forms[1]!r}; mark these two"
    )
