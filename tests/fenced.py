"""Fenced blocks of Markdown pages, for tests that run the examples of a page."""

import re
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"`([^`\s]+)`:\s*\Z")


@dataclass(frozen=True)
class Block:
    """A fenced block: language, path that the preceding line ends with (if any), and text."""

    language: str
    path: str | None
    text: str
    line: int


def fenced_blocks(page: Path) -> list[Block]:
    """Return the blocks of a page; ``line`` is the number of the first line inside."""
    whole, blocks = page.read_text(encoding="utf-8"), []
    for found in _FENCE.finditer(whole):
        named = _NAMED.search(whole[: found.start()])
        line = whole.count("\n", 0, found.start(2)) + 1
        blocks.append(Block(found[1], named and named[1], found[2], line))
    return blocks
