"""Loops that transpose a sparse matrix, a range of its columns at a time."""

from typing import Any

from firth.corpora.common.jit import compiled


@compiled
def transpose_columns(
    starts: Any, columns: Any, values: Any, first: Any, last: Any, places: Any, rows: Any, out: Any
) -> None:
    """Write the entries of columns ``first`` to ``last - 1`` at ``places``, by column and row."""
    # starts: int64 (V + 1,); columns: uint32 (n,); values: float32 (n,)
    # places: int64 (C,); rows: uint32 (n,); out: float32 (n,)
    for r in range(len(starts) - 1):
        for k in range(starts[r], starts[r + 1]):
            c = columns[k]
            if first <= c < last:
                place = places[c]
                rows[place] = r
                out[place] = values[k]
                places[c] = place + 1
