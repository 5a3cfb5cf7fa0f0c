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
