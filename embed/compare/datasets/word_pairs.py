"""Read scored word pairs, and find the default evaluation sets.

The form of a file is detected from its content: fields are separated by tabs, semicolons, commas or
spaces; a header, comments, CRLF line ends and further columns are fine. No line is skipped: a
malformed one is an error with its number.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from firth.corpora.common.errors import FirthError, SourceError
from firth.corpora.datasets.gensim_data import gensim_file
from firth.embed.compare.datasets.fields import Row, cut_rows, is_number, read_rows
from firth.embed.compare.datasets.head import Head
from firth.embed.compare.datasets.parts import names_only_its_part, set_name

if TYPE_CHECKING:  # numba comes with it
    from firth.corpora.store.corpus import Corpus

DEFAULT_SETS = (
    ("similarity", "wordsim353.tsv"),
    ("similarity", "simlex999.txt"),
    ("analogy", "questions-words.txt"),
)
# A text is of a language if its most frequent words have this many of these; English and German
# share "in" and "was", German and Dutch "die" and "der".
_COMMON = {
    "English": frozenset(["the", "of", "and", "to", "in", "was", "that", "for", "with", "is"]),
    "German": frozenset(["der", "die", "das", "und", "nicht", "ein", "mit", "sich", "auf", "von"]),
}
_N_FREQUENT, _MIN_COMMON = 200, 6
NOT_ENGLISH = (
    "does not look English, but all bundled evaluation sets are: their scores would say nothing; "
    "name sets in its language"
)
# Our own set of tagged sentences: its file names start so and end in the part.
TWO_TAGS = "two-tags"
_PARTS = ("train", "dev", "test")
# name to kind of the sets that need no path
BUNDLED = {Path(file).stem: kind for kind, file in DEFAULT_SETS} | {TWO_TAGS: "tagging"}

_TAGGED = re.compile(r".+-[anrvj]")  # the word and its part of speech
# What publishers call the column of mean human judgments.
_SCORE_NAME = re.compile(
    r"(?<![a-z])((simlex|simverb|wordsim)[0-9]*|human|mean|avg|average|gold|ratings?|scores?"
    r"|similarity|relatedness|sim)(?![a-z])",
    re.IGNORECASE,
)
_SET_NAME = re.compile(r"[A-Za-z]{3,}[-_ ]?[0-9]{2,}")


@dataclass(frozen=True)
class WordPair:
    """Two words and the human score of their similarity."""

    a: str  # both as the file writes them
    b: str
    score: float  # higher is more similar


@dataclass(frozen=True)
class _PairColumns:
    """Positions of the needed columns, and the usual number of columns."""

    a: int
    b: int
    score: int
    width: int


def default_sets(missing: list[FirthError] | None = None) -> list[tuple[str, Path]]:
    """Return task and path of the default sets; errors are added to ``missing``, or raised."""
    return find_sets(DEFAULT_SETS, missing, lambda _, name: gensim_file(name))


def frequent_words(corpus: "Corpus") -> list[str]:
    """Return the words by which the script and the language of a corpus are found."""
    return corpus.vocabulary.words(0, min(_N_FREQUENT, len(corpus.vocabulary)))


def looks_like(language: str, vocabulary: Iterable[str]) -> bool:
    """Return whether words in order of frequency are English, or German, by the first ones."""
    frequent = set(map(str.lower, islice(vocabulary, _N_FREQUENT)))
    return len(frequent & _COMMON[language]) >= _MIN_COMMON


def looks_foreign(vocabulary: Iterable[str]) -> bool:
    """Return whether words in order of frequency, enough of them, are certainly not English."""
    frequent = list(islice(vocabulary, _N_FREQUENT))
    enough = 2 * sum(map(str.isalpha, frequent)) >= _N_FREQUENT
    return enough and not looks_like("English", frequent)


def find_sets(
    named: Iterable[tuple[str, str]],
    missing: list[FirthError] | None = None,
    find: Callable[[str, str], Path] | None = None,
) -> list[tuple[str, Path]]:
    """Return task and path of sets by their task and name, as :func:`default_sets` does."""
    found = []
    for task, name in named:
        try:
            found.append((task, (find or find_set)(task, name)))
        except SourceError as error:
            if missing is None:
                raise
            missing.append(error)
    return found


def find_set(task: str, named: str) -> Path:
    """Return the path of a set: a file, or the name of a default set or of one of Firth's own."""
    if Path(named).exists():
        return Path(named)
    for of_task, file in DEFAULT_SETS:
        if (of_task, Path(file).stem) == (task, named):
            return gensim_file(file)
    if (task, named) == ("tagging", TWO_TAGS):
        folder = Path(str(files("firth.embed.compare.datasets"))) / "data"
        return Path(",".join(str(folder / f"{named}-{part}.conllu") for part in _PARTS))
    return Path(named)


def read_pairs(path: Path) -> list[WordPair]:
    """Read a set of word pairs with scores.

    The words are the first two columns without numbers; the score is the column that a header names
    so, else the first of numbers after the words. Covers SimLex-999 and MEN as published.
    """
    nothing = "no word pairs; expected lines of word, word, score"
    rows = read_rows(path, lambda n_fields: n_fields >= 3, nothing=nothing)
    columns = _pair_columns(rows)
    header = int(_names_the_score(rows[0].fields, columns))
    return _untagged([_pair(row, columns) for row in rows[header:]])


def looks_like_pairs(head: Head) -> bool:
    """Return whether lines have two words and a number behind them, and no number before."""
    if not head.is_list:
        return False
    rows = cut_rows(head.rows, lambda n_fields: n_fields >= 3)
    try:
        columns = _pair_columns(rows)
    except SourceError:
        return False
    pairs = [row.fields for row in rows if _is_pair(row.fields, columns)]
    return 10 * len(pairs) >= 9 * (len(rows) - 1) > 0


def _is_pair(fields: Sequence[str], columns: _PairColumns) -> bool:
    """Return whether a line has a number behind two words, and none before."""
    words = fields[columns.a : columns.b + 1]
    return (
        len(fields) > columns.score
        and is_number(fields[columns.score])
        and not any(map(is_number, fields[: columns.a]))
        and all(0 < len(word.split()) <= 3 and "<" not in word for word in words)
    )


def pairs_name(path: Path) -> str:
    """Return the name of a set: of its file or, if that names a part, of its score column."""
    if names_only_its_part(path):
        rows = read_rows(path, lambda n_fields: n_fields >= 3, nothing="no word pairs")
        columns = _pair_columns(rows)
        if _names_the_score(rows[0].fields, columns):
            found = rows[0].fields[columns.score]
            return found if _SET_NAME.fullmatch(found) else set_name(path)
    return set_name(path)


def _untagged(pairs: list[WordPair]) -> list[WordPair]:
    """Remove parts of speech such as those of MEN (``sun-n``), if all words have one."""
    if not all(_TAGGED.fullmatch(word) for pair in pairs for word in (pair.a, pair.b)):
        return pairs
    return [WordPair(pair.a[:-2], pair.b[:-2], pair.score) for pair in pairs]


def _pair_columns(rows: Sequence[Row]) -> _PairColumns:
    """Find the word and score columns from the form of most lines."""
    first, records = rows[0], [row.fields for row in rows]
    width = Counter(len(fields) for fields in records).most_common(1)[0][0]
    usual = [fields for fields in records if len(fields) == width]
    columns = [[fields[column] for fields in usual] for column in range(width)]
    numeric = [2 * sum(map(is_number, column)) >= len(column) for column in columns]
    words = [column for column in range(width) if not numeric[column]][:2]
    last = max(words, default=width)
    scores = [column for column in range(width) if numeric[column] and column > last]
    if len(words) < 2 or not scores:
        raise first.wrong(
            "does not start a list of word, word, score; a set of analogies is passed with "
            "`analogy=FILE`"
        )
    names = first.fields if len(first.fields) == width else []
    named = [column for column in scores if names and _SCORE_NAME.search(names[column])]
    a, b = words
    return _PairColumns(a, b, (named or scores)[0], width)


def _names_the_score(fields: Sequence[str], columns: _PairColumns) -> bool:
    """Return whether the first line is a header rather than a malformed pair."""
    return len(fields) == columns.width and _SCORE_NAME.search(fields[columns.score]) is not None


def _pair(row: Row, columns: _PairColumns) -> WordPair:
    """Parse one line."""
    fields = row.fields
    # further columns are the publisher's own; trailing empty ones may be missing
    fits = len(fields) > columns.score if columns.width > 3 else len(fields) == 3
    if not fits or not fields[columns.a] or not fields[columns.b]:
        raise row.malformed(f"word, word, score separated by {row.between}")
    return WordPair(fields[columns.a], fields[columns.b], row.score(columns.score))
