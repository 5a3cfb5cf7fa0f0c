"""Retrofitting: vectors of related words are brought nearer to each other."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.common.errors import SettingError
from firth.embed.align.pairs import known_row
from firth.embed.compare.datasets.fields import read_rows
from firth.embed.vectors.search import nonzero_rows
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.vectors.wordlist import note_join

ROUNDS = 10  # Faruqui et al. 2015, section 2; each round at least halves what is left to move


@dataclass(frozen=True, eq=False)
class Related:
    """Pairs of related words, and what became of the lines of their file."""

    path: str
    lines: int
    found: int  # different words of the file that have a vector
    unknown: int  # different words that have none
    pairs: np.ndarray  # int64 (n, 2), each pair once, the smaller row first

    def counts(self) -> dict[str, Any]:
        """Return the file and the numbers, as JSON data."""
        return {**vars(self), "pairs": len(self.pairs)}


def read_related(path: Path, vectors: WordVectors) -> Related:
    """Read lists of related words: a word and its related words a line, separated by spaces."""
    rows = read_rows(path, nothing="no related words", comment=lambda text: False)
    some = nonzero_rows(vectors.matrix)
    places: dict[str, int | None] = {}
    pairs: set[tuple[int, int]] = set()
    for line in rows:
        words = line.text.split()
        for word in words:
            if word not in places:
                places[word] = known_row(vectors, word, some)
        first, *others = (places[word] for word in words)
        pairs |= {
            (min(first, other), max(first, other))
            for other in others
            if first is not None and other is not None and first != other
        }
    if not pairs:
        raise SettingError(
            f"{path}: no line has a word and a related one that {vectors.name} has, too; pass "
            "lists of its language and spelling"
        )
    found = sum(place is not None for place in places.values())
    note_join(found, len(places), f"words of {path} are in {vectors.name}")
    made = np.array(sorted(pairs), np.int64)
    return Related(str(path), len(rows), found, len(places) - found, made)


def retrofit(rows: np.ndarray, pairs: np.ndarray, *, rounds: int = ROUNDS) -> np.ndarray:
    """Move vectors halfway to the mean of their related ones, again and again.

    Faruqui et al. 2015, "Retrofitting Word Vectors to Semantic Lexicons", equation 1 with alpha = 1
    and beta = 1 / degree. All vectors of a round are computed from those of the round before.
    """
    # rows: float32 (V, D); pairs: int64 (n, 2), distinct; returns float32 (V, D)
    import scipy.sparse

    linked, ends = np.unique(pairs, return_inverse=True)
    a, b = ends.reshape(-1, 2).T
    shape = (len(linked), len(linked))
    near = scipy.sparse.csr_matrix(
        (np.ones(2 * len(a)), (np.concatenate([a, b]), np.concatenate([b, a]))), shape=shape
    )
    degrees = np.asarray(near.sum(axis=1))
    start = rows[linked].astype(np.float64)
    moved = start
    for _ in range(rounds):
        moved = (start + near @ moved / degrees) / 2
    made = np.array(rows, np.float32)
    made[linked] = moved
    return made
