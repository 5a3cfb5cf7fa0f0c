"""Array files equal those of NumPy, without copies."""

import io
import os

import numpy as np
import pytest

from firth.corpora.artifacts.arrays import new_mapped, row_blocks, save_array

ARRAYS = {
    "matrix": np.arange(12, dtype=np.uint64).reshape(3, 4),
    "columns": np.arange(60.0).reshape(6, 10)[:, 2:5],
    "no rows": np.empty((0, 5), np.float32),
    "no columns": np.empty((5, 0), np.int8),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_files_equal_those_of_numpy(tmp_path, name):
    expected = io.BytesIO()
    np.save(expected, ARRAYS[name])

    save_array(tmp_path / "a.npy", ARRAYS[name])

    assert (tmp_path / "a.npy").read_bytes() == expected.getvalue()


@pytest.mark.parametrize("block_bytes", [1, 40, 95, 4000])
def test_blocks_of_rows_cover_the_array(block_bytes):
    array = np.arange(30 * 7).reshape(30, 7)[:, :5]

    blocks = list(row_blocks(array, block_bytes))

    assert np.array_equal(np.vstack(blocks), array)
    assert all(len(block) == 1 or block.nbytes <= block_bytes for block in blocks)


@pytest.mark.parametrize("length", [0, 3, 2_000_000])
def test_a_mapped_array_is_allocated_on_every_system(tmp_path, monkeypatch, length):
    monkeypatch.delattr(os, "posix_fallocate", raising=False)  # of Linux alone
    array = new_mapped(tmp_path / "a.npy", np.int32, length)
    array[-1:] = 7
    array.flush()

    blocks = getattr((tmp_path / "a.npy").stat(), "st_blocks", None)  # not on Windows
    assert blocks is None or blocks * 512 >= 4 * length
    assert np.array_equal(np.load(tmp_path / "a.npy"), [*[0] * (length - 1), *[7] * (length > 0)])
