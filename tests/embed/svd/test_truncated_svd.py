"""The truncated SVD against NumPy's, its guarantees (order, signs, threads) and its errors."""

import functools
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from firth.corpora.common.errors import SettingError
from firth.embed.svd import sparse_products
from firth.embed.svd.krylov import bidiagonalize
from firth.embed.svd.product_kernels import WIDTH, multiply_rows
from firth.embed.svd.scratch import Scratch
from firth.embed.svd.sparse_products import as_float32_csr, cpu_operations
from firth.embed.svd.sparse_torch import TorchOperations
from firth.embed.svd.truncated_svd import truncated_svd

U = 2.0**-24  # unit roundoff of float32
EPS = 2.0**-52  # machine epsilon of float64

# Largest entry of basis^T basis - 1. The last projection of a block scales what is left up by at
# most 20, with a rounding of a few u from a dot product and a difference of vectors no longer than
# 1. A few is 8 here, for any number of blocks and any processor, since losses of earlier blocks do
# not grow. Bases orthonormal within this bound change the singular values by the same share of |M|.
ROUNDING = 8 * 20 * U

# The method stops when values change by less than this between two checks; from check to check, two
# steps or more, the remaining error shrinks by more than half.
CONVERGED = 1e-5


def with_singular_values(V, C, values, seed=1):
    """Return a matrix with the given singular values and random singular vectors."""
    rng = np.random.default_rng(seed)
    left, _ = np.linalg.qr(rng.standard_normal((V, len(values))))
    right, _ = np.linalg.qr(rng.standard_normal((C, len(values))))
    return sp.csr_matrix(((left * values) @ right.T).astype(np.float32))


def sparse(V, C, density, seed=2):
    """Return a random sparse matrix with a few heavy rows and columns, as counts have."""
    rng = np.random.default_rng(seed)
    matrix = sp.random(V, C, density, format="csr", dtype=np.float32, random_state=rng)
    heavy = sp.diags_array(1 / np.arange(1, V + 1) ** 0.5) @ matrix
    return sp.csr_array(heavy @ sp.diags_array(1 / np.arange(1, C + 1) ** 0.5), dtype=np.float32)


def krylov(matrix, rank, columns, *, operations=None):
    """Return the bases and singular values of the Krylov method, even for a small matrix."""
    rows = as_float32_csr(matrix)
    with cpu_operations(rows) as own:
        found = bidiagonalize(operations or own, rank, columns, 0, lambda done, total: None)
    return found, np.linalg.svd(found.middle, compute_uv=False)[:rank]


def off_orthonormal(basis):
    """Return the largest entry of basis^T basis - 1."""
    basis = np.asarray(basis, dtype=np.float64)
    return np.abs(basis.T @ basis - np.eye(basis.shape[1])).max()


@functools.cache
def medium_matrix():
    """Return a matrix with decaying values and some empty rows and columns, and its SVD."""
    matrix = sparse(1500, 1300, 0.03).tolil()
    matrix[[3, 700, 1499]] = 0
    matrix[:, [0, 650]] = 0
    return sp.csr_matrix(matrix), truncated_svd(sp.csr_matrix(matrix), 60, device="cpu")


def naive_product(matrix, block):
    """Multiply entry by entry, in float64."""
    product = np.zeros((matrix.shape[0], block.shape[1]))
    block = block.astype(np.float64)
    for r in range(matrix.shape[0]):
        for k in range(matrix.indptr[r], matrix.indptr[r + 1]):
            product[r] += float(matrix.data[k]) * block[matrix.indices[k]]
    return product


@pytest.mark.parametrize("density", [0.0, 0.02, 0.5])
def test_multiply_rows_matches_the_definition(density):
    matrix = as_float32_csr(sparse(130, 90, density))
    block = np.random.default_rng(3).standard_normal((90, WIDTH), dtype=np.float32)
    product = np.full((130, WIDTH), np.nan, dtype=np.float32)

    starts, columns = matrix.indptr.astype(np.int64), matrix.indices.view(np.uint32)
    for first, last in ((50, 130), (0, 50)):
        multiply_rows(starts, columns, matrix.data, block, first, last, product)

    # n products and sums round once each: n u times the sum of the terms' absolute values
    bound = np.diff(starts)[:, None] * U * naive_product(abs(matrix), np.abs(block))
    assert (np.abs(product - naive_product(matrix, block)) <= bound).all()


@pytest.mark.parametrize(("V", "C", "rank"), [(1, 1, 1), (7, 5, 5), (5, 40, 3), (300, 80, 80)])
def test_small_matrices_are_exact(V, C, rank):
    matrix = sparse(V, C, 0.6)

    found = truncated_svd(matrix, rank)

    expected = np.linalg.svd(matrix.toarray().astype(np.float64), compute_uv=False)[:rank]
    # LAPACK in float64 gives the values of a matrix that differs by about n eps |M|
    lapack = 10 * max(V, C) * EPS
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=lapack * expected[0])
    assert found.steps == 0
    if rank == min(V, C):
        # only the vectors are rounded to float32
        left, right = (np.abs(each).astype(np.float64) for each in (found.left, found.right))
        bound = (2.1 * U) * (left * found.values) @ right.T + lapack * expected[0]
        whole = found.left * found.values @ found.right.T
        assert (np.abs(whole - matrix.toarray()) <= bound).all()
        assert found.captured == pytest.approx(found.total, rel=2 * rank * lapack)


@pytest.mark.slow
def test_singular_values_match_numpy_within_float32_rounding():
    matrix, found = medium_matrix()

    expected = np.linalg.svd(matrix.toarray().astype(np.float64), compute_uv=False)

    assert found.steps > 0
    np.testing.assert_allclose(
        found.values, expected[:60], rtol=CONVERGED, atol=ROUNDING * expected[0]
    )
    assert found.captured == pytest.approx(np.square(expected[:60]).sum(), rel=2 * CONVERGED)
    assert found.total == pytest.approx(np.square(expected).sum(), rel=1e-12)  # in float64


def test_singular_vectors_are_orthonormal_and_match_their_values():
    matrix, found = medium_matrix()

    assert (np.diff(found.values) <= 0).all()
    assert found.captured == pytest.approx(np.square(found.values).sum())
    assert 0 < found.captured <= found.total
    assert off_orthonormal(found.left) < ROUNDING
    assert off_orthonormal(found.right) < ROUNDING
    assert found.left.dtype == found.right.dtype == np.float32
    # M^T left = right values up to rounding even before the values converge, and up to the part
    # of each block that was removed because the basis contained it
    gaps = matrix.T.astype(np.float64) @ found.left - found.right * found.values
    assert np.linalg.norm(gaps, axis=0).max() < ROUNDING * found.values[0]


def test_rows_without_entries_get_zeros():
    matrix, found = medium_matrix()

    assert not found.left[[3, 700, 1499]].any()
    assert not found.right[[0, 650]].any()
    assert found.left[found.left.any(axis=1)].shape[0] == np.count_nonzero(matrix.getnnz(axis=1))


def test_the_largest_entry_of_each_left_vector_is_positive():
    for found in (medium_matrix()[1], truncated_svd(sparse(40, 30, 0.5), 12)):
        largest = np.abs(found.left).argmax(axis=0)
        assert (found.left[largest, np.arange(found.left.shape[1])] > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("threads", [2, 3, 5])
def test_the_bytes_do_not_depend_on_the_threads(threads):
    matrix = sparse(9000, 5000, 0.004)  # several panels and chunks

    one, many = (truncated_svd(matrix, 20, threads=n, device="cpu") for n in (1, threads))

    for name in ("left", "values", "right"):
        assert getattr(one, name).tobytes() == getattr(many, name).tobytes()


@pytest.mark.slow
def test_the_seed_changes_only_rounding_once_the_values_have_converged():
    matrix = with_singular_values(2400, 2000, 100 * 0.8 ** np.arange(60))

    one, again, other = (truncated_svd(matrix, 20, seed=s, device="cpu") for s in (1, 1, 2))

    assert one.left.tobytes() == again.left.tobytes() != other.left.tobytes()
    values = one.values
    np.testing.assert_allclose(values, other.values, rtol=CONVERGED, atol=ROUNDING * values[0])
    # a vector rotates by the matrix's change over the gap to the next value, a fifth of its own
    turns = np.linalg.norm(one.left - other.left, axis=0)
    assert (turns <= (CONVERGED * values + ROUNDING * values[0]) / (0.2 * values)).all()


@pytest.mark.slow
@pytest.mark.parametrize("values", [[5.0, 3.0, 2.0], []])
def test_a_low_rank_matrix_has_zero_values_and_orthonormal_vectors(values):
    matrix = with_singular_values(2500, 2100, np.array(values))

    found = truncated_svd(matrix, 40)

    assert found.steps > 0
    expected = np.zeros(40)
    expected[: len(values)] = values
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=ROUNDING * expected[0])
    assert off_orthonormal(found.left) < ROUNDING
    assert off_orthonormal(found.right) < ROUNDING


def test_repeated_singular_values_are_all_found_even_beyond_the_block_width():
    matrix = sp.eye_array(2500, format="csr", dtype=np.float32) * 3

    found = truncated_svd(matrix, 100)

    np.testing.assert_allclose(found.values, 3.0, rtol=ROUNDING)
    assert off_orthonormal(found.left) < ROUNDING


@pytest.mark.parametrize(("V", "C"), [(900, 70), (70, 900), (64, 64), (33, 1000), (150, 150)])
def test_a_basis_that_spans_the_whole_space_gives_exact_values(V, C):
    matrix = sparse(V, C, 0.4)

    found, values = krylov(matrix, min(V, C), min(V, C))

    expected = np.linalg.svd(matrix.toarray().astype(np.float64), compute_uv=False)
    np.testing.assert_allclose(values, expected, rtol=0, atol=ROUNDING * expected[0])
    assert off_orthonormal(found.left) < ROUNDING
    assert off_orthonormal(found.right) < ROUNDING
    assert min(found.middle.shape) >= min(V, C)


@pytest.mark.slow
def test_values_over_six_decades_are_accurate_relative_to_the_largest():
    values = 10.0 ** -np.arange(0, 6, 0.1)
    matrix = with_singular_values(2400, 2000, values)

    found = truncated_svd(matrix, 40)

    np.testing.assert_allclose(found.values, values[:40], rtol=0, atol=ROUNDING * values[0])
    assert off_orthonormal(found.left) < ROUNDING


@pytest.mark.parametrize("scale", [2.0**-90, 2.0**60])
def test_very_small_and_very_large_scales_only_scale_the_result(scale):
    matrix, found = medium_matrix()

    scaled = truncated_svd(matrix * np.float32(scale), 60, device="cpu")

    atol = ROUNDING * found.values[0]
    np.testing.assert_allclose(scaled.values / scale, found.values, rtol=0, atol=atol)
    assert scaled.total == found.total * scale**2  # a power of two is exact


def test_duplicate_entries_are_summed_and_the_matrix_is_not_changed():
    rows, columns = np.array([0, 0, 1]), np.array([1, 1, 0])
    matrix = sp.csr_matrix((2, 2), dtype=np.float32)
    matrix.indptr, matrix.indices = np.array([0, 2, 3]), columns.astype(np.int32)
    matrix.data = np.array([1, 2, 1], dtype=np.float32)

    found = truncated_svd(matrix, 2)

    np.testing.assert_allclose(found.values, [3, 1], rtol=10 * EPS)  # by LAPACK
    assert found.total == 10
    assert len(matrix.data) == len(rows)


def test_torch_operations_match_the_cpu():
    matrix = as_float32_csr(sparse(900, 700, 0.05))
    rng = np.random.default_rng(5)
    basis = rng.standard_normal((900, 40), dtype=np.float32)
    weights = rng.standard_normal((40, WIDTH))
    tall, wide = (rng.standard_normal((n, WIDTH), dtype=np.float32) for n in (900, 700))

    def everything(operations, basis, tall, wide, weights):
        held, block = operations.load(basis), operations.load(tall.copy())
        room = operations.empty(900, WIDTH)
        room[:] = block
        operations.subtract(room, held, weights)
        return [
            operations.multiply(operations.load(wide)),
            operations.multiply(operations.load(tall), transposed=True),
            operations.cross(held, block),
            room,
            operations.combine(held, weights),
        ]

    given = (basis, tall, wide, weights)
    with cpu_operations(matrix) as ours:
        expected = [np.asarray(part) for part in everything(ours, *given)]
    with cpu_operations(abs(matrix)) as ours:  # the sums of the terms' absolute values
        sizes = everything(ours, *map(np.abs, given[:3]), -np.abs(weights))
    torchs = TorchOperations(matrix, "cpu")
    for part, wanted, size in zip(everything(torchs, *given), expected, sizes, strict=True):
        fetched = part if isinstance(part, np.ndarray) else torchs.fetch(part)
        assert fetched.dtype == wanted.dtype
        # up to 900 terms in any order: sqrt(n) u times their sizes, times eight for the tail
        assert (np.abs(fetched - wanted) <= 8 * 30 * U * np.abs(size)).all()


@pytest.mark.parametrize("values", [100 * 0.9 ** np.arange(60), np.array([4.0, 1.0])], ids=len)
@pytest.mark.parametrize("by_torch", [False, True])
def test_bases_stay_orthonormal_beyond_the_rank_of_the_matrix(by_torch, values):
    # at rank 2 all blocks but the first are rounding
    matrix = as_float32_csr(with_singular_values(800, 600, values))

    operations = TorchOperations(matrix, "cpu") if by_torch else None
    found, own = krylov(matrix, 40, 192, operations=operations)

    expected = np.zeros(40)
    expected[: len(values)] = values[:40]
    np.testing.assert_allclose(own, expected, rtol=CONVERGED, atol=ROUNDING * values[0])
    assert off_orthonormal(found.left) < ROUNDING
    assert off_orthonormal(found.right) < ROUNDING


def test_progress_is_called_at_every_step():
    calls = []

    truncated_svd(
        sparse(1200, 1100, 0.02),
        30,
        device="cpu",
        progress=lambda done, total=None: calls.append((done, total)),
    )

    assert [done for done, _ in calls] == list(range(1, len(calls) + 1))
    assert {total for _, total in calls} == {-(-(30 + 384) // WIDTH)}


def test_results_are_the_same_when_called_from_a_thread():
    matrix, found = medium_matrix()

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(truncated_svd, matrix, 60, device="cpu").result()

    assert other.left.tobytes() == found.left.tobytes()


def test_arrays_on_disk_change_nothing_and_take_no_memory(tmp_path):
    matrix, found = medium_matrix()
    rows = as_float32_csr(matrix)
    peaks = []
    for limit in (None, 0):
        tracemalloc.start()
        other = truncated_svd(rows, 60, device="cpu", scratch=Scratch(limit, tmp_path))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert other.left.tobytes() == found.left.tobytes()
        assert other.right.tobytes() == found.right.tobytes()
    assert not list(tmp_path.iterdir())  # the files are unnamed
    bases = 4 * sum(matrix.shape) * (60 + 384)
    assert peaks[0] - peaks[1] > 0.9 * (bases + 8 * matrix.nnz)


@pytest.mark.parametrize("shape", [(7, 5), (1, 9), (9, 1), (40, 60)])
@pytest.mark.parametrize("at_once", [1, 20, 1 << 20])
def test_transposing_in_parts_is_transposing(shape, at_once, monkeypatch):
    monkeypatch.setattr(sparse_products, "_WRITTEN_ENTRIES", at_once)
    matrix = as_float32_csr(sparse(*shape, 0.3))
    with cpu_operations(matrix) as operations:
        ours = operations._transposed
    expected = matrix.T.tocsr()
    np.testing.assert_array_equal(ours.starts, expected.indptr)
    np.testing.assert_array_equal(ours.columns, expected.indices)
    np.testing.assert_array_equal(ours.values, expected.data)


@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (0, 6)])
def test_a_rank_beyond_the_smaller_side_is_refused(shape):
    V, C = shape
    with pytest.raises(SettingError) as refusal:
        truncated_svd(sp.csr_matrix(np.ones(shape, dtype=np.float32)), 5)
    assert str(refusal.value) == (
        f"svd: rank must be at most {min(shape)}, the smaller side of the {V} x {C} matrix, got 5"
    )


@pytest.mark.process
def test_the_cpu_path_does_not_import_torch():
    import subprocess

    code = (
        "import sys, numpy as np, scipy.sparse as sp\n"
        "from firth.embed.svd.truncated_svd import truncated_svd\n"
        "truncated_svd(sp.eye_array(9, format='csr', dtype=np.float32), 2, device='cpu')\n"
        "assert 'torch' not in sys.modules"
    )

    subprocess.run([sys.executable, "-c", code], check=True)
