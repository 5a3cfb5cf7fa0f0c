"""Other programs' vectors: told apart by content when read, by name when written."""

import codecs
import re
from collections.abc import Callable
from pathlib import Path

from corpora.artifacts.artifact import CHECKSUMS, verify
from corpora.artifacts.atomic import replacing
from corpora.common.console import typed
from corpora.common.errors import ArtifactError, SettingError
from embed.formats.fasttext import MAGIC, read_fasttext
from embed.formats.gensim_save import is_pickle, read_gensim, write_gensim
from embed.formats.huggingface import is_huggingface, read_huggingface
from embed.formats.projector import (
    METADATA,
    VECTORS,
    metadata_of,
    read_projector,
    write_projector,
)
from embed.formats.reading import opened
from embed.formats.text import is_number, read_text, write_text
from embed.formats.word2vec_binary import read_binary, write_binary
from embed.vectors.word_vectors import MATRIX, SPARSE_MATRIX, WordVectors

FORMATS = ("word2vec-text", "word2vec-binary", "glove", "gensim", "projector")
_PEEK = 1 << 20
_HEADER = re.compile(rb" *(\d{1,18}) +(\d{1,18})[ \r]*\n")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_GAPS = re.compile(rb"[ \t\r\n]+")

_SAFETENSORS = re.compile(rb'[\x00-\xff]{5}\x00{3}\{"')  # length of a head of JSON, and that
_ZIP = b"PK\x03\x04"
_TORCH = b"/data.pkl"

_OTHERS = (
    (b"\x93NUMPY", "is a NumPy matrix without words; pass the run directory that holds it"),
    (_ZIP, "is a zip archive; unpack it first"),
    (b"BZh", "is compressed with bzip2; unpack it first"),
    (b"\xfd7zXZ", "is compressed with xz; unpack it first"),
    (b"(\xb5/\xfd", "is compressed with zstd; unpack it first"),
)


def load_vectors(run: str | Path, *, verified: bool = False) -> WordVectors:
    """Open whatever holds word vectors.

    Parameters
    ----------
    run : str or Path
        A run directory; or a vectors file in word2vec text or binary, GloVe, fastText ``.vec``,
        each gzipped or not; fastText's ``.bin``; an embedding-projector pair (its folder or its
        vectors file); a Hugging Face folder, of which the input embeddings are read; or what
        we exported for gensim (of a pickle, only what stands beside it). Told apart by content.
    verified : bool
        Hold a run that has checksums against them, which reads all of it: for
        commands that read all of it anyway.

    Returns
    -------
    WordVectors
        A run is memory-mapped, a file is read, but for the n-grams of a ``.bin``. Files have no
        text settings, though a Hugging Face folder cuts text as its tokenizer does.

    Raises
    ------
    ArtifactError
        It is missing, damaged, in no known format, or malformed (file and line).
    """
    path = Path(run)
    if verified and (path / CHECKSUMS).is_file():
        verify(path)
    if (path / MATRIX).is_file() or (path / SPARSE_MATRIX).is_file():
        return WordVectors.open(path)
    if path.is_dir():
        if (path / VECTORS).is_file():
            return read_projector(path / VECTORS)
        if is_huggingface(path):
            return read_huggingface(path)
        from corpora.store.corpus import is_corpus  # here: it imports numba

        if is_corpus(path):
            raise ArtifactError(
                f"{path}: is a corpus, no run; train one: firth train-svd {typed(path)} --out RUN"
            )
        raise ArtifactError(f"{path}: holds no vectors.npy; is it a finished run?")
    with opened(path) as source:
        peek = source.read(_PEEK)
        if is_pickle(peek):
            return read_gensim(path)
        if peek.startswith(MAGIC):
            return read_fasttext(path)
        start = peek.removeprefix(codecs.BOM_UTF8)
        name, n_words, dim = detect(start, path)
        if name == "projector":
            return read_projector(path)
        behind = 0 if n_words is None else start.index(b"\n") + 1
        source.file.seek(len(peek) - len(start) + behind)
        if name == "word2vec-binary":
            assert n_words is not None
            return read_binary(source, n_words, dim)
        return read_text(source, n_words, dim)


def detect(start: bytes, path: Path) -> tuple[str, int | None, int]:
    """Tell a format by the first bytes of a file."""
    _refuse_others(start, path)
    if header := _HEADER.match(start):
        n_words, dim = int(header[1]), int(header[2])
        if not n_words or not dim:
            raise ArtifactError(f"{path}:1: the header says {n_words} words of {dim} dimensions")
        text = _looks_like_text(start[header.end() :])
        return ("word2vec-text" if text else "word2vec-binary"), n_words, dim
    tokens = [token for token in _GAPS.split(start.partition(b"\n")[0]) if token]
    numbers = 0
    while numbers < len(tokens) and is_number(tokens[-1 - numbers]):
        numbers += 1
    if numbers and numbers == len(tokens) and (b"\t" in start or metadata_of(path)):
        return "projector", None, numbers
    dim = min(numbers, len(tokens) - 1)
    if dim < 1:
        raise ArtifactError(
            f"{path}: is in no format that Firth reads: a run directory, word2vec text or "
            "binary, GloVe, fastText .vec or .bin, embedding projector"
        )
    return "glove", None, dim


def write_vectors(
    vectors: WordVectors, out: str | Path, format: str, *, force: bool = False
) -> None:
    """Write vectors in another program's format; whole or not at all.

    Parameters
    ----------
    vectors : WordVectors
        What to write.
    out : str or Path
        A file; a folder for ``projector``.
    format : str
        One of :data:`FORMATS`.
    force : bool
        Replace what an earlier export left at ``out``.

    Raises
    ------
    ArtifactError
        ``out`` exists, the disk is full, or the format cannot hold a word.
    SettingError
        The format is unknown.
    """
    out = Path(out)
    if format == "gensim":
        write_gensim(vectors, out, force)
    elif format in _WRITERS:
        files = (VECTORS, METADATA) if format == "projector" else ()
        with replacing(out, force, files) as partial:
            _WRITERS[format](vectors, partial)
    else:
        raise SettingError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")


_WRITERS: dict[str, Callable[[WordVectors, Path], None]] = {
    "word2vec-text": lambda vectors, path: write_text(vectors, path, header=True),
    "word2vec-binary": write_binary,
    "glove": lambda vectors, path: write_text(vectors, path, header=False),
    "projector": write_projector,
}


def _looks_like_text(records: bytes) -> bool:
    """Whether numbers follow the first word; raw floats hardly ever look like them."""
    tokens = [token for token in _GAPS.split(records.partition(b"\n")[0]) if token]
    if len(tokens) < 2:  # a short line of text, or the second byte of a float is a line end
        return _CONTROL.search(records[:4096]) is None
    plain = not any(map(_CONTROL.search, tokens[1:]))
    return plain and (is_number(tokens[1]) or is_number(tokens[-1]))


def _refuse_others(start: bytes, path: Path) -> None:
    """Name what a file is when it is a known thing that holds no readable vectors."""
    if not start.strip():
        raise ArtifactError(f"{path}: is empty")
    if _SAFETENSORS.match(start):
        raise ArtifactError(f"{path}: holds tensors without words; pass the folder that holds it")
    if start.startswith(_ZIP) and _TORCH in start:
        raise ArtifactError(
            f"{path}: is a pickle of PyTorch's, which may run any code and is never opened; "
            "save the model as safetensors and pass its folder"
        )
    for magic, what in _OTHERS:
        if start.startswith(magic):
            raise ArtifactError(f"{path}: {what}")
