"""Character n-grams of words, and vectors of unseen words composed of them.

Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information",
section 3.2: a word is written between < and >, its character n-grams are hashed into the rows
(buckets) of a table, and its vector is the mean of these rows. N-grams and hashes are identical to
those of the fastText program.
"""

import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of, save_array
from firth.corpora.common.errors import ArtifactError, SettingError

INPUTS = "inputs.npy"
BUCKETS = "buckets.npy"
END_OF_SENTENCE = "</s>"  # fastText's end-of-sentence token, which has no n-grams
_SETTING = re.compile(r"([0-9]{1,3})-([0-9]{1,3})")
_FIRST_HASH = 2166136261
_PRIME = 16777619
_MASK = 0xFFFFFFFF


def parse_subwords(text: str) -> tuple[int, int]:
    """Parse the range of n-gram lengths."""
    found = _SETTING.fullmatch(text)
    if found and 1 <= int(found[1]) <= int(found[2]):
        return int(found[1]), int(found[2])
    raise SettingError(
        "`subwords` must be MIN-MAX with 1 <= MIN <= MAX <= 999, lengths of n-grams in characters "
        f"such as 3-6, got {text!r}"
    )


def ngram_buckets(word: str, shortest: int, longest: int, n_buckets: int) -> list[int]:
    """List the buckets of one word's n-grams."""
    if word == END_OF_SENTENCE:
        return []
    characters = [one.encode("utf-8", "surrogatepass") for one in f"<{word}>"]
    last = len(characters) - 1
    buckets = []
    for first in range(last + 1):
        hashed = _FIRST_HASH
        for size, character in enumerate(characters[first : first + longest], 1):
            for byte in character:
                signed = byte | 0xFFFFFF00 if byte >= 128 else byte
                hashed = (hashed ^ signed) * _PRIME & _MASK
            if size >= shortest and not (size == 1 and first in (0, last)):
                buckets.append(hashed % n_buckets)
    return buckets


def word_buckets(
    words: Sequence[str], shortest: int, longest: int, n_buckets: int
) -> tuple[np.ndarray, np.ndarray]:
    """List the buckets of the n-grams of many words."""
    # returns starts: int64 (V + 1,); returns buckets: int64 (n,)
    cells = [word.encode("utf-8", "surrogatepass") for word in words]
    return byte_buckets(cells, shortest, longest, n_buckets)


def byte_buckets(
    cells: Sequence[bytes], shortest: int, longest: int, n_buckets: int
) -> tuple[np.ndarray, np.ndarray]:
    """List the buckets of the n-grams of many words given as bytes."""
    # returns starts: int64 (V + 1,); returns buckets: int64 (n,)
    from firth.embed.vectors.subwords_kernels import hash_ngrams

    lengths = np.fromiter(map(len, cells), np.int64, len(cells)) + 2
    ends = np.cumsum(lengths)
    begins = ends - lengths
    buffer = np.frombuffer(b"<" + b"><".join(cells) + b">", np.uint8)
    end_of_sentence = END_OF_SENTENCE.encode()
    for row in np.flatnonzero(lengths == len(end_of_sentence) + 2).tolist():
        if cells[row] == end_of_sentence:
            ends[row] = begins[row]
    sizes = np.add.reduceat(buffer & 0xC0 != 0x80, begins, dtype=np.int64)  # in characters
    sizes[ends == begins] = 0
    counts = np.maximum(sizes - 2, 0) * (shortest == 1)  # < and > alone do not count
    for size in range(max(shortest, 2), min(longest, sizes.max(initial=0)) + 1):
        counts += np.maximum(sizes - size + 1, 0)
    starts = offsets_of(counts)
    buckets = np.empty(starts[-1], np.int64)
    hash_ngrams(buffer, begins, ends, shortest, longest, n_buckets, starts, buckets)
    return starts, buckets


def composed_rows(
    words: np.ndarray,
    grams: np.ndarray,
    starts: np.ndarray,
    places: np.ndarray,
    threads: int | None = None,
    *,
    block: int = 1 << 14,
) -> np.ndarray:
    """Return the mean of each word's own row and its n-grams' rows."""
    # words: float32 (V, D); grams: float32 (B, D); starts: int64 (V + 1,); places: int64 (n,);
    # returns float32 (V, D)
    from firth.corpora.common.threads import map_in_order, thread_count
    from firth.embed.vectors.subwords_kernels import mean_rows

    if len(places) and not 0 <= places.min() <= places.max() < len(grams):
        raise IndexError(f"places must be rows of {len(grams)} n-grams")
    # memory-mapped data may be unaligned, and numba dispatches on the exact array class
    words, grams = np.asarray(words), np.asarray(grams)
    out = np.empty((len(words), words.shape[1]), np.float32)

    def fill(first: int) -> None:
        rows, sums = slice(first, first + block), np.empty(words.shape[1], np.float64)
        mean_rows(words[rows], grams, starts[first : first + block + 1], places, sums, out[rows])

    for _ in map_in_order(fill, range(0, len(words), block), thread_count(threads)):
        pass
    return out


@dataclass(frozen=True, eq=False)
class SubwordTable:
    """N-gram vectors, from which words outside the vocabulary get a vector."""

    made_of: ClassVar[str] = "n-grams"

    rows: np.ndarray  # float32 (B, D)
    buckets: np.ndarray | None  # int64 (B,); None if there is a row for each
    _: KW_ONLY
    n_buckets: int
    shortest: int
    longest: int
    name: str = "n-grams"

    @property
    def dim(self) -> int:
        """The width of the rows."""
        return self.rows.shape[1]

    def compose_all(self, words: Sequence[str]) -> np.ndarray:
        """Return the vectors of unseen words, float32 (n, D): means of their n-grams' rows."""
        return np.array([self.compose(word) for word in words])

    def compose(self, word: str) -> np.ndarray:
        """Return the mean of the rows of a word's n-grams, float32 (D,); 0 if none is known."""
        places = self._places(word)
        if not len(places):
            return np.zeros(self.rows.shape[1], np.float32)
        mean: np.ndarray = np.asarray(self.rows[places]).mean(axis=0, dtype=np.float64)
        if not np.isfinite(mean).all():
            raise ArtifactError(
                f"{self.name}: the n-grams of {word!r} hold NaN or infinity; train the run again"
            )
        return mean.astype(np.float32)

    def in_memory(self, name: str | None = None) -> "SubwordTable":
        """Read the rows into memory."""
        buckets = None if self.buckets is None else np.array(self.buckets)
        rows = np.array(self.rows)
        return replace(self, rows=rows, buckets=buckets, name=name or self.name)

    @property
    def options(self) -> dict[str, Any]:
        """What config.json says of them."""
        return {"subwords": f"{self.shortest}-{self.longest}", "buckets": self.n_buckets}

    def save(self, run: Path, words: Sequence[str], vectors: np.ndarray) -> None:
        """Write words' own rows, of which and of n-grams their vectors are means, and n-grams."""
        # vectors: float32 (V, D)
        sizes = np.array([[len(self._places(word))] for word in words])
        own = (sizes + 1.0) * vectors - sizes * self.compose_all(words)
        save_array(run / INPUTS, np.concatenate([own.astype(np.float32), self.rows]))
        known = np.arange(len(self.rows)) if self.buckets is None else self.buckets
        save_array(run / BUCKETS, known)

    def _places(self, word: str) -> np.ndarray:
        """Return the rows of a word's n-grams, leaving out those without a row."""
        buckets = ngram_buckets(word, self.shortest, self.longest, self.n_buckets)
        found = np.array(buckets, dtype=np.int64)
        if self.buckets is None:
            return found
        places = np.searchsorted(self.buckets, found)
        places[places == len(self.buckets)] = 0
        return places[self.buckets[places] == found] if len(self.buckets) else places[:0]

    def __post_init__(self) -> None:
        """Check that rows and buckets match."""
        if self.n_buckets < 1 or self.rows.ndim != 2:
            raise ArtifactError(
                f"{self.name}: {self.n_buckets} buckets and rows of shape {self.rows.shape} do not "
                "form a table of n-grams; train the run again"
            )
        n_buckets = self.n_buckets if self.buckets is None else self.buckets.size
        if n_buckets != len(self.rows):
            raise ArtifactError(
                f"{self.name}: {n_buckets} buckets do not fit {len(self.rows)} rows; "
                "train the run again"
            )
        if self.buckets is None or not n_buckets:
            return
        ascending = self.buckets.ndim == 1 and bool((np.diff(self.buckets) > 0).all())
        if not ascending or not 0 <= self.buckets[0] <= self.buckets[-1] < self.n_buckets:
            raise ArtifactError(
                f"{self.name}: the buckets do not ascend within 0 and {self.n_buckets - 1}; "
                "train the run again"
            )
