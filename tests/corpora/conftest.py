"""Fixtures of several folders of tests."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firth.corpora.encoding import pipeline
from firth.corpora.reading.readers import read
from firth.corpora.reading.text_blocks import BLOCK_BYTES, ReadOptions, TextBlock


@dataclass
class Document:
    """One document, joined from the blocks that it spans."""

    text: str
    position: int
    source: str
    fields: dict[str, str] = field(default_factory=dict)


@dataclass
class Reading:
    """The result of reading sources to the end."""

    documents: list[Document]
    counts: dict[str, int]
    blocks: list[TextBlock]
    files: list[dict[str, Any]]
    consumed: int

    @property
    def digests(self) -> list[str]:
        """The SHA-256 of each file."""
        return [record["sha256"] for record in self.files]

    @property
    def texts(self) -> list[str]:
        """The text of each document."""
        return [document.text for document in self.documents]


def _read_all(
    sources: str | Path | Sequence[str | Path], *, block_bytes: int = BLOCK_BYTES, **options: object
) -> Reading:
    """Read and parse sources, checking the invariants of every block."""
    if isinstance(sources, str | Path):
        sources = [sources]
    files: list[dict[str, Any]] = []
    raws = list(read(sources, ReadOptions(**options), records=files, block_bytes=block_bytes))
    reading = Reading([], {}, [], files, sum(raw.consumed for raw in raws))
    for raw in raws:
        block = raw.parse()
        _check(block)
        reading.blocks.append(block)
        for name, count in block.counts.items():
            reading.counts[name] = reading.counts.get(name, 0) + count
        for index in range(len(block.positions)):
            text = block.text[block.documents[index] : block.documents[index + 1]].decode()
            if index == 0 and block.continues:
                reading.documents[-1].text += text
                continue
            fields = {name: values[index] for name, values in block.fields.items()}
            position = int(block.positions[index])
            reading.documents.append(Document(text, position, block.source, fields))
    return reading


def _check(block: TextBlock) -> None:
    """Check the invariants of TextBlock."""
    n = len(block.positions)
    assert block.documents.dtype == block.positions.dtype == np.int64
    assert len(block.documents) == n + 1
    assert block.documents[0] == 0
    assert block.documents[-1] == len(block.text)
    assert (np.diff(block.documents) >= 0).all()
    assert all(len(values) == n for values in block.fields.values())
    assert b"\r" not in block.text
    for start, end in zip(block.documents[:-1], block.documents[1:], strict=True):
        assert start == end or block.text[end - 1 : end] == b"\n"


@pytest.fixture
def parse_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parse CoNLL-U and find words by jieba on threads, since processes take a second to start."""
    monkeypatch.setattr(pipeline, "worker_processes", ThreadPoolExecutor)


@pytest.fixture(scope="session")
def read_all() -> Callable[..., Reading]:
    """Return a function that reads sources with options into documents."""
    return _read_all


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str | bytes], str]:
    """Return a function that writes a file to the working directory and returns its name."""
    monkeypatch.chdir(tmp_path)

    def write_file(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return name

    return write_file
