"""Adjacency matrices written by scipy.sparse.save_npz, whose nodes are the numbers of the rows."""

import io
import zlib
from collections import Counter
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import UNREADABLE, load_arrays
from firth.corpora.common.errors import SourceError, one_line
from firth.corpora.reading.graphs.edges import LEAST, MOST, Edges, out_of_range
from firth.corpora.reading.sources import Stream

NPZ_HEAD = b"PK\x03\x04"
_MOST_NODES = 2**31 - 1
# of archives and matrices; NotImplementedError: of a way of compression that zipfile lacks
_ERRORS = (*UNREADABLE, KeyError, AttributeError, NotImplementedError, zlib.error)


def read_matrix(stream: Stream, weighted: bool) -> tuple[Edges, range]:
    """Read the entries other than 0, and return them with the numbers of all rows."""
    from scipy import sparse  # lazy: other formats do without it

    copy = io.BytesIO()
    stream.drain(copy)
    try:
        copy.seek(0)
        rows, columns = map(int, load_arrays(copy)["shape"])
        if rows != columns or rows > _MOST_NODES:
            square = "a square matrix of at most 2,147,483,647 nodes"
            raise SourceError(f"{stream.name}: has shape {rows} x {columns}; pass {square}")
        copy.seek(0)
        matrix: Any = sparse.load_npz(copy)
        if matrix.format in ("csr", "csc", "bsr"):
            matrix.check_format(full_check=True)  # else SciPy may write outside of arrays
        matrix = matrix.tocoo()
        if matrix.dtype.kind not in "biuf":
            raise TypeError(f"entries are {matrix.dtype}")
    except _ERRORS as error:
        reason = f"not a matrix of scipy.sparse.save_npz ({one_line(error)}); write it again"
        raise SourceError(f"{stream.name}: {reason}") from None
    entries = matrix.data != 0
    ends = np.stack((matrix.row[entries], matrix.col[entries]), axis=1)
    weights = matrix.data[entries].astype(np.float64)
    least, most = (LEAST, MOST) if weighted else (0, np.finfo(float).max)
    for at in np.flatnonzero(~((weights >= least) & (weights <= most)))[:1]:
        where = f"{stream.name}: row {ends[at, 0]}, column {ends[at, 1]}"
        raise SourceError(f"{where}: {out_of_range(weights[at])}")
    tally = Counter(unused_weights=0 if weighted else int(np.count_nonzero(weights != 1)))
    return Edges(ends=ends, weights=weights if weighted else (), tally=tally), range(rows)
