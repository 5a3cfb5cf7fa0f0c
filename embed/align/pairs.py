"""Pairs of words of two spaces: shared words or a dictionary, and the part that is held out."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from firth.corpora.common.errors import SettingError
from firth.embed.compare.datasets.fields import Row, read_rows
from firth.embed.vectors.neighbors import known_word
from firth.embed.vectors.search import nonzero_rows
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.vectors.wordlist import joined_rows, note_join, noun_of


@dataclass(frozen=True, eq=False)
class Pairs:
    """Rows of words of A and of their partners in B."""

    a: np.ndarray  # int64 (n,)
    b: np.ndarray  # int64 (n,)

    def __len__(self) -> int:
        return len(self.a)

    def take(self, chosen: np.ndarray) -> "Pairs":
        """Return the chosen pairs; bool (n,)."""
        return Pairs(self.a[chosen], self.b[chosen])


@dataclass(frozen=True)
class DictionaryCounts:
    """What became of the lines of a dictionary."""

    path: str
    lines: int
    pairs: int  # that both spaces have
    repeated: int  # lines of a pair that another line has
    unknown_a: int  # lines whose first word has no vector in A
    unknown_b: int  # lines whose second word has none in B, but the first has one


def shared_pairs(a: WordVectors, b: WordVectors, most: int | None) -> Pairs:
    """Pair the words that both have with a direction, the frequent first, at most ``most``."""
    rows = joined_rows(a, b, *(nonzero_rows(vectors.matrix) for vectors in (a, b)))
    if not rows.size:
        raise SettingError(
            f"{a.name} and {b.name} share no {noun_of(a)}s with vectors; pass a "
            "`dictionary` of pairs to `align_vectors()`"
        )
    order = np.argsort(rows.max(axis=0), kind="stable")[:most]
    return Pairs(*rows[:, order])


def read_dictionary(path: Path, a: WordVectors, b: WordVectors) -> tuple[Pairs, DictionaryCounts]:
    """Read pairs in the form of MUSE: a word of A and one of B a line, by a tab or a space."""
    rows = read_rows(path, nothing="no pairs of words", comment=lambda text: False)
    found: dict[tuple[int, int], None] = {}
    n_known, unknown = 0, [0, 0]
    known = [nonzero_rows(vectors.matrix) for vectors in (a, b)]
    for words in map(_two_words, rows):
        places = (known_row(a, words[0], known[0]), known_row(b, words[1], known[1]))
        if places[0] is None or places[1] is None:
            unknown[places[0] is not None] += 1
        else:
            n_known += 1
            found[places[0], places[1]] = None
    if not found:
        raise SettingError(
            f"{path}: no line has a {noun_of(a)} of {a.name} and then one of {b.name}; exchange "
            "the columns, or pass other vectors"
        )
    note_join(n_known, len(rows), f"pairs of {path} are in {a.name} and {b.name}")
    counts = DictionaryCounts(str(path), len(rows), len(found), n_known - len(found), *unknown)
    return Pairs(*np.array(list(found), np.int64).T), counts


def hold_out(pairs: Pairs, held_out: float, n_among: int, seed: int) -> tuple[Pairs, Pairs]:
    """Divide pairs into those to map by and those to test, by words of A.

    Below 1 ``held_out`` is a share of the words, else their number. Words whose partners are all
    beyond the first ``n_among`` rows of B are not drawn.
    """
    possible = np.unique(pairs.a[pairs.b < n_among])
    n = int(held_out) if held_out >= 1 else round(held_out * len(possible))
    n_words = len(np.unique(pairs.a))
    if n > len(possible) or n >= n_words:
        raise SettingError(
            f"`held_out={held_out:g}` is too much: {n_words:,} of A have partners, "
            f"{len(possible):,} of them among those that are searched, and at least one must be "
            "left to map by"
        )
    chosen = np.random.default_rng(seed).choice(possible, n, replace=False)
    tested = np.isin(pairs.a, chosen)
    return pairs.take(~tested), pairs.take(tested & (pairs.b < n_among))


def _two_words(row: Row) -> tuple[str, str]:
    """Return both words of a line."""
    fields = [field.strip() for field in row.text.split("\t" if "\t" in row.text else None)]
    if len(fields) != 2 or not all(fields):
        raise row.wrong("is not a word and its partner, separated by a tab or a space; correct it")
    return fields[0], fields[1]


def known_row(vectors: WordVectors, text: str, known: np.ndarray) -> int | None:
    """Return the row of a word with a direction, as spelled or as the corpus was split."""
    row = vectors.row(known_word(vectors, text))
    return row if row is not None and known[row] else None
