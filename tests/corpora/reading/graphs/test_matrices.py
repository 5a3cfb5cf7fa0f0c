"""Sparse matrices of SciPy."""

import numpy as np
import pytest
from scipy import sparse

from firth.corpora.common.errors import SourceError

DENSE = np.array([[0, 0, 0, 0], [0, 2, 1, 0], [0, 0, 0, 0.5], [0, 3, 0, 0]])


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_rows_are_nodes_and_entries_edges(read, edges_of, form):
    sparse.save_npz("g.npz", sparse.coo_array(DENSE).asformat(form))
    found = read(None, "g.npz", directed=True, weighted=True)
    assert (found.names, found.tally) == (["1", "2", "3"], {"isolated_nodes": 1, "self_loops": 1})
    assert edges_of(found) == {("1", "2"): 1, ("2", "3"): 0.5, ("3", "1"): 3}


def test_a_symmetric_matrix_gives_each_edge_once(read, edges_of):
    sparse.save_npz("g.npz", sparse.csr_matrix(DENSE + DENSE.T, dtype=np.float32))
    half = {("1", "2"): 1, ("2", "3"): 0.5, ("1", "3"): 3}
    both = {**half, **{pair[::-1]: weight for pair, weight in half.items()}}
    found = read(None, "g.npz", weighted=True)
    assert (edges_of(found), found.tally) == (both, {"isolated_nodes": 1, "self_loops": 1})
    plain = read(None, "g.npz")
    assert edges_of(plain) == dict.fromkeys(both, 1)
    assert plain.tally == {**found.tally, "unused_weights": 5}  # two threes, two halves, a four


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float32, np.longdouble])
def test_entries_of_one_are_edges_without_weights(read, dtype):
    sparse.save_npz("g.npz", sparse.coo_array(np.array([[0, 1], [1, 0]], dtype)))
    assert (read(None, "g.npz").tally, len(read(None, "g.npz").graph.neighbors)) == ({}, 2)


def test_entries_of_zero_are_no_edges_and_entries_of_one_place_add_up(read, edges_of):
    entries = ([1, 2, 0], ([0, 0, 1], [1, 1, 2]))
    sparse.save_npz("g.npz", sparse.coo_matrix(entries, shape=(3, 3)))
    found = read(None, "g.npz", directed=True, weighted=True)
    assert edges_of(found) == {("0", "1"): 3}
    assert found.tally == {"isolated_nodes": 1, "repeated_edges": 1}


def test_the_numbers_of_rows_may_be_large(read):
    n = 2**31 - 1
    sparse.save_npz("g.npz", sparse.coo_matrix(([1], ([n - 1], [5])), shape=(n, n)))
    found = read(None, "g.npz")
    assert (found.names, found.tally) == (["5", str(n - 1)], {"isolated_nodes": n - 2})


def saved(**changes):
    """Write a 2 x 2 matrix with changed arrays."""
    arrays = {"format": b"csr", "shape": (2, 2), "indices": [1, 0], "indptr": [0, 1, 2]}
    np.savez("g.npz", **{**arrays, "data": [1.0, 2.0], **changes})


SQUARE = "pass a square matrix of at most 2,147,483,647 nodes"
NOT = "not a matrix of scipy.sparse.save_npz"
RANGE = "is not between 1e-30 and 1e+30; correct it, or leave the edge out"


REFUSED = {
    "not square": ({"shape": (2, 3)}, f"has shape 2 x 3; {SQUARE}"),
    "too large": ({"shape": (2**31, 2**31)}, f"has shape 2147483648 x 2147483648; {SQUARE}"),
    "one dimension": ({"shape": (2,)}, NOT),
    "format": ({"format": b"lil"}, NOT),
    "indices": ({"indices": [1, 7]}, NOT),
    "offsets": ({"indptr": [0, 10**9, 2]}, NOT),
    "complex": ({"data": [1.0, 2j]}, f"{NOT} (entries are complex128); write it again"),
    "objects": ({"data": np.array([1, None])}, f"{NOT} (Object arrays cannot be loaded"),
    "zeros": ({"data": [0.0, 0]}, "has no edge between two nodes; pass a file with edges"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_matrices_are_refused(read, case):
    changes, message = REFUSED[case]
    saved(**changes)
    with pytest.raises(SourceError) as caught:
        read(None, "g.npz")
    assert str(caught.value).startswith(f"g.npz: {message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("weight", [-2.0, np.nan, np.inf])
def test_bad_weights_are_named(read, weight, weighted):
    saved(data=[1, weight])
    with pytest.raises(SourceError) as caught:
        read(None, "g.npz", weighted=weighted)
    assert str(caught.value) == f"g.npz: row 1, column 0: the weight {weight} {RANGE}"


@pytest.mark.parametrize("weight", [1e-40, 1e40])
def test_weights_that_are_not_used_may_be_of_any_size(read, weight):
    saved(data=[1, weight])
    assert read(None, "g.npz").tally == {"unused_weights": 1}
    with pytest.raises(SourceError, match=r"the weight .* is not between"):
        read(None, "g.npz", weighted=True)


def test_damaged_and_other_archives_are_refused(read):
    saved()
    with open("g.npz", "r+b") as file:
        file.truncate(300)
    for contents in (None, b"PK\3\4 and no more"):
        with pytest.raises(SourceError, match=r"^g\.npz: not a matrix of scipy\.sparse\.save_npz"):
            read(contents, "g.npz")
