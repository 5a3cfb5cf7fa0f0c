"""Vectors in 8 bits: against rounding number by number, and against the unpacked matrix."""

import numpy as np
import pytest
import scipy.sparse

from firth import analogy, load_vectors, nearest, write_vectors
from firth.corpora.common.errors import ArtifactError, FirthError, SettingError
from firth.embed.vectors.int8_rows import CODES, SCALES, Int8Rows, is_dense, open_int8, save_int8
from firth.embed.vectors.search import nonzero_rows, top_rows, unit_rows
from firth.embed.vectors.word_vectors import WordVectors

RNG = np.random.default_rng(3)
MATRIX = (RNG.standard_normal((40, 7)) * RNG.uniform(1e-3, 1e3, (40, 1))).astype(np.float32)
MATRIX[4] = 0
WORDS = [f"word{row}" for row in range(len(MATRIX))]


def naive(matrix):
    """Round number by number, by the definition."""
    codes, scales = [], []
    for row in matrix.tolist():
        scale = max(map(abs, row)) / 127
        codes.append([round(number / scale) if scale else 0 for number in row])
        scales.append(scale)
    return np.array(codes), np.array(scales)


@pytest.fixture
def packed(tmp_path):
    """The matrix in 8 bits, memory-mapped."""
    save_int8(tmp_path, MATRIX, WORDS, "small")
    return open_int8(tmp_path)


@pytest.fixture
def run(tmp_path):
    """A run in 8 bits with counts."""
    vectors = WordVectors(WORDS, MATRIX, counts=np.arange(40, 0, -1))
    write_vectors(vectors, tmp_path / "run", "int8")
    return tmp_path / "run"


def test_numbers_are_rounded_to_the_nearest_step_of_their_row(packed):
    codes, scales = naive(MATRIX)
    # float32 may put a number that lies within 1e-5 of the middle of two steps on the other side
    steps = MATRIX / np.where(scales > 0, scales, 1)[:, None]
    middle = np.abs(np.abs(steps - np.floor(steps)) - 0.5) < 1e-5
    assert np.array_equal(packed.codes[~middle], codes[~middle])
    assert np.allclose(packed.scales, scales, rtol=1e-6)
    assert packed.codes.dtype == np.int8


def test_a_number_is_off_by_half_a_step_at_most(packed):
    off = np.abs(np.asarray(packed) - MATRIX)
    # 1e-4: float32 rounds the quotient and the product, each by 2^-24 of at most 127 steps
    assert (off <= packed.scales[:, None] * (0.5 + 1e-4)).all()
    assert not np.asarray(packed)[4].any()


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(3, id="row"),
        pytest.param(np.int64(-1), id="last row"),
        pytest.param(slice(5, 20, 4), id="slice"),
        pytest.param(np.array([7, 2, 2]), id="rows"),
        pytest.param(np.arange(40) % 3 == 0, id="mask"),
        pytest.param((2, 5), id="number"),
        pytest.param((slice(2, 4), [0, 6]), id="columns"),
    ],
)
def test_what_is_taken_is_that_of_the_unpacked_matrix(packed, key):
    whole = packed.codes.astype(np.float32) * packed.scales[:, None]
    assert packed[key].dtype == np.float32
    assert np.array_equal(packed[key], whole[key])


def test_whole_matrix_functions_agree_with_the_unpacked_matrix(packed):
    whole = np.asarray(packed)
    assert (len(packed), packed.shape, packed.ndim) == (40, (40, 7), 2)
    assert np.allclose(packed.mean(axis=0, dtype=np.float64), whole.mean(axis=0, dtype=np.float64))
    assert np.array_equal(nonzero_rows(packed, block_rows=7), whole.any(axis=1))
    assert is_dense(packed)
    assert is_dense(whole)
    assert not is_dense(scipy.sparse.csr_matrix(whole))


def test_search_finds_what_the_unpacked_matrix_has_and_takes_blocks_only():
    codes = RNG.integers(-127, 128, (2000, 7), dtype=np.int8)
    packed = Int8Rows(codes, RNG.uniform(0.01, 1, 2000).astype(np.float32))
    taken = []

    class Recording(Int8Rows):
        def __getitem__(self, key):
            rows = super().__getitem__(key)
            taken.append(len(rows))
            return rows

        def __array__(self, dtype=None, copy=None):
            raise AssertionError("the whole matrix was unpacked")

    recording = Recording(packed.codes, packed.scales)
    queries = unit_rows(np.asarray(packed), [1, 8, 30])
    ours = top_rows(recording, queries, 5, block_floats=7 * 4)
    theirs = top_rows(np.asarray(packed), queries, 5)
    for mine, other in zip(ours, theirs, strict=True):
        assert np.array_equal(mine[0], other[0])
        assert np.array_equal(mine[1], other[1])
    # blocks of 4 rows, and a few candidates of each thread that are scored again
    assert taken.count(4) == 500
    assert max(taken) < len(packed) / 2


def test_a_run_in_8_bits_is_read_wherever_a_run_is(run, tmp_path):
    vectors = load_vectors(run, verified=True)
    assert isinstance(vectors.matrix, Int8Rows)
    assert list(vectors.counts[:2]) == [40, 39]
    dense = WordVectors(WORDS, np.asarray(vectors.matrix))
    assert np.array_equal(vectors["word7"], dense["word7"])
    assert nearest(vectors, ["word1", "word4"], 3) == nearest(dense, ["word1", "word4"], 3)
    assert analogy(vectors, *WORDS[:3], 3) == analogy(dense, *WORDS[:3], 3)
    assert np.array_equal(vectors.in_memory().matrix, dense.matrix)
    assert np.array_equal(vectors.to_gensim().vectors, dense.matrix)
    assert "word0" in vectors._repr_html_()
    write_vectors(vectors, tmp_path / "text", "glove")
    assert np.array_equal(load_vectors(tmp_path / "text").matrix, dense.matrix)
    (tmp_path / "saved").mkdir()
    vectors.write(tmp_path / "saved")
    assert isinstance(load_vectors(tmp_path / "saved").matrix, Int8Rows)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            CODES,
            None,
            "{run}/vectors.int8.npy: is damaged (mmap length is greater than file size);",
        ),
        (SCALES, np.ones(3, np.float32), "{run}/scales.npy: has 3 scales for 40 rows of vectors"),
        (SCALES, None, "{run}/scales.npy: no such file; "),
        (CODES, np.zeros((40, 7), np.int16), "{run}/vectors.int8.npy: is int16 of shape (40, 7),"),
        ("vocabulary.tsv", "a\t1\n", "{run}: 1 words do not fit a matrix of shape (40, 7)"),
    ],
    ids=["truncated", "other scales", "no scales", "wide", "other words"],
)
def test_damaged_files_are_refused_in_one_line(run, name, content, message):
    path = run / name
    if isinstance(content, np.ndarray):
        np.save(path, content)
    elif content is not None:
        path.write_text(content)
    elif name == CODES:
        path.write_bytes(path.read_bytes()[:-1])
    else:
        path.unlink()
    with pytest.raises(ArtifactError) as refused:
        load_vectors(run)
    assert str(refused.value).startswith(message.format(run=run))
    assert "\n" not in str(refused.value)


def test_a_scale_that_is_not_finite_is_refused_in_a_search(run):
    scales = np.load(run / SCALES)
    scales[9] = np.nan
    np.save(run / SCALES, scales)
    with pytest.raises(ArtifactError, match="row 9 holds NaN or infinity"):
        nearest(load_vectors(run), ["word1"])


def test_what_8_bits_cannot_hold_is_refused(tmp_path, run):
    broken = MATRIX.copy()
    broken[6, 2] = np.inf
    with pytest.raises(ArtifactError, match="the vector of 'word6' holds NaN or infinity"):
        write_vectors(WordVectors(WORDS, broken), tmp_path / "new", "int8")
    sparse = WordVectors(WORDS, scipy.sparse.csr_matrix(MATRIX), name="sparse")
    with pytest.raises(SettingError, match="sparse: has sparse vectors"):
        write_vectors(sparse, tmp_path / "new", "int8")
    assert not (tmp_path / "new").exists()
    with pytest.raises(FirthError, match="is the run to export"):
        write_vectors(load_vectors(run), run, "int8", force=True)


def test_force_overwrites_an_int8_run_but_no_other(tmp_path, run):
    vectors = WordVectors(WORDS, MATRIX)
    with pytest.raises(ArtifactError, match="run: already exists"):
        write_vectors(vectors, run, "int8")
    write_vectors(vectors, run, "int8", force=True)
    assert load_vectors(run, verified=True).counts is None
    (run / CODES).rename(run / "vectors.npy")
    with pytest.raises(ArtifactError, match="not an int8 export"):
        write_vectors(vectors, run, "int8", force=True)
