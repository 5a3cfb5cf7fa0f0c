"""Read words in context in the forms that the field uses, found by content: SCWS, WiC, CoSimLex."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from corpora.common.errors import SourceError
from embed.compare.datasets.fields import Row, is_comment, quoted, read_rows
from embed.compare.datasets.mismatched_targets import mismatch_note

_MARK = re.compile(r"<(/?)(?:b|strong)>")
_BETWEEN_SPACES = re.compile(r"[^ \t]+")  # plain ones: "10\u00a0km" is one word
_PLACES = re.compile(r"([0-9]+)-([0-9]+)")
_JUDGEMENTS = (("sim1", "sim_context1"), ("sim2", "sim_context2"))  # as published, as at SemEval
_LABELS = {"T": 1.0, "F": 0.0}
_FORMS = (
    "lines of SCWS (id, word, pos, word, pos, context, context, mean), "
    "WiC (word, pos, i-j, sentence, sentence) or CoSimLex (with its header), tabs between"
)


@dataclass(frozen=True)
class Target:
    """A word where it stands."""

    # the context, cut where something is marked: parts 1, 3, 5, ... are what was marked
    parts: tuple[str, ...]
    marks: tuple[int, ...]  # which parts are the word; several where it is marked more than once


@dataclass(frozen=True)
class PairInContext:
    """Two words, each in a context, and how alike people found them there."""

    a: str  # the words as the file lists them, perhaps uninflected
    b: str  # the words as the file lists them, perhaps uninflected
    first: Target  # where they stand; perhaps in one context
    second: Target  # where they stand; perhaps in one context
    gold: float  # A judgement, the higher, the more alike; of WiC 1 for one meaning and 0 for two


@dataclass(frozen=True)
class ContextSet:
    """A set of words in context."""

    form: Literal["scws", "wic", "cosimlex"]  # ``scws``, ``wic`` or ``cosimlex``
    # in the order of the file; of CoSimLex pairs 2 i and 2 i + 1 are the same words, in the first
    # context and in the second
    pairs: Sequence[PairInContext]
    # of SCWS and WiC, how many targets do not look like the words that are listed
    unlike: str | None = None


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
    """
    rows = _rows(path, f"no word in context; expected {_FORMS}")
    if "context1" in (name.lower() for name in rows[0].fields):
        return ContextSet("cosimlex", list(_cosimlex(*_judged(rows))))
    if any(_MARK.search(row.text) for row in rows):
        return _compared("scws", rows, [_scws(row) for row in rows])
    if any(len(row.fields) > 2 and _PLACES.fullmatch(row.fields[2]) for row in rows):
        labels = _labels(path, len(rows))
        return _compared("wic", rows, [_wic(*each) for each in zip(rows, labels, strict=True)])
    raise rows[0].wrong(f"is none of the {_FORMS}")


def gold_files(path: Path) -> list[Path]:
    """Name the files where labels or judgements are looked for that a set may not hold itself."""
    return [_gold_of_wic(path), *_gold_of_cosimlex(path)]


def _gold_of_wic(path: Path) -> Path:
    """Where the labels of a file of WiC stand."""
    stem, dot, rest = path.name.rpartition(".data")
    return path.with_name(f"{stem}.gold{rest}" if dot else f"{path.stem}.gold{path.suffix}")


def _gold_of_cosimlex(path: Path) -> list[Path]:
    """Where the judgements of a file of CoSimLex may stand, as SemEval-2020 handed them out."""
    if not path.name.startswith("data"):
        return []
    name = path.name.replace("data", "gold", 1)
    return [path.with_name(name), path.parent.parent / "gold" / name]


def _rows(path: Path, nothing: str | None = None) -> list[Row]:
    """Lines cut at every tab. A line with a tab is no comment: so may words of a set begin."""
    rows = read_rows(path, nothing=nothing, comment=lambda t: "\t" not in t and is_comment(t))
    return [row._replace(fields=[each.strip() for each in row.text.split("\t")]) for row in rows]


def _judgement(row: Row, field: str) -> float:
    """A finite number."""
    try:
        value = float(field)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise row.error(f"{quoted(field)} is no judgement; write a number")
    return value


def _parts(row: Row, context: str, which: int) -> tuple[str, ...]:
    """A context cut at its marks: parts 1, 3, 5, ... are what is marked, one at least."""
    closing = [tag == "/" for tag in _MARK.findall(context)]
    if not closing or closing != [False, True] * (len(closing) // 2):
        what = "marks no word" if not closing else "does not close every mark that it opens"
        raise row.error(f"context {which} {what}; write <b>word</b> where the target stands")
    parts = tuple(_MARK.split(context)[::2])  # between them is what the group matched
    if not all(part.strip() for part in parts[1::2]):
        raise row.error(f"context {which} marks nothing; write <b>word</b> around the target")
    return parts


def _compared(
    form: Literal["scws", "wic"], rows: Sequence[Row], pairs: Sequence[PairInContext]
) -> ContextSet:
    """Pairs, a line each, and how far what stands in them looks like what is listed."""
    listed = (
        (row.number, word, "".join(target.parts[mark] for mark in target.marks).strip())
        for row, pair in zip(rows, pairs, strict=True)
        for word, target in ((pair.a, pair.first), (pair.b, pair.second))
    )
    return ContextSet(form, pairs, mismatch_note(list(listed)))


def _scws(row: Row) -> PairInContext:
    """A line of SCWS."""
    if len(row.fields) < 8:
        raise row.wrong("is not id, word, pos, word, pos, context, context, mean between tabs")
    _, a, _, b, _, *contexts = row.fields[:7]
    found = [_parts(row, context, which) for which, context in enumerate(contexts, start=1)]
    for which, parts in enumerate(found, start=1):
        if len(parts) != 3:
            n_marked = len(parts) // 2
            raise row.error(f"context {which} marks {n_marked} words; mark the target alone")
    first, second = (Target(parts, (1,)) for parts in found)
    return PairInContext(a, b, first, second, _judgement(row, row.fields[7]))


def _wic(row: Row, label: float) -> PairInContext:
    """A line of WiC with its label."""
    places = _PLACES.fullmatch(row.fields[2]) if len(row.fields) == 5 else None
    if places is None:
        raise row.wrong("is not word, pos, i-j, sentence, sentence between tabs")
    sentences = row.text.split("\t")[3:]  # fields have lost other spaces than plain ones
    first, second = (
        _at(row, int(place), sentence)
        for place, sentence in zip(places.groups(), sentences, strict=True)
    )
    return PairInContext(row.fields[0], row.fields[0], first, second, label)


def _at(row: Row, place: int, sentence: str) -> Target:
    """The word of a sentence at a place."""
    words = _BETWEEN_SPACES.findall(sentence)
    if place >= len(words):
        raise row.error(
            f"{quoted(sentence)} has {len(words)} words and none at {place}; correct the place, "
            "which is counted from 0"
        )
    return Target((" ".join(words[:place]), words[place], " ".join(words[place + 1 :])), (1,))


def _labels(path: Path, n_items: int) -> list[float]:
    """The labels of a file of WiC, 1 for T."""
    gold = _gold_of_wic(path)
    if not gold.is_file():
        raise SourceError(f"{path}: is a set of WiC, and its labels T and F are not in {gold}")
    rows = _rows(gold)
    for row in rows:
        if row.text not in _LABELS:
            raise row.wrong("is neither T nor F")
    if len(rows) != n_items:
        raise SourceError(f"{gold}: has {len(rows)} labels for the {n_items} lines of {path}")
    return [_LABELS[row.text] for row in rows]


def _judged(rows: Sequence[Row]) -> tuple[Row, list[str], Sequence[Row]]:
    """The first line, the names of columns, and the lines below it, with judgements if any."""
    header = [name.lower() for name in rows[0].fields]
    if not any(name in header for names in _JUDGEMENTS for name in names):
        for gold in _gold_of_cosimlex(rows[0].path):
            if gold.is_file():
                return _with_gold(rows, header, gold)
    return rows[0], header, rows[1:]


def _with_gold(
    rows: Sequence[Row], header: Sequence[str], gold: Path
) -> tuple[Row, list[str], Sequence[Row]]:
    """The same with what stands in the same lines of another file."""
    judged = [row.fields for row in _rows(gold)]
    if len(judged) != len(rows):
        raise SourceError(f"{gold}: has {len(judged)} lines for the {len(rows)} of {rows[0].path}")
    short = len(header)
    both = [
        row._replace(fields=[*(list(row.fields) + [""] * short)[:short], *fields])
        for row, fields in zip(rows, judged, strict=True)
    ]
    return both[0], [*header, *(name.lower() for name in judged[0])], both[1:]


def _cosimlex(first: Row, header: Sequence[str], rows: Sequence[Row]) -> Iterator[PairInContext]:
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
            score = _judgement(row, fields[judgement])
            yield PairInContext(fields["word1"], fields["word2"], a, b, score)


def _both(row: Row, fields: Mapping[str, str], which: int) -> tuple[Target, Target]:
    """The two words of a context: by the forms that the file tells, else the only two marked.

    Where one of these is told by its form, the other mark is the other word's; else they are taken
    in the order of the text.
    """
    parts = _parts(row, fields[f"context{which}"], which)
    marks = range(1, len(parts), 2)
    forms = [fields.get(f"{word}_context{which}") or fields[word] for word in ("word1", "word2")]
    a, b = (
        tuple(mark for mark in marks if parts[mark].strip().casefold() == form.casefold())
        for form in forms
    )
    if a and b:
        return Target(parts, a), Target(parts, b)
    if len(marks) == 2:
        first, second = (3, 1) if a == (3,) or b == (1,) else (1, 3)
        return Target(parts, (first,)), Target(parts, (second,))
    raise row.error(
        f"context {which} marks {len(marks)} words, which are not just {forms[0]!r} and "
        f"{forms[1]!r}; mark these two"
    )
