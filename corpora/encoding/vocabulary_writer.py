"""Writes the vocabulary: sorted runs of types during a build, merged at the end."""

import itertools
import threading
from collections.abc import Callable, Hashable
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.arrays import (
    ArrayWriters,
    array_path,
    new_mapped,
    offsets_of,
    open_array,
    write_array,
)
from firth.corpora.store.vocabulary import Vocabulary
from firth.corpora.store.vocabulary_kernels import gather_types, merge_runs, sort_types

_ROWS_AT_ONCE = 1 << 16
_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


class TypeRuns(ArrayWriters):
    """Sorted runs of types on disk, one per full type table (an external merge sort)."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._lock = threading.Lock()
        self._text = self.new("runs.text", np.uint8)
        self._offsets = self.new("runs.offsets", np.int64)
        self._offsets.append(np.zeros(1, dtype=np.int64))
        self._counts = self.new("runs.counts", np.int64)
        self._orders: dict[Hashable, np.ndarray] = {}  # by table, as they were added

    def add(
        self, table: Hashable, text: np.ndarray, offsets: np.ndarray, counts: np.ndarray
    ) -> None:
        """Write the types of a table with their counts as one sorted run."""
        # text: uint8 (n_bytes,); offsets: int64 (n + 1,); counts: int64 (n,)
        order = np.empty(len(counts), dtype=np.int64)
        sort_types(text, offsets, order)
        sorted_text, sorted_offsets = np.empty_like(text), np.empty_like(offsets)
        gather_types(text, offsets, order, sorted_text, sorted_offsets)
        with self._lock:
            self._offsets.append(sorted_offsets[1:] + self._text.length)
            self._text.append(sorted_text)
            self._counts.append(counts[order])
            self._orders[table] = order

    def merge(self, directory: Path, max_types: int | None) -> dict[Hashable, np.ndarray]:
        """Write the vocabulary arrays, except document counts, keeping the most frequent types.

        Returns for each table the final ids of its types. All types beyond ``max_types`` become
        PRUNED, the last entry.
        """
        self.close()
        text, offsets, counts = (
            open_array(self.directory, name)
            for name in ("runs.text", "runs.offsets", "runs.counts")
        )
        merged_text = self._scratch("merged.text", np.uint8, len(text))
        merged_offsets = self._scratch("merged.offsets", np.int64, len(offsets))
        merged_counts = self._scratch("merged.counts", np.int64, len(counts))
        ranks = self._scratch("merged.ranks", np.int32, len(counts))
        starts = offsets_of(map(len, self._orders.values()))
        n_types = merge_runs(
            text, offsets, starts, counts, merged_text, merged_offsets, merged_counts, ranks
        )
        merged_offsets, merged_counts = merged_offsets[: n_types + 1], merged_counts[:n_types]
        id_of_rank = _write_types(directory, merged_text, merged_offsets, merged_counts, max_types)
        ids_of_table = {}
        for (table, order), (first, stop) in zip(
            self._orders.items(), itertools.pairwise(starts), strict=True
        ):
            ids_of_table[table] = np.empty(len(order), dtype=np.int32)
            ids_of_table[table][order] = id_of_rank[ranks[first:stop]]
        return ids_of_table

    def _scratch(self, name: str, dtype: type, length: int) -> np.ndarray:
        """Create a memory-mapped array, so that the system can page it out."""
        return new_mapped(array_path(self.directory, name), dtype, length)


def write_lemmas(
    directory: Path,
    runs: TypeRuns,
    forms: Vocabulary,
    lemma_of: Callable[[str], str],
    max_types: int | None,
    forms_at_once: int = 1 << 20,
) -> np.ndarray:
    """Write the vocabulary of the lemmas of all forms; return the id of the lemma of each form."""
    rows_of_runs = {}
    for first in range(0, len(forms), forms_at_once):  # the strings of all would be too large
        stop = min(first + forms_at_once, len(forms))
        rows: dict[str, int] = {}
        lemmas = (lemma_of(form) for form in forms.words(first, stop))
        row_of_form = np.array([rows.setdefault(lemma, len(rows)) for lemma in lemmas])
        encoded = [lemma.encode() for lemma in rows]
        counts = np.zeros(len(rows), dtype=np.int64)
        np.add.at(counts, row_of_form, forms.counts[first:stop])
        text = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        runs.add(first, text, offsets_of(map(len, encoded)), counts)
        rows_of_runs[first] = row_of_form
    ids = runs.merge(directory, max_types)
    return np.concatenate([ids[first][rows] for first, rows in rows_of_runs.items()])


def write_tsv(directory: Path, path: Path) -> None:
    """Write ``word TAB count TAB documents`` lines in id order, escaping special characters."""
    vocabulary = Vocabulary(directory)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for first in range(0, len(vocabulary), _ROWS_AT_ONCE):
            stop = min(first + _ROWS_AT_ONCE, len(vocabulary))
            counts = (vocabulary.counts, vocabulary.document_counts)
            columns = (each[first:stop].tolist() for each in counts)
            for word, *numbers in zip(vocabulary.words(first, stop), *columns, strict=True):
                escaped = word if word.isalnum() else word.translate(_ESCAPES)
                file.write(f"{escaped}\t{numbers[0]}\t{numbers[1]}\n")


def _write_types(
    directory: Path,
    text: np.ndarray,
    offsets: np.ndarray,
    counts: np.ndarray,
    max_types: int | None,
) -> np.ndarray:
    """Number sorted types by count and write them; return the id of each sorted type."""
    by_count = np.argsort(-counts, kind="stable")  # stable: ties stay in code point order
    n_kept = len(counts) if max_types is None else min(max_types, len(counts))
    pruned = n_kept < len(counts)
    kept = by_count[:n_kept]
    id_of_rank = np.full(len(counts), n_kept, dtype=np.int32)
    id_of_rank[kept] = np.arange(n_kept, dtype=np.int32)
    kept_text = np.empty(len(text), dtype=np.uint8)
    kept_offsets = np.empty(n_kept + 1, dtype=np.int64)
    gather_types(text, offsets, kept, kept_text, kept_offsets)
    kept_counts = counts[kept]
    by_text = id_of_rank[np.sort(kept)]
    if pruned:
        kept_offsets = np.append(kept_offsets, kept_offsets[-1])
        kept_counts = np.append(kept_counts, counts[by_count[n_kept:]].sum())
        by_text = np.concatenate([np.array([n_kept], dtype=np.int32), by_text])
    write_array(directory, "words.text", kept_text[: kept_offsets[-1]])
    write_array(directory, "words.offsets", kept_offsets)
    write_array(directory, "counts", kept_counts)
    write_array(directory, "by_text", by_text)
    return id_of_rank
