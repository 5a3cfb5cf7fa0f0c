"""Opening and exporting vectors: formats are detected by content and written by name."""

import codecs
import contextlib
import os
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from firth.corpora.artifacts.artifact import CHECKSUMS, verify
from firth.corpora.artifacts.atomic import atomic_output
from firth.corpora.artifacts.kinds import RUN, wrong_kind
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.common.reporting import note
from firth.embed.formats.fasttext import MAGIC, read_fasttext, write_fasttext
from firth.embed.formats.gensim_save import is_pickle, read_gensim, write_gensim
from firth.embed.formats.huggingface import HUGGINGFACE, is_huggingface, read_huggingface
from firth.embed.formats.model2vec import FILES as MODEL2VEC_FILES
from firth.embed.formats.model2vec import write_model2vec
from firth.embed.formats.projector import (
    METADATA,
    VECTORS,
    metadata_of,
    read_projector,
    write_projector,
)
from firth.embed.formats.reading import open_source
from firth.embed.formats.text import is_number, not_a_number, read_text, write_text
from firth.embed.formats.word2vec_binary import read_binary, write_binary
from firth.embed.runs.writer import new_run
from firth.embed.vectors.int8_rows import CODES, save_int8
from firth.embed.vectors.opened import opened
from firth.embed.vectors.word_vectors import MATRIX, SPARSE_MATRIX, WordVectors, note_zeros
from firth.embed.vectors.wordlist import VOCABULARY, write_words

FORMATS = ("word2vec-text", "word2vec-binary", "glove", "fasttext", "gensim", "projector")
RUN_FORMATS = ("int8", "model2vec")  # folders of a model, of which not any words are read
_PEEK = 1 << 20
_HEADER = re.compile(rb" *(\d{1,18}) +(\d{1,18})[ \r]*\n")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_GAPS = re.compile(rb"[ \t\r\n]+")
_WIDE = re.compile(
    rb"(?P<UTF_32>\xff\xfe\0\0|\0\0\xfe\xff)|(?P<UTF_16>\xff\xfe|\xfe\xff)"
    rb"|(?P<UTF_16LE>(?:[\t\n\r -~]\0){4})|(?P<UTF_16BE>(?:\0[\t\n\r -~]){4})"
)
_TEXT_BYTES = 64  # of floats, of which some bytes are surely not those of text

_SAFETENSORS = re.compile(rb'[\x00-\xff]{5}\x00{3}\{"')  # length of a JSON header, then the header
_ZIP = b"PK\x03\x04"
_TORCH = b"/data.pkl"

_UNSUPPORTED = (
    (b"\x93NUMPY", "a NumPy matrix without words; pass the run directory that contains it"),
    (_ZIP, "zip archives cannot be read; unpack it first"),
    (b"BZh", "compressed with bzip2; unpack it first"),
    (b"\xfd7zXZ", "compressed with xz; unpack it first"),
    (b"(\xb5/\xfd", "compressed with zstd; unpack it first"),
)


def load_vectors(run: str | os.PathLike[str], *, verified: bool = False) -> WordVectors:
    """Open word vectors of any supported format.

    Parameters
    ----------
    run : str or Path
        A run directory; a file in word2vec text or binary, GloVe or fastText ``.vec`` format,
        gzipped or not; a fastText ``.bin``; an Embedding Projector pair (its folder or its
        vectors file); a Hugging Face folder, whose input embeddings are read; or a Firth export
        for gensim (the pickle itself is never opened). The format is detected by content.
    verified : bool
        Check the run's checksums first, if it has any. This reads every file.

    Returns
    -------
    WordVectors
        Memory-mapped for a run, in memory for a file, except for the n-grams of a ``.bin``. Files
        have no text settings; a Hugging Face folder splits text as its tokenizer does.

    Raises
    ------
    ArtifactError
        If it is missing, damaged, in an unknown format, or malformed (with file and line).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "tiny.txt"
    >>> _ = file.write_text("2 3\\nking 1 0 0\\nqueen 0 1 0\\n")
    >>> load_vectors(file).vocabulary
    ['king', 'queen']
    """
    path = Path(run)
    if verified and (path / CHECKSUMS).is_file():
        verify(path)
    found = recognize(path)
    if found.format in _READERS:
        return _READERS[found.format](found.path)
    with open_source(path) as source:
        source.file.seek(found.start)
        if found.format == "word2vec-binary":
            assert found.n_words is not None
            return read_binary(source, found.n_words, found.dim)
        return read_text(source, found.n_words, found.dim)


@dataclass(frozen=True)
class Recognized:
    """What is at a path."""

    format: str
    path: Path  # of the file to read; the run or folder otherwise
    start: int = 0  # offset of the first word of a text or binary file
    n_words: int | None = None  # if the header says it
    dim: int = 0


def recognize(path: Path) -> Recognized:
    """Return the format of vectors, by what is at the path; raise if it is none."""
    if any((path / name).is_file() for name in (MATRIX, SPARSE_MATRIX, CODES)):
        return Recognized(RUN, path)
    if path.is_dir():
        if (path / VECTORS).is_file():
            return Recognized("projector", path / VECTORS)
        if is_huggingface(path):
            return Recognized(HUGGINGFACE, path)
        missing = f"{path}: has no vectors.npy; is it a finished run?"
        raise ArtifactError(wrong_kind(path, RUN) or missing)
    with open_source(path) as source:
        peek = source.read(_PEEK)
    if is_pickle(peek):
        return Recognized("gensim", path)
    if peek.startswith(MAGIC):
        return Recognized("fasttext", path)
    content = peek.removeprefix(codecs.BOM_UTF8)
    name, n_words, dim = detect(content, path)
    header = 0 if n_words is None else content.index(b"\n") + 1
    return Recognized(name, path, len(peek) - len(content) + header, n_words, dim)


def detect(start: bytes, path: Path) -> tuple[str, int | None, int]:
    """Return (format, number of words if the header says it, dimension) from a file's start."""
    _refuse_unsupported(start, path)
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
    if numbers < len(tokens) - 1 and all(is_number(t.replace(b",", b".")) for t in tokens[1:]):
        raise ArtifactError(f"{path}:1: {not_a_number(tokens[-1 - numbers])}")
    dim = min(numbers, len(tokens) - 1)
    if dim < 1 or (dim == 1 and len(tokens) > 2):  # sentences or pairs with a score end so, too
        raise ArtifactError(
            f"{path}: unknown format; expected a run directory, word2vec text or binary, GloVe, "
            "fastText .vec or .bin, or an Embedding Projector pair; to train on text: `train_svd()`"
        )
    return "glove", None, dim


def write_vectors(
    vectors: WordVectors | str | os.PathLike[str],
    out: str | Path,
    format: str,
    *,
    force: bool = False,
) -> None:
    """Write vectors in another program's format.

    The output appears under its name only when it is complete. Words whose vector is zero are
    named in a note.

    Parameters
    ----------
    vectors : WordVectors, str or path
        The vectors to write.
    out : str or Path
        A file; a folder for ``projector``, ``model2vec`` and ``int8``.
    format : str
        ``word2vec-text``, ``word2vec-binary``, ``glove``, ``fasttext``, ``gensim``, ``projector``,
        ``model2vec`` or ``int8``.
        ``int8`` makes a run whose vectors have 8 bits a number.
    force : bool
        Overwrite an earlier export at ``out``.

    Raises
    ------
    ArtifactError
        If ``out`` exists, the disk is full, or the format cannot represent a word.
    SettingError
        If the format is unknown, or vectors to store as ``int8`` are sparse or those of ``out``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from firth import WordVectors
    >>> file = Path(tempfile.mkdtemp()) / "tiny.txt"
    >>> write_vectors(WordVectors(["king"], np.ones((1, 3), np.float32)), file, "glove")
    >>> file.read_text()
    'king 1 1 1\\n'
    """
    source: WordVectors = opened(vectors)
    out = Path(out)
    formats = FORMATS + RUN_FORMATS
    if format not in formats:
        raise SettingError(f"format must be one of {', '.join(formats)}, got {format!r}")
    note_zeros(source, str(out))
    if format == "gensim":
        write_gensim(source, out, force)
    elif format == "int8":
        write_int8_run(source, out, force)
    else:
        files = {"projector": (VECTORS, METADATA), "model2vec": MODEL2VEC_FILES}.get(format, ())
        with atomic_output(out, force, files) as partial:
            _WRITERS[format](source, partial)
    note(f"{out}: {len(source)} vectors of {source.dim} dimensions, {format}")


_READERS: dict[str, Callable[[Path], WordVectors]] = {
    RUN: WordVectors.open,
    "projector": read_projector,
    HUGGINGFACE: read_huggingface,
    "gensim": read_gensim,
    "fasttext": read_fasttext,
}
_WRITERS: dict[str, Callable[[WordVectors, Path], None]] = {
    "word2vec-text": lambda vectors, path: write_text(vectors, path, header=True),
    "word2vec-binary": write_binary,
    "glove": lambda vectors, path: write_text(vectors, path, header=False),
    "fasttext": write_fasttext,
    "projector": write_projector,
    "model2vec": write_model2vec,
}


def _looks_like_text(records: bytes) -> bool:
    """Return whether decimal numbers follow the first word, or anything is text; floats are not."""
    start = records[:4096]
    has_controls = _CONTROL.search(start) is not None
    if len(records) >= _TEXT_BYTES and not has_controls:
        with contextlib.suppress(UnicodeDecodeError):
            return bool(codecs.getincrementaldecoder("utf-8")().decode(start))
    tokens = [token for token in _GAPS.split(records.partition(b"\n")[0]) if token]
    if len(tokens) < 2:  # a short line of text, or binary whose first float contains a newline
        others = _GAPS.split(start.strip())[1:]
        return not has_controls and (not others or any(map(is_number, others)))
    plain = not any(map(_CONTROL.search, tokens[1:]))
    return plain and any(is_number(tokens[n].replace(b",", b".")) for n in (1, -1))


def _refuse_unsupported(start: bytes, path: Path) -> None:
    """Raise for known kinds of files that contain no readable vectors."""
    if not start.strip():
        raise ArtifactError(f"{path}: empty file")
    if wide := _WIDE.match(start):
        name = str(wide.lastgroup).replace("_", "-")
        command = shlex.join(["iconv", "-f", name, "-t", "UTF-8", str(path)])
        raise ArtifactError(
            f"{path}: is {name}, not UTF-8; convert it: {command} > {shlex.quote(f'{path}.utf8')}"
        )
    if _SAFETENSORS.match(start):
        raise ArtifactError(f"{path}: tensors without words; pass the folder that contains it")
    if start.startswith(_ZIP) and _TORCH in start:
        raise ArtifactError(
            f"{path}: a PyTorch pickle is never opened because it can run any code; "
            "save the model as safetensors and pass its folder"
        )
    for magic, what in _UNSUPPORTED:
        if start.startswith(magic):
            raise ArtifactError(f"{path}: {what}")


def write_int8_run(vectors: WordVectors, out: Path, force: bool) -> None:
    """Write a run with vectors in 8 bits; n-grams, pieces and context vectors are left out."""
    if vectors.path is not None and out.resolve() == vectors.path.resolve():
        raise SettingError(f"{out}: is the run to export; choose another OUT")
    if force and out.is_dir() and any(out.iterdir()) and not (out / CODES).is_file():
        raise ArtifactError(f"{out}: not an int8 export; choose another OUT")
    source = {"source": str(vectors.path or vectors.name)}
    with new_run(out, {"command": "export", **source}, force=force) as run:
        write_words(run.path / VOCABULARY, vectors.vocabulary, vectors.counts)
        save_int8(run.path, vectors.matrix, vectors.vocabulary, vectors.name)
        run.describe("int8", source, vectors.text)
