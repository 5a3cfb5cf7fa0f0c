"""``firth encode``: write the vectors of a text's words or lines to a file or a run."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from firth.corpora.artifacts.arrays import ArrayWriters, StringWriter, save_array
from firth.corpora.artifacts.atomic import atomic_output
from firth.corpora.common.errors import SettingError, SourceError
from firth.corpora.common.options import check, setting
from firth.corpora.common.reporting import Progress, no_progress
from firth.embed.contextual.pooling import AUTO, parse_layers
from firth.embed.protocols import ContextualEncoder, needs_trees
from firth.embed.runs.writer import LINES, new_run
from firth.embed.vectors.word_vectors import MATRIX
from firth.embed.vectors.wordlist import VOCABULARY, write_words

_DIGITS = 6  # decimals of a number in JSON
STDIN = "-"
WORDS_AT_ONCE = 1 << 14
SUFFIXES = (".npz", ".jsonl")
WORD, SENTENCE, DOCUMENT = "word", "sentence", "document"
TEXTS = "texts"  # the name of an array of a run of lines


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
        WORD,
        "Write a vector per word, or their mean per line, or per sentence or document of a corpus.",
        choices=(WORD, SENTENCE, DOCUMENT),
    )

    def __post_init__(self) -> None:
        check(self)


class Form(NamedTuple):
    """What is written of a text."""

    suffix: str  # of the output, one of SUFFIXES; empty for a run
    per: str  # "word", "sentence" or "document"


Lines = Sequence[Sequence[str]]


class LineBatch(NamedTuple):
    """Some lines of a text, or sentences or documents of a corpus."""

    lines: Lines  # as words
    names: Sequence[str]  # where they are from
    texts: Sequence[str]


def encode_file(
    encoder: ContextualEncoder,
    source: Path,
    out: Path,
    config: EncodeConfig,
    *,
    about: Mapping[str, Any] | None = None,
    force: bool = False,
    show: Progress = no_progress,
    words_at_once: int = WORDS_AT_ONCE,
) -> int:
    """Encode each line of a text, write the vectors atomically and return the number of lines.

    ``.npz`` contains ``vectors`` float32 (n, D); per word also ``words``, UTF-8 bytes separated by
    line feeds, ``words.tobytes().decode().split(chr(10))``, and ``lines`` int64 (n_lines + 1,):
    line i has the vectors ``lines[i]`` to ``lines[i + 1] - 1``. ``.jsonl`` contains one object per
    line, ``{"words": [...], "vectors": [[...], ...]}`` or ``{"words": [...], "vector": [...]}``.
    Per sentence, a line without words has a vector of zeros. Without an ending ``out`` becomes a
    run, whose words are the places of the lines, with their texts; ``about`` says what made it.
    """
    n_words = 0
    layers = parse_layers(config.layers, encoder.n_layers)
    refuse_suffix(out)
    if needs_trees(encoder):
        raise SettingError(
            "the encoder attends along the edges of trees, and plain text has none; pass a run "
            "trained without `attention=tree`"
        )
    dim = encoder.encode([[]], layers)[0].shape[1]
    about = {"layers": config.layers, **(about or {})}
    with new_writer(out, config.per, dim, force, about) as writer:
        for batch in batches(encoder.words, source, words_at_once, config.per):
            states = encoder.encode(batch.lines, layers)
            writer.add(batch, rows_of(batch.lines, states, writer.form))
            n_words += sum(map(len, batch.lines))
            show(n_words)
    return writer.n_lines


@contextlib.contextmanager
def new_writer(
    out: Path, per: str, dim: int, force: bool, about: Mapping[str, Any]
) -> Iterator["Writer"]:
    """Yield the writer of a file, or of a run of lines, made as it is ``about``."""
    form = Form(out.suffix, per)
    if form.suffix:
        with atomic_output(out, force) as partial, Writer(partial, form, dim) as writer:
            yield writer
        return
    if per == WORD:
        raise SettingError(
            f"`out={out}`: a folder has a vector per line; pass `per={SENTENCE}`, or a name that "
            f"ends in {' or '.join(SUFFIXES)}"
        )
    with new_run(out, {"command": LINES, **about}, force=force) as run:
        with RunOfLines(run.path, form, dim) as writer:
            yield writer
        run.describe(LINES, about, None)


def refuse_suffix(out: Path) -> None:
    """Raise unless the output's name ends in a supported suffix, or has none."""
    if out.suffix not in (*SUFFIXES, ""):
        raise SettingError(
            f"`out={out}`: must end in {' or '.join(SUFFIXES)}, or have no ending, for a folder "
            "that can be searched"
        )


def rows_of(lines: Lines, states: Sequence[np.ndarray], form: Form) -> bytes:
    """Return what the output contains of some lines, one object or some float32 rows for each."""
    if form.per != WORD:
        states = [mean_state(vectors) for vectors in states]
    if form.suffix != ".jsonl":
        return b"".join(vectors.astype(np.float32, copy=False).tobytes() for vectors in states)
    key = "vectors" if form.per == WORD else "vector"
    objects = []
    for words, values in zip(lines, states, strict=True):
        numbers = values.astype(np.float64).round(_DIGITS).tolist()
        objects.append(json.dumps({"words": list(words), key: numbers}, ensure_ascii=False) + "\n")
    return "".join(objects).encode()


class Writer:
    """Writes what is made of lines; vectors go to disk as they arrive."""

    def __init__(self, path: Path, form: Form, dim: int) -> None:
        self.form, self.path, self.n_lines = form, path, 0
        self._dim = dim
        self._file_path = path.with_name("vectors.raw") if form.suffix == ".npz" else path
        self._words: list[str] = []
        self._ends = [0]  # of the lines, among the words

    def __enter__(self) -> "Writer":
        self._file: IO[bytes] = open(self._file_path, "wb")
        return self

    def add(self, batch: LineBatch, rows: bytes) -> None:
        """Add lines, and what :func:`rows_of` made of them."""
        self._file.write(rows)
        self.n_lines += len(batch.lines)
        for words in batch.lines if self.form == Form(".npz", WORD) else ():
            self._words += words
            self._ends.append(len(self._words))

    def __exit__(self, kind: object, *_: object) -> None:
        self._file.close()
        if kind is not None or self.form.suffix != ".npz":
            return
        vectors = self._written(len(self._words) if self.form.per == WORD else self.n_lines)
        if self.form.per != WORD:
            np.savez(self.path, vectors=vectors)
            return
        # not an array of strings, in which each would take the space of the longest
        words = np.frombuffer("\n".join(self._words).encode(), dtype=np.uint8)
        np.savez(self.path, vectors=vectors, words=words, lines=np.array(self._ends))

    def _written(self, n_rows: int) -> np.ndarray:
        """Return the vectors on disk, float32 (n, D)."""
        empty = np.zeros((n_rows, self._dim), np.float32)
        if not empty.size:
            return empty
        return np.memmap(self._file_path, np.float32, "r", shape=empty.shape)


class RunOfLines(Writer):
    """Writes a run whose words are the places of lines, their texts beside it."""

    def __enter__(self) -> "Writer":
        self._file_path = self.path / "vectors.raw"
        self._names: list[str] = []
        self._lengths: list[int] = []
        self._arrays = ArrayWriters(self.path)
        self._texts = StringWriter(self._arrays, TEXTS)
        return super().__enter__()

    def add(self, batch: LineBatch, rows: bytes) -> None:
        """Add lines that have words."""
        vectors = np.frombuffer(rows, np.float32).reshape(-1, self._dim)
        some = [number for number, words in enumerate(batch.lines) if words]
        self._file.write(vectors[some].tobytes())
        self.n_lines += len(some)
        self._names += [batch.names[number] for number in some]
        self._lengths += [len(batch.lines[number]) for number in some]
        self._texts.append([batch.texts[number] for number in some])

    def __exit__(self, kind: object, *_: object) -> None:
        self._file.close()
        if kind is not None:
            self._arrays.discard()
            return
        self._arrays.close()
        if not self.n_lines:
            raise SettingError("the text has no line with a word; pass another one")
        write_words(self.path / VOCABULARY, self._names, self._lengths)
        save_array(self.path / MATRIX, self._written(self.n_lines))
        self._file_path.unlink()


def mean_state(vectors: np.ndarray) -> np.ndarray:
    """Return the mean of a line's vectors, float32 (D,); zeros if the line has no words."""
    total = vectors.sum(axis=0, dtype=np.float64)
    return np.asarray(total / max(len(vectors), 1), np.float32)


def batches(
    split: Callable[[str], list[str]], source: Path, words_at_once: int, per: str = SENTENCE
) -> Iterator[LineBatch]:
    """Yield batches of the lines of a text, or of the sentences or documents of a corpus."""
    from firth.corpora.store.corpus import is_corpus

    if is_corpus(source):
        yield from _units(source, SENTENCE if per == WORD else per, words_at_once)
        return
    if per == DOCUMENT:
        raise SettingError(
            f"{source}: `per={DOCUMENT}` takes a corpus, and this is a text of lines; pass "
            f"`per={SENTENCE}`, or build a corpus with `build_corpus()`"
        )
    lines: list[list[str]] = []
    names: list[str] = []
    texts: list[str] = []
    n_words = 0
    for number, line in enumerate(text_lines(source), start=1):
        texts.append(line.rstrip("\r\n"))
        names.append(f"{source}:{number}")
        lines.append(split(texts[-1]))
        n_words += len(lines[-1]) + 1  # count empty lines too
        if n_words >= words_at_once:
            yield LineBatch(lines, names, texts)
            lines, names, texts, n_words = [], [], [], 0
    if lines:
        yield LineBatch(lines, names, texts)


def _units(path: Path, unit: str, words_at_once: int) -> Iterator[LineBatch]:
    """Yield batches of the sentences or documents of a corpus, with their kept fields."""
    from firth.corpora.store.corpus import Corpus
    from firth.corpora.store.search import Search

    corpus = Corpus.open(path)
    search = Search(corpus)
    starts = search.bounds(unit)
    sentences = search.sentence_starts
    step = max(1, words_at_once * (len(starts) - 1) // max(1, corpus.n_tokens))
    for first in range(0, len(starts) - 1, step):
        part = starts[first : first + step + 1]
        lines = search.words(part[:-1], part[1:])
        documents = search.documents_of(part[:-1]).tolist()
        names, texts = [], []
        for number, (words, document) in enumerate(zip(lines, documents, strict=True), first):
            source, position = search.origin(document)
            inside = number - int(np.searchsorted(starts, search.document_starts[document]))
            names.append(f"{source}:{position}" + (f":{inside + 1}" if unit == SENTENCE else ""))
            if values := list(filter(None, search.fields(document).values())):
                names[-1] += f" ({', '.join(values)})"
            begin, end = np.searchsorted(sentences, starts[number : number + 2]).tolist()
            if corpus.keeps_text and begin < end:  # all in one shard
                shard, inner = search.locate(begin, SENTENCE)
                words = shard.sentence_texts(range(inner, inner + end - begin))
            texts.append(" ".join(words))
        yield LineBatch(lines, names, texts)


def text_lines(source: Path) -> Iterator[str]:
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
