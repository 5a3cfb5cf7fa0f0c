"""Decompression in pieces, whatever a file expands to."""

import bz2
import gzip
import lzma
from functools import partial

import pytest

from firth.corpora.common.errors import UnreadableError
from firth.corpora.reading.compression import compression_of, decompress

TEXT = b"\n" * (40 << 20) + b"The end.\n"
PACK = {"bzip2": bz2.compress, "xz": partial(lzma.compress, preset=0), "gzip": gzip.compress}


@pytest.mark.parametrize("kind", PACK)
def test_a_small_file_of_much_text_is_expanded_in_pieces(kind):
    packed = PACK[kind](TEXT)
    assert compression_of(packed[:16]) == kind
    sizes = [len(piece) for piece in decompress([packed + packed], kind, "a")]
    assert sum(sizes) == 2 * len(TEXT)
    assert max(sizes) <= 8 << 20


@pytest.mark.parametrize("kind", PACK)
def test_a_truncated_file_of_much_text_is_refused(kind):
    with pytest.raises(UnreadableError, match=f"a: the {kind} data is truncated"):
        list(decompress([PACK[kind](TEXT)[:-9]], kind, "a"))


WINDOWS = {  # of 1 GiB
    "xz": "fd377a585a000000ff12d94102002101240000005e1fc7f901000477"
    "6f72640a0000000000011505b0a7596706729e7a010000000000595a",
    "zstd": "28b52ffd00a0290000776f72640a",
}


@pytest.mark.parametrize("kind", ["xz", "zstd"])
def test_a_window_takes_no_more_than_the_memory(kind):
    packed = bytes.fromhex(WINDOWS[kind])
    message = f"a: its {kind} data need more than 128 MiB at once; pass more `memory`, or decomp"
    with pytest.raises(UnreadableError, match=message):
        list(decompress([packed], kind, "a"))
    assert b"".join(decompress([packed], kind, "a", 2 << 30)) == b"word\n"
