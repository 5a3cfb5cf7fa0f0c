"""Writes the vocabulary: sorted runs of types during a build, merged at the end."""

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.arrays import (
    ArrayWriter,
    array_path,
    new_mapped,
    offsets_of,
    open_array,
    write_array,
)
from firth.corpora.store.vocabulary import Vocabulary
from firth.corpora.store.vocabulary_kernels import gather_types, merge_runs, sort_types, write_table

_ROWS_AT_ONCE = 1 << 16


class TypeRuns:
    """Sorted runs of types on disk, one per full type table (an external merge sort)."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._text = ArrayWriter(array_path(directory, "runs.text"), np.uint8)
        self._offsets = ArrayWriter(array_path(directory, "runs.offsets"), np.int64)
        self._offsets.append(np.zeros(1, dtype=np.int64))
        self._counts = ArrayWriter(array_path(directory, "runs.counts"), np.int64)
        self._starts = [0]
        self._orders: list[np.ndarray] = []

    def add(self, text: np.ndarray, offsets: np.ndarray, counts: np.ndarray) -> int:
        """Write types with their counts as one sorted run and return its number."""
        # text: uint8 (n_bytes,); offsets: int64 (n + 1,); counts: int64 (n,)
        order = np.empty(len(counts), dtype=np.int64)
        sort_types(text, offsets, order)
        sorted_text, sorted_offsets = np.empty_like(text), np.empty_like(offsets)
        gather_types(text, offsets, order, sorted_text, sorted_offsets)
        with self._lock:
            self._offsets.append(sorted_offsets[1:] + self._text.length)
            self._text.append(sorted_text)
            self._counts.append(counts[order])
            self._starts.append(self._starts[-1] + len(order))
            self._orders.append(order)
            return len(self._orders) - 1

    def merge(self, directory: Path, max_types: int | None) -> list[np.ndarray]:
        """Write the vocabulary arrays, except document counts, keeping the most frequent types.

        Returns for each run the final ids of its types in table order. All types beyond
        ``max_types`` become PRUNED, the last entry.
        """
        text, offsets, counts = self._close()
        merged_text = self._scratch("merged.text", np.uint8, len(text))
        merged_offsets = self._scratch("merged.offsets", np.int64, len(offsets))
        merged_counts = self._scratch("merged.counts", np.int64, len(counts))
        ranks = self._scratch("merged.ranks", np.int32, len(counts))
        starts = np.array(self._starts, dtype=np.int64)
        n_types = merge_runs(
            text, offsets, starts, counts, merged_text, merged_offsets, merged_counts, ranks
        )
        id_of_rank = _write_types(
            directory,
            merged_text,
            merged_offsets[: n_types + 1],
            merged_counts[:n_types],
            max_types,
        )
        return [
            _in_table_order(order, id_of_rank[ranks[first:stop]])
            for order, first, stop in zip(
                self._orders, self._starts, self._starts[1:], strict=False
            )
        ]

    def discard(self) -> None:
        """Close the files of a failed build."""
        for writer in (self._text, self._offsets, self._counts):
            writer.discard()

    def _close(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Finish the files and reopen them for reading."""
        for writer in (self._text, self._offsets, self._counts):
            writer.close()
        text, offsets, counts = (
            open_array(self._directory, name)
            for name in ("runs.text", "runs.offsets", "runs.counts")
        )
        return text, offsets, counts

    def _scratch(self, name: str, dtype: type, length: int) -> np.ndarray:
        """Create a memory-mapped array, so that the system can page it out."""
        return new_mapped(array_path(self._directory, name), dtype, length)


def write_lemmas(
    directory: Path,
    runs: TypeRuns,
    forms: Vocabulary,
    lemma_of: Callable[[str], str],
    max_types: int | None,
    forms_at_once: int = 1 << 20,
) -> np.ndarray:
    """Write the vocabulary of the lemmas of all forms; return the id of the lemma of each form."""
    rows_of_runs = []
    for first in range(0, len(forms), forms_at_once):  # the strings of all would be too large
        stop = min(first + forms_at_once, len(forms))
        rows: dict[str, int] = {}
        lemmas = (lemma_of(form) for form in forms.words(first, stop))
        row_of_form = np.array([rows.setdefault(lemma, len(rows)) for lemma in lemmas])
        encoded = [lemma.encode() for lemma in rows]
        counts = np.zeros(len(rows), dtype=np.int64)
        np.add.at(counts, row_of_form, forms.counts[first:stop])
        text = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        runs.add(text, offsets_of(map(len, encoded)), counts)
        rows_of_runs.append(row_of_form)
    ids = runs.merge(directory, max_types)
    return np.concatenate([own[rows] for own, rows in zip(ids, rows_of_runs, strict=True)])


def write_tsv(directory: Path, path: Path) -> None:
    """Write ``word TAB count TAB documents`` lines in id order, escaping special characters."""
    vocabulary = Vocabulary(directory)
    with open(path, "wb") as file:
        for first in range(0, len(vocabulary), _ROWS_AT_ONCE):
            stop = min(first + _ROWS_AT_ONCE, len(vocabulary))
            n_bytes = int(vocabulary.offsets[stop] - vocabulary.offsets[first])
            out = np.empty(2 * n_bytes + 42 * (stop - first), dtype=np.uint8)
            used = write_table(
                vocabulary.text, vocabulary.offsets, vocabulary.counts,
                vocabulary.document_counts, first, stop, out,
            )  # fmt: skip
            file.write(out[:used].data)


def _in_table_order(order: np.ndarray, sorted_ids: np.ndarray) -> np.ndarray:
    """Return the ids of a run in table order."""
    ids = np.empty(len(order), dtype=np.int32)
    ids[order] = sorted_ids
    return ids


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
