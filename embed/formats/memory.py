"""How much anonymous memory opened vectors take, reckoned before they are read.

Dense matrices of runs, and of exports for gensim, are mapped and take none. Constants are measured;
words of files are taken to have up to 30 bytes on average.
"""

from dataclasses import dataclass
from pathlib import Path

from firth.corpora.artifacts.kinds import RUN
from firth.corpora.common.errors import SettingError
from firth.embed.formats.fasttext import read_shape
from firth.embed.formats.huggingface import HUGGINGFACE, TOKENIZER, largest_table
from firth.embed.formats.projector import metadata_of
from firth.embed.formats.reading import open_source
from firth.embed.formats.vector_files import Recognized, load_vectors, recognize
from firth.embed.vectors.word_vectors import SPARSE_MATRIX

PROGRAM = 32 << 20  # Python and NumPy, before anything is opened
_PARSING = 84 << 20  # blocks of a file, numba and compiled kernels
_TORCH = 300 << 20  # which reads weights of 16 bits
_BY_MAPPED_WORD = 56  # offsets of lines, hashes and their order, counts
_BY_WORD = 360  # strings twice, a set and a dictionary
_BY_METADATA_BYTE = 6  # decoded, cut into lines and these into cells
_BY_TOKENIZER_BYTE = 24
_TABLES = 6  # of a model: its input embeddings, a second copy, and two while they are compared
_GROWTH = 1.125  # of a matrix while it is read, if the number of words is not known
_COMPOSED_AT_ONCE = 1 << 16  # words of a fastText model
_NGRAMS = 480  # bytes of one of them, while it is composed
_BLOCK = 1 << 22


@dataclass(frozen=True)
class OpenedSize:
    """What opened vectors are, and the bytes of anonymous memory that they take at most."""

    words: int
    dim: int
    bytes: int  # besides PROGRAM


def size_opened(run: Path, *, add_contexts: bool = False) -> OpenedSize:
    """Return what vectors will take in memory; files without a header are read to count words."""
    found = recognize(run)
    if found.format == RUN and (run / SPARSE_MATRIX).is_file():
        raise SettingError(
            f"`memory`: {run} has sparse vectors, and what they take is not known; pass no bound"
        )
    if found.format in (RUN, "gensim"):
        return _size_mapped(run, add_contexts)
    if found.format == HUGGINGFACE:
        return _size_model(run)
    n_words, dim, more = _shape(found)
    return OpenedSize(n_words, dim, more + _PARSING + (4 * dim + _BY_WORD) * n_words)


def _shape(found: Recognized) -> tuple[int, int, int]:
    """Return words and dimensions of a file, and bytes that its format takes besides them."""
    if found.format == "fasttext":
        n_words, dim = read_shape(found.path)
        return n_words, dim, min(n_words, _COMPOSED_AT_ONCE) * (4 * dim + _NGRAMS)
    if found.format == "projector":
        metadata = metadata_of(found.path) or found.path  # reading it raises
        more = _BY_METADATA_BYTE * metadata.stat().st_size
        return _count_lines(metadata), found.dim or _first_width(found.path), more
    if found.n_words is not None:
        return found.n_words, found.dim, 0
    n_words = _count_lines(found.path)
    return n_words, found.dim, int((_GROWTH - 1) * 4 * found.dim * n_words)


def _size_mapped(run: Path, add_contexts: bool) -> OpenedSize:
    """Return the size of vectors that are mapped, or of their sums with context vectors."""
    vectors = load_vectors(run)
    n_words, dim = vectors.matrix.shape
    sums = 4 * n_words * dim if add_contexts and vectors.contexts is not None else 0
    ngrams = 0 if vectors.subwords is None else 16 * len(vectors.subwords.rows)
    pieces = 0 if vectors.pieces is None else _tokenizer_bytes(run)
    return OpenedSize(n_words, dim, sums + ngrams + pieces + _BY_MAPPED_WORD * n_words)


def _size_model(folder: Path) -> OpenedSize:
    """Return the size of the input embeddings of a Hugging Face folder."""
    n_rows, dim, is_bfloat16 = largest_table(folder)
    tables = _TABLES * 4 * n_rows * dim + (_TORCH if is_bfloat16 else 0)
    return OpenedSize(n_rows, dim, tables + _tokenizer_bytes(folder) + _BY_WORD * n_rows)


def _tokenizer_bytes(folder: Path) -> int:
    """Return the bytes that the pieces of a run or folder take."""
    file = folder / TOKENIZER
    return _PARSING + (_BY_TOKENIZER_BYTE * file.stat().st_size if file.is_file() else 0)


def _count_lines(path: Path) -> int:
    """Return the number of lines of a file, gzipped or not."""
    with open_source(path) as source:
        n_lines, last = 0, b"\n"
        while block := source.read(_BLOCK):
            n_lines, last = n_lines + block.count(b"\n"), block[-1:]
    return n_lines + (last != b"\n")


def _first_width(path: Path) -> int:
    """Return the number of columns of a file's first line."""
    with open_source(path) as source:
        return len(source.read(_BLOCK).partition(b"\n")[0].split())
