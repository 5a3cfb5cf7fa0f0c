"""What each format says of itself: how its files are recognized and read."""

import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from firth.corpora.reading.sources import Stream
from firth.corpora.reading.text_blocks import FORMATS, RawBlock, ReadOptions


@dataclass(frozen=True)
class Format:
    """A format of sources, named in ``FORMATS``."""

    # yields the blocks of a file, given also its chunks of UTF-8 and the bytes of a block
    blocks: Callable[[Stream, Iterator[bytes], ReadOptions, int], Iterator[RawBlock]]
    takes: tuple[str, ...]  # of the values of `documents`, and `wrapped`, `field`, `keep`
    begins: Callable[[bytes], object] | None = None  # whether a file begins as no other format does


def format_named(name: str) -> Format:
    """Return a format."""
    found: Format = pkgutil.resolve_name(FORMATS[name][0])
    return found
