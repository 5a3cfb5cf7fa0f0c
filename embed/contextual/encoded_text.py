"""``firth encode``: write the vectors of a text's words or lines to a file."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from firth.corpora.artifacts.atomic import atomic_output
from firth.corpora.common.errors import SettingError, SourceError
from firth.corpora.common.options import check, setting
from firth.corpora.common.reporting import Progress, no_progress
from firth.embed.contextual.pooling import AUTO, parse_layers
from firth.embed.protocols import ContextualEncoder, needs_trees

_DIGITS = 6  # decimals of a number in JSON
STDIN = "-"
WORDS_AT_ONCE = 1 << 14
SUFFIXES = (".npz", ".jsonl")


@dataclass(frozen=True, kw_only=True)
class EncodeConfig:
    """Which vectors of a text to write."""

    layers: str = setting(
        AUTO,
        "Layers to average, for example 0,1: 0 is the embeddings, 1 the first layer's output; by "
        "default the upper half.",
        metavar="LAYERS",
    )
    per: str = setting(
        "word",
        "Write a vector per word, or their mean per line.",
        choices=("word", "sentence"),
    )

    def __post_init__(self) -> None:
        check(self)


class Form(NamedTuple):
    """What is written of a text."""

    suffix: str  # of the output, one of SUFFIXES
    per: str  # "word" or "sentence"


Lines = Sequence[Sequence[str]]


def encode_file(
    encoder: ContextualEncoder,
    source: Path,
    out: Path,
    config: EncodeConfig,
    *,
    force: bool = False,
    show: Progress = no_progress,
    words_at_once: int = WORDS_AT_ONCE,
) -> int:
    """Encode each line of a text, write the vectors atomically and return the number of lines.

    ``.npz`` contains ``vectors`` float32 (n, D); per word also ``words``, UTF-8 bytes separated by
    line feeds, ``words.tobytes().decode().split(chr(10))``, and ``lines`` int64 (n_lines + 1,):
    line i has the vectors ``lines[i]`` to ``lines[i + 1] - 1``. ``.jsonl`` contains one object per
    line, ``{"words": [...], "vectors": [[...], ...]}`` or ``{"words": [...], "vector": [...]}``.
    Per sentence, a line without words has a vector of zeros.
    """
    n_words = 0
    with new_output(encoder, out, config, force) as (writer, layers):
        for lines in batches(encoder.words, source, words_at_once):
            writer.add(lines, rows_of(lines, encoder.encode(lines, layers), writer.form))
            n_words += sum(map(len, lines))
            show(n_words)
    return writer.n_lines


@contextlib.contextmanager
def new_output(
    encoder: ContextualEncoder, out: Path, config: EncodeConfig, force: bool
) -> Iterator[tuple["Writer", tuple[int, ...]]]:
    """Yield the writer of an output, which appears when it is complete, and the layers to read."""
    layers = parse_layers(config.layers, encoder.n_layers)
    refuse_suffix(out)
    refuse_trees(encoder)
    dim = encoder.encode([[]], layers)[0].shape[1]
    with (
        atomic_output(out, force) as partial,
        Writer(partial, Form(out.suffix, config.per), dim) as writer,
    ):
        yield writer, layers


def refuse_trees(encoder: ContextualEncoder) -> None:
    """Raise if an encoder needs dependency trees, which plain text has not."""
    if needs_trees(encoder):
        raise SettingError(
            "the encoder attends along the edges of trees, and plain text has none; pass a run "
            "trained without `attention=tree`"
        )


def refuse_suffix(out: Path) -> None:
    """Raise unless the output's name ends in a supported suffix."""
    if out.suffix not in SUFFIXES:
        raise SettingError(f"`out={out}`: must end in {' or '.join(SUFFIXES)}")


def rows_of(lines: Lines, states: Sequence[np.ndarray], form: Form) -> bytes:
    """Return what the output contains of some lines, one object or some float32 rows for each."""
    if form.per == "sentence":
        states = [_mean(vectors) for vectors in states]
    if form.suffix == ".npz":
        return b"".join(vectors.astype(np.float32, copy=False).tobytes() for vectors in states)
    key = "vector" if form.per == "sentence" else "vectors"
    objects = []
    for words, values in zip(lines, states, strict=True):
        numbers = values.astype(np.float64).round(_DIGITS).tolist()
        objects.append(json.dumps({"words": list(words), key: numbers}, ensure_ascii=False) + "\n")
    return "".join(objects).encode()


class Writer:
    """Writes what is made of lines; vectors go to disk as they arrive."""

    def __init__(self, path: Path, form: Form, dim: int) -> None:
        self.form, self.n_lines = form, 0
        self._path, self._dim = path, dim
        self._file_path = path.with_name("vectors.raw") if form.suffix == ".npz" else path
        self._words: list[str] = []
        self._ends = [0]  # of the lines, among the words

    def __enter__(self) -> "Writer":
        self._file: IO[bytes] = open(self._file_path, "wb")
        return self

    def add(self, lines: Lines, rows: bytes) -> None:
        """Add lines, and what :func:`rows_of` made of them."""
        self._file.write(rows)
        self.n_lines += len(lines)
        for words in lines if self.form == Form(".npz", "word") else ():
            self._words += words
            self._ends.append(len(self._words))

    def __exit__(self, kind: object, *_: object) -> None:
        self._file.close()
        if kind is not None or self.form.suffix != ".npz":
            return
        shape = (len(self._words) if self.form.per == "word" else self.n_lines, self._dim)
        empty = np.zeros(shape, np.float32)
        vectors = np.memmap(self._file_path, np.float32, "r", shape=shape) if empty.size else empty
        if self.form.per == "sentence":
            np.savez(self._path, vectors=vectors)
            return
        # not an array of strings, in which each would take the space of the longest
        words = np.frombuffer("\n".join(self._words).encode(), dtype=np.uint8)
        np.savez(self._path, vectors=vectors, words=words, lines=np.array(self._ends))


def _mean(vectors: np.ndarray) -> np.ndarray:
    """Return the mean of a line's vectors, float32 (D,); zeros if the line has no words."""
    total = vectors.sum(axis=0, dtype=np.float64)
    return np.asarray(total / max(len(vectors), 1), np.float32)


def batches(
    split: Callable[[str], list[str]], source: Path, words_at_once: int
) -> Iterator[list[list[str]]]:
    """Yield batches of lines as words."""
    lines: list[list[str]] = []
    n_words = 0
    for line in _lines(source):
        lines.append(split(line.rstrip("\r\n")))
        n_words += len(lines[-1]) + 1  # count empty lines too
        if n_words >= words_at_once:
            yield lines
            lines, n_words = [], 0
    if lines:
        yield lines


def _lines(source: Path) -> Iterator[str]:
    """Yield the lines of a file or of standard input."""
    if str(source) == STDIN:
        yield from _decoded(sys.stdin.buffer, "<stdin>")
        return
    try:
        file = open(source, "rb")  # noqa: SIM115 - closed below; the try must not cover the yield
    except OSError as error:
        raise SourceError(f"{source}: {error.strerror}; expected a text file or -") from None
    with file:
        yield from _decoded(file, str(source))


def _decoded(file: IO[bytes], name: str) -> Iterator[str]:
    """Yield lines as text; raise SourceError at the first byte that is not UTF-8."""
    for number, line in enumerate(file, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            byte = line[error.start]
            raise SourceError(
                f"{name}:{number}: byte 0x{byte:02X} is not UTF-8; convert it first"
            ) from None
