"""Read words in context: SCWS, WiC or CoSimLex, detected by content."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from firth.corpora.common.errors import SourceError
from firth.embed.compare.datasets.fields import Row, is_comment, quoted, read_rows
from firth.embed.compare.datasets.head import Head
from firth.embed.compare.datasets.mismatched_targets import mismatch_note

_MARK = re.compile(r"<(/?)(?:b|strong)>")
_BETWEEN_SPACES = re.compile(r"[^ \t]+")  # ASCII spaces only: "10\u00a0km" is one word
_POSITIONS = re.compile(r"([0-9]+)-([0-9]+)")
_JUDGMENTS = (("sim1", "sim_context1"), ("sim2", "sim_context2"))  # as published; as at SemEval
_LABELS = {"T": 1.0, "F": 0.0}
_FORMS = (
    "lines of SCWS (id, word, pos, word, pos, context, context, mean), "
    "WiC (word, pos, i-j, sentence, sentence) or CoSimLex (with its header), tab-separated"
)


@dataclass(frozen=True)
class Target:
    """An occurrence of a word in its context."""

    # the context, split at the marks: parts 1, 3, 5, ... are the marked words
    parts: tuple[str, ...]
    marks: tuple[int, ...]  # which parts are this word; several if it is marked more than once


@dataclass(frozen=True)
class PairInContext:
    """Two words, each in a context, with the human judgment of their similarity there."""

    a: str  # both as the file lists them, possibly uninflected
    b: str
    first: Target  # occurrence of ``a``
    second: Target  # occurrence of ``b``, possibly in the same context
    gold: float  # higher is more similar; in WiC 1 for the same meaning, 0 for different ones


@dataclass(frozen=True)
class ContextSet:
    """A set of words in context."""

    form: Literal["scws", "wic", "cosimlex"]
    # in file order; in CoSimLex pairs 2i and 2i + 1 are the same two words, in the first context
    # and in the second
    pairs: Sequence[PairInContext]
    # for SCWS and WiC: a note on targets that do not look like the listed words
    mismatch: str | None = None


def read_contexts(path: Path) -> ContextSet:
    """Read a set of words in context: SCWS, WiC or CoSimLex, recognized by content.

    Labels of WiC, and judgments of CoSimLex as distributed by SemEval-2020, are in a second file,
    named with ``gold`` in place of ``data``; that of CoSimLex may be in a sibling folder ``gold``.
    """
    rows = _rows(path, f"no words in context; expected {_FORMS}")
    if "context1" in (name.lower() for name in rows[0].fields):
        return ContextSet("cosimlex", list(_cosimlex(rows)))
    if any(_MARK.search(row.text) for row in rows):
        return _line_per_pair("scws", rows, [_scws(row) for row in rows])
    if any(len(row.fields) > 2 and _POSITIONS.fullmatch(row.fields[2]) for row in rows):
        labels = _labels(path, len(rows))
        return _line_per_pair("wic", rows, [_wic(*each) for each in zip(rows, labels, strict=True)])
    raise rows[0].wrong(f"is of no known form; expected {_FORMS}")


def looks_like_contexts(head: Head) -> bool:
    """Return whether lines have marked words, positions of words, or a header with contexts."""
    rows = [row.text.split("\t") for row in head.rows]
    if not rows or len(rows[0]) < 5:
        return False
    named = "context1" in (name.strip().lower() for name in rows[0])
    return (
        named
        or _MARK.search(head.rows[-1].text) is not None
        or (len(rows[-1]) == 5 and _POSITIONS.fullmatch(rows[-1][2].strip()) is not None)
    )


def parts_of_wic(folder: Path) -> list[Path]:
    """Return the labeled parts of a folder of WiC: development, if any, and test."""
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*.data*")):
        first = found.setdefault(path.name.partition(".")[0], path)
        if first != path:
            raise SourceError(
                f"{folder}: contains {first.relative_to(folder)} and {path.relative_to(folder)}; "
                "pass the folder of one language, or files as DEV,TEST"
            )
    labeled = [
        found[part]
        for part in ("dev", "test")
        if part in found and any(map(Path.is_file, gold_files(found[part])))
    ]
    if not labeled:
        raise SourceError(
            f"{folder}: contains no dev.data.txt or test.data.txt with its gold.txt; pass a file"
        )
    return labeled


def gold_files(path: Path) -> list[Path]:
    """Return the files that may hold the labels or judgments of a set."""
    return [_gold_of_wic(path), *_gold_of_cosimlex(path)]


def _gold_of_wic(path: Path) -> Path:
    """Return the file with the labels of a WiC file."""
    stem, dot, rest = path.name.rpartition(".data")
    return path.with_name(f"{stem}.gold{rest}" if dot else f"{path.stem}.gold{path.suffix}")


def _gold_of_cosimlex(path: Path) -> list[Path]:
    """Return the files that may hold the judgments of a CoSimLex file, as named by SemEval-2020."""
    if not path.name.startswith("data"):
        return []
    name = path.name.replace("data", "gold", 1)
    return [path.with_name(name), path.parent.parent / "gold" / name]


def _rows(path: Path, nothing: str | None = None) -> list[Row]:
    """Read lines split at tabs; a line with a tab is data even if it starts like a comment."""
    rows = read_rows(path, nothing=nothing, comment=lambda t: "\t" not in t and is_comment(t))
    return [row._replace(fields=[each.strip() for each in row.text.split("\t")]) for row in rows]


def _parts(row: Row, context: str, which: int) -> tuple[str, ...]:
    """Split a context at its marks: parts 1, 3, 5, ..., at least one, are the marked words."""
    closing = [tag == "/" for tag in _MARK.findall(context)]
    if not closing or closing != [False, True] * (len(closing) // 2):
        what = "has an unclosed mark" if closing else "has no marked word"
        raise row.error(f"context {which} {what}; mark the target as <b>word</b>")
    parts = tuple(_MARK.split(context)[::2])  # every other string is a match of the group
    if not all(part.strip() for part in parts[1::2]):
        raise row.error(f"context {which} has an empty mark; mark the target as <b>word</b>")
    return parts


def _line_per_pair(
    form: Literal["scws", "wic"], rows: Sequence[Row], pairs: Sequence[PairInContext]
) -> ContextSet:
    """Return a set with one pair per line, with a note on targets unlike the listed words."""
    listed = (
        (row.number, word, "".join(target.parts[mark] for mark in target.marks).strip())
        for row, pair in zip(rows, pairs, strict=True)
        for word, target in ((pair.a, pair.first), (pair.b, pair.second))
    )
    return ContextSet(form, pairs, mismatch_note(list(listed)))


def _scws(row: Row) -> PairInContext:
    """Parse a line of SCWS."""
    if len(row.fields) < 8:
        raise row.wrong("is not id, word, pos, word, pos, context, context, mean, tab-separated")
    _, a, _, b, _, *contexts = row.fields[:7]
    found = [_parts(row, context, which) for which, context in enumerate(contexts, start=1)]
    for which, parts in enumerate(found, start=1):
        if len(parts) != 3:
            n_marked = len(parts) // 2
            raise row.error(f"context {which} has {n_marked} marked words; mark only the target")
    first, second = (Target(parts, (1,)) for parts in found)
    return PairInContext(a, b, first, second, row.score(7))


def _wic(row: Row, label: float) -> PairInContext:
    """Parse a line of WiC with its label."""
    places = _POSITIONS.fullmatch(row.fields[2]) if len(row.fields) == 5 else None
    if places is None:
        raise row.wrong("is not word, pos, i-j, sentence, sentence, tab-separated")
    sentences = row.text.split("\t")[3:]  # not row.fields: stripping removes more than ASCII spaces
    first, second = (
        _at(row, int(place), sentence)
        for place, sentence in zip(places.groups(), sentences, strict=True)
    )
    return PairInContext(row.fields[0], row.fields[0], first, second, label)


def _at(row: Row, place: int, sentence: str) -> Target:
    """Return the word at a position of a sentence."""
    words = _BETWEEN_SPACES.findall(sentence)
    if place >= len(words):
        raise row.error(
            f"{quoted(sentence)} has {len(words)} words, none at {place}; correct the position, "
            "which counts from 0"
        )
    return Target((" ".join(words[:place]), words[place], " ".join(words[place + 1 :])), (1,))


def _labels(path: Path, n_items: int) -> list[float]:
    """Read the labels of a WiC file, 1 for T."""
    gold = _gold_of_wic(path)
    if not gold.is_file():
        raise SourceError(
            f"{path}: a WiC set needs its labels T and F in {gold}, which does not exist"
        )
    rows = _rows(gold)
    for row in rows:
        if row.text not in _LABELS:
            raise row.wrong("is neither T nor F")
    if len(rows) != n_items:
        raise SourceError(f"{gold}: has {len(rows)} labels for the {n_items} lines of {path}")
    return [_LABELS[row.text] for row in rows]


def _with_judgments(rows: Sequence[Row]) -> Sequence[Row]:
    """Append the columns of a second file, if there is one and the header has no judgments."""
    named = {name.lower() for name in rows[0].fields}
    gold = next(filter(Path.is_file, _gold_of_cosimlex(rows[0].path)), None)
    if gold is None or any(name in named for names in _JUDGMENTS for name in names):
        return rows
    judged = [row.fields for row in _rows(gold)]
    if len(judged) != len(rows):
        raise SourceError(
            f"{gold}: has {len(judged)} lines for the {len(rows)} lines of {rows[0].path}"
        )
    short = len(rows[0].fields)
    return [
        row._replace(fields=[*(list(row.fields) + [""] * short)[:short], *fields])
        for row, fields in zip(rows, judged, strict=True)
    ]


def _cosimlex(rows: Sequence[Row]) -> Iterator[PairInContext]:
    """Parse the lines below a header, two pairs each."""
    first, *below = _with_judgments(rows)
    header = [name.lower() for name in first.fields]
    places = {name: place for place, name in enumerate(header)}
    judgments = [next((n for n in names if n in places), "") for names in _JUDGMENTS]
    named = ["word1", "word2", "context1", "context2", *judgments]
    if not all(name in places for name in named):
        raise first.error(
            "the header needs word1, word2, context1, context2, and the judgments sim1 and sim2 "
            "(or sim_context1 and sim_context2), here or in a file named gold beside one named "
            "data"
        )
    if not below:
        raise first.error("no line follows the header")
    for row in below:
        if len(row.fields) <= max(places[name] for name in named):
            raise row.wrong("has fewer fields than the header; separate fields by tabs")
        fields = dict(zip(header, row.fields, strict=False))
        for which, judgment in enumerate(judgments, start=1):
            a, b = _both(row, fields, which)
            yield PairInContext(fields["word1"], fields["word2"], a, b, row.score(places[judgment]))


def _both(row: Row, fields: Mapping[str, str], which: int) -> tuple[Target, Target]:
    """Return the two targets of a context, matched by inflected form, else in text order."""
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
        f"context {which} has {len(marks)} marked words, not just {forms[0]!r} and {forms[1]!r}; "
        "mark these two"
    )
