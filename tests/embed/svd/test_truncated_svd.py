"""The truncated SVD against NumPy's, its promises (order, signs, threads) and its refusals."""

import functools
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from corpora.common.errors import SettingError
from embed.svd.krylov import bidiagonalize
from embed.svd.product_kernels import WIDTH, multiply_rows
from embed.svd.sparse_products import (
    CpuOperations,
    as_float32_csr,
)
from embed.svd.sparse_torch import TorchOperations
from embed.svd.truncated_svd import truncated_svd

U = 2.0**-24  # unit roundoff of float32
EPS = 2.0**-52  # machine epsilon of float64

# Largest entry of basis^T basis - 1. The last projection of a block scales what is left up 20
# times at most, with a rounding of some u: of a dot product and a difference of vectors no longer
# than 1. "Some" is 8 here, however many blocks there are and on whatever processor: what earlier
# blocks lost does not grow. Bases that are orthonormal to so much, of whatever they span, move
# the singular values between them by the same share of |M|.
ROUNDING = 8 * 20 * U

# The method stops when values change by less between two checks, and with each check, two steps
# or more later, what is missing shrinks by more than half.
SETTLED = 1e-5


def planted(V, C, values, seed=1):
    """A matrix with given singular values and random singular vectors."""
    rng = np.random.default_rng(seed)
    left, _ = np.linalg.qr(rng.standard_normal((V, len(values))))
    right, _ = np.linalg.qr(rng.standard_normal((C, len(values))))
    return sp.csr_matrix(((left * values) @ right.T).astype(np.float32))


def sparse(V, C, density, seed=2):
    """A random sparse matrix with a few heavy rows and columns, as counts have."""
    rng = np.random.default_rng(seed)
    matrix = sp.random(V, C, density, format="csr", dtype=np.float32, random_state=rng)
    heavy = sp.diags_array(1 / np.arange(1, V + 1) ** 0.5) @ matrix
    return sp.csr_array(heavy @ sp.diags_array(1 / np.arange(1, C + 1) ** 0.5), dtype=np.float32)


def krylov(matrix, rank, columns, *, operations=None):
    """The singular values by the Krylov method, whatever the size of the matrix."""
    rows = as_float32_csr(matrix)
    with CpuOperations(rows) as own:
        found = bidiagonalize(operations or own, rank, columns, 0, lambda done, total: None)
    return found, np.linalg.svd(found.middle, compute_uv=False)[:rank]


def off_orthonormal(basis):
    """Largest entry of basis^T basis - 1."""
    basis = np.asarray(basis, dtype=np.float64)
    return np.abs(basis.T @ basis - np.eye(basis.shape[1])).max()


@functools.cache
def middling():
    """A matrix for the Krylov method, and its SVD: decaying values, some empty rows and columns."""
    matrix = sparse(1500, 1300, 0.03).tolil()
    matrix[[3, 700, 1499]] = 0
    matrix[:, [0, 650]] = 0
    return sp.csr_matrix(matrix), truncated_svd(sp.csr_matrix(matrix), 60, device="cpu")


def naive_product(matrix, block):
    """Row by row and entry by entry, in float64."""
    product = np.zeros((matrix.shape[0], block.shape[1]))
    block = block.astype(np.float64)
    for r in range(matrix.shape[0]):
        for k in range(matrix.indptr[r], matrix.indptr[r + 1]):
            product[r] += float(matrix.data[k]) * block[matrix.indices[k]]
    return product


@pytest.mark.parametrize("density", [0.0, 0.02, 0.5])
def test_the_kernel_multiplies_rows_as_the_definition_does(density):
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
    # by LAPACK in float64, whose values are those of a matrix that differs by some n eps |M|
    lapack = 10 * max(V, C) * EPS
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=lapack * expected[0])
    assert found.steps == 0
    if rank == min(V, C):
        # the vectors alone are rounded to float32
        left, right = (np.abs(each).astype(np.float64) for each in (found.left, found.right))
        bound = (2.1 * U) * (left * found.values) @ right.T + lapack * expected[0]
        whole = found.left * found.values @ found.right.T
        assert (np.abs(whole - matrix.toarray()) <= bound).all()
        assert found.captured == pytest.approx(found.total, rel=2 * rank * lapack)


def test_large_matrices_are_as_exact_as_numpy_in_float32():
    matrix, found = middling()

    expected = np.linalg.svd(matrix.toarray().astype(np.float64), compute_uv=False)

    assert found.steps > 0
    np.testing.assert_allclose(
        found.values, expected[:60], rtol=SETTLED, atol=ROUNDING * expected[0]
    )
    assert found.captured == pytest.approx(np.square(expected[:60]).sum(), rel=2 * SETTLED)
    assert found.total == pytest.approx(np.square(expected).sum(), rel=1e-12)  # in float64


def test_vectors_are_orthonormal_and_belong_to_the_values():
    matrix, found = middling()

    assert off_orthonormal(found.left) < ROUNDING
    assert off_orthonormal(found.right) < ROUNDING
    assert found.left.dtype == found.right.dtype == np.float32
    # M^T left = right values up to rounding however far the values are from settled, and up to
    # what was taken of a block because it lay in the basis already
    gaps = matrix.T.astype(np.float64) @ found.left - found.right * found.values
    assert np.linalg.norm(gaps, axis=0).max() < ROUNDING * found.values[0]


def test_rows_without_entries_get_zeros():
    matrix, found = middling()

    assert not found.left[[3, 700, 1499]].any()
    assert not found.right[[0, 650]].any()
    assert found.left[found.left.any(axis=1)].shape[0] == np.count_nonzero(matrix.getnnz(axis=1))


def test_planted_singular_values_are_recovered():
    values = 100 * 0.9 ** np.arange(70)
    matrix = planted(2400, 2000, values)

    found = truncated_svd(matrix, 50)

    assert found.steps > 0
    np.testing.assert_allclose(found.values, values[:50], rtol=SETTLED, atol=ROUNDING * values[0])


def test_values_fall_and_the_captured_share_is_at_most_all():
    _, found = middling()

    assert (np.diff(found.values) <= 0).all()
    assert found.captured == pytest.approx(np.square(found.values).sum())
    assert 0 < found.captured <= found.total


def test_the_largest_entry_of_each_left_vector_is_positive():
    for found in (middling()[1], truncated_svd(sparse(40, 30, 0.5), 12)):
        largest = np.abs(found.left).argmax(axis=0)
        assert (found.left[largest, np.arange(found.left.shape[1])] > 0).all()


@pytest.mark.parametrize("threads", [2, 3, 5])
def test_the_bytes_do_not_depend_on_the_threads(threads):
    matrix = sparse(9000, 5000, 0.004)  # several panels and pieces

    one, many = (truncated_svd(matrix, 20, threads=n, device="cpu") for n in (1, threads))

    for name in ("left", "values", "right"):
        assert getattr(one, name).tobytes() == getattr(many, name).tobytes()


def test_the_seed_moves_rounding_only_once_the_values_have_settled():
    matrix = planted(2400, 2000, 100 * 0.8 ** np.arange(60))

    one, again, other = (truncated_svd(matrix, 20, seed=s, device="cpu") for s in (1, 1, 2))

    assert one.left.tobytes() == again.left.tobytes() != other.left.tobytes()
    values = one.values
    np.testing.assert_allclose(values, other.values, rtol=SETTLED, atol=ROUNDING * values[0])
    # a vector turns by the change of the matrix over the gap to the next value, a fifth of its own
    turns = np.linalg.norm(one.left - other.left, axis=0)
    assert (turns <= (SETTLED * values + ROUNDING * values[0]) / (0.2 * values)).all()


@pytest.mark.parametrize("values", [[5.0, 3.0, 2.0], [7.0], []])
def test_a_matrix_of_small_rank_has_zero_values_and_finite_orthonormal_vectors(values):
    matrix = planted(2500, 2100, np.array(values))

    found = truncated_svd(matrix, 40)

    assert found.steps > 0
    expected = np.zeros(40)
    expected[: len(values)] = values
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=ROUNDING * expected[0])
    assert off_orthonormal(found.left) < ROUNDING
    assert off_orthonormal(found.right) < ROUNDING


def test_singular_values_repeated_more_often_than_a_block_is_wide_are_all_found():
    matrix = sp.eye_array(2500, format="csr", dtype=np.float32) * 3

    found = truncated_svd(matrix, 100)

    np.testing.assert_allclose(found.values, 3.0, rtol=ROUNDING)
    assert off_orthonormal(found.left) < ROUNDING


@pytest.mark.parametrize(("V", "C"), [(900, 70), (70, 900), (64, 64), (33, 1000), (150, 150)])
def test_a_basis_that_fills_the_space_ends_exactly(V, C):
    matrix = sparse(V, C, 0.4)

    found, values = krylov(matrix, min(V, C), min(V, C))

    expected = np.linalg.svd(matrix.toarray().astype(np.float64), compute_uv=False)
    np.testing.assert_allclose(values, expected, rtol=0, atol=ROUNDING * expected[0])
    assert off_orthonormal(found.left) < ROUNDING
    assert off_orthonormal(found.right) < ROUNDING
    assert min(found.middle.shape) >= min(V, C)


def test_values_of_very_different_size_keep_float32s_share_of_the_largest():
    values = 10.0 ** -np.arange(0, 6, 0.1)
    matrix = planted(2400, 2000, values)

    found = truncated_svd(matrix, 40)

    np.testing.assert_allclose(found.values, values[:40], rtol=0, atol=ROUNDING * values[0])
    assert off_orthonormal(found.left) < ROUNDING


@pytest.mark.parametrize("unit", [2.0**-90, 2.0**60])
def test_very_small_and_very_large_units_change_nothing_else(unit):
    matrix, found = middling()

    scaled = truncated_svd(matrix * np.float32(unit), 60, device="cpu")

    atol = ROUNDING * found.values[0]
    np.testing.assert_allclose(scaled.values / unit, found.values, rtol=0, atol=atol)
    assert scaled.total == found.total * unit**2  # a power of two: exact


def test_repeated_entries_count_as_their_sum_and_the_matrix_is_left_alone():
    rows, columns = np.array([0, 0, 1]), np.array([1, 1, 0])
    matrix = sp.csr_matrix((2, 2), dtype=np.float32)
    matrix.indptr, matrix.indices = np.array([0, 2, 3]), columns.astype(np.int32)
    matrix.data = np.array([1, 2, 1], dtype=np.float32)

    found = truncated_svd(matrix, 2)

    np.testing.assert_allclose(found.values, [3, 1], rtol=10 * EPS)  # by LAPACK
    assert found.total == 10
    assert len(matrix.data) == len(rows)


def test_torch_does_the_same_operations():
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
    with CpuOperations(matrix) as ours:
        expected = [np.asarray(part) for part in everything(ours, *given)]
    with CpuOperations(abs(matrix)) as ours:  # the sums of the terms' absolute values
        sizes = everything(ours, *map(np.abs, given[:3]), -np.abs(weights))
    torchs = TorchOperations(matrix, "cpu")
    for part, wanted, size in zip(everything(torchs, *given), expected, sizes, strict=True):
        fetched = part if isinstance(part, np.ndarray) else torchs.fetch(part)
        assert fetched.dtype == wanted.dtype
        # up to 900 terms in any order: sqrt(n) u of their sizes, eight times that for the tail
        assert (np.abs(fetched - wanted) <= 8 * 30 * U * np.abs(size)).all()


@pytest.mark.parametrize("values", [100 * 0.9 ** np.arange(60), np.array([4.0, 1.0])], ids=len)
@pytest.mark.parametrize("by_torch", [False, True])
def test_bases_stay_orthonormal_behind_the_rank_of_the_matrix(by_torch, values):
    # of rank 2, so that all blocks but the first are rounding
    matrix = as_float32_csr(planted(800, 600, values))

    operations = TorchOperations(matrix, "cpu") if by_torch else None
    found, own = krylov(matrix, 40, 192, operations=operations)

    expected = np.zeros(40)
    expected[: len(values)] = values[:40]
    np.testing.assert_allclose(own, expected, rtol=SETTLED, atol=ROUNDING * values[0])
    assert off_orthonormal(found.left) < ROUNDING
    assert off_orthonormal(found.right) < ROUNDING


def test_progress_is_told_every_step():
    told = []

    truncated_svd(
        sparse(1200, 1100, 0.02),
        30,
        device="cpu",
        progress=lambda done, total=None: told.append((done, total)),
    )

    assert [done for done, _ in told] == list(range(1, len(told) + 1))
    assert {total for _, total in told} == {-(-(30 + 384) // WIDTH)}


def test_results_hold_when_called_from_a_thread():
    matrix, found = middling()

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(truncated_svd, matrix, 60, device="cpu").result()

    assert other.left.tobytes() == found.left.tobytes()


@pytest.mark.parametrize(
    ("shape", "rank", "options", "message"),
    [
        ((0, 5), 1, {}, "svd: the matrix is empty: 0 x 5; there is nothing to factor"),
        ((4, 5), 0, {}, "svd: rank must be at least 1, got 0"),
        ((4, 5), 5, {}, "svd: rank 5 is more than a matrix of 4 x 5 has; ask for 4 or fewer"),
        ((4, 5), 2, {"seed": -1}, "svd: seed must be at least 0, got -1"),
        ((4, 5), 2, {"threads": 0}, "svd: threads must be at least 1, got 0"),
        ((4, 5), 2, {"device": "tpu"}, "device must be one of auto, cpu, cuda, got 'tpu'"),
    ],
)
def test_what_cannot_be_done_is_refused(shape, rank, options, message):
    matrix = sp.csr_matrix(np.ones(shape, dtype=np.float32))

    with pytest.raises(SettingError) as refusal:
        truncated_svd(matrix, rank, **options)

    assert str(refusal.value) == message


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_entries_that_are_not_finite_are_refused(bad):
    matrix = sp.csr_matrix(np.array([[1, 2], [bad, 4]], dtype=np.float32))

    with pytest.raises(SettingError) as refusal:
        truncated_svd(matrix, 1)

    assert (
        str(refusal.value) == "svd: 1 entries of the matrix are not finite; weigh it without them"
    )


def test_cuda_is_refused_where_there_is_none(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    with pytest.raises(SettingError) as refusal:
        truncated_svd(sparse(4, 5, 0.5), 2, device="cuda")

    assert str(refusal.value) == (
        f"--device cuda: torch {torch.__version__} sees no CUDA device; pass --device cpu"
    )


def test_the_cpu_path_does_not_import_torch():
    import subprocess

    code = (
        "import sys, numpy as np, scipy.sparse as sp\n"
        "from embed.svd.truncated_svd import truncated_svd\n"
        "truncated_svd(sp.eye_array(9, format='csr', dtype=np.float32), 2, device='cpu')\n"
        "assert 'torch' not in sys.modules"
    )

    subprocess.run([sys.executable, "-c", code], check=True)
