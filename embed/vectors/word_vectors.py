"""WordVectors: a vocabulary and a matrix, from any source."""

import os
import shutil
import zipfile
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import save_array
from firth.corpora.artifacts.artifact import CHECKSUMS, MAKER, write_json
from firth.corpora.artifacts.provenance import PROVENANCE
from firth.corpora.common.display import data_frame, html_table
from firth.corpora.common.errors import ArtifactError, FirthError, SettingError, imported
from firth.corpora.common.keywords import suggesting
from firth.corpora.common.reporting import note
from firth.corpora.text.spelling import FoldedWords
from firth.embed.registry import ENCODERS
from firth.embed.runs.run import Run
from firth.embed.runs.writer import CONFIG, RunWriter, new_run
from firth.embed.vectors.int8_rows import CODES, Int8Rows, is_dense, open_int8, save_int8
from firth.embed.vectors.neighbors import (
    Neighbors,
    analogy,
    known_word,
    nearest,
    nearest_to,
    similarity,
    vector_of,
)
from firth.embed.vectors.ngram_means import NgramMeans
from firth.embed.vectors.piece_table import (
    FIRST_VECTORS,
    PIECE_VECTORS,
    START,
    PieceTable,
)
from firth.embed.vectors.run_files import open_array
from firth.embed.vectors.search import nonzero_rows, unit_length
from firth.embed.vectors.subwords import BUCKETS as BUCKETS
from firth.embed.vectors.subwords import INPUTS as INPUTS
from firth.embed.vectors.subwords import SubwordTable, parse_subwords
from firth.embed.vectors.wordlist import VOCABULARY, StoredVocabulary, index_words, write_words

MATRIX = "vectors.npy"
SPARSE_MATRIX = "vectors.npz"
CONTEXTS = "contexts.npy"
CENTERS = "centers.npy"  # of joined vectors, see firth.embed.contextual.joined
UNTRAINED = "untrained.npy"  # last columns of what an encoder pools before its training
_SHOWN_WORDS, _SHOWN_NUMBERS = 10, 6  # in notebooks and notes
_REMEMBERED = 1 << 16  # spellings


@suggesting
class WordVectors:
    """A vocabulary and one vector per word: :class:`~firth.embed.protocols.StaticVectors`.

    ``len``, iteration and ``in`` refer to the vocabulary. ``vectors["king"]`` also composes
    vectors of unseen words from n-grams or pieces if there are any. Where a function takes a run,
    it also takes the vectors opened from that run. Do not change the arrays.

    ``vectors["King"]``, ``in``, ``nearest``, ``similarity`` and ``analogy`` take a word as the
    vocabulary spells it; only if there is none, they read it as the command line does, by
    :meth:`words`: split and normalized like the corpus, or in another case. :meth:`row`,
    :meth:`vector`, :meth:`rows` and ``word in vectors.vocabulary`` are for exact words.

    Vectors of a run are pickled and copied by its path, as long as the run is there and unchanged;
    all others, and those of :meth:`in_memory`, by value.

    Parameters
    ----------
    vocabulary : sequence of str
        The words; position = row.
    matrix : float32 (V, D), Int8Rows (V, D) or scipy.sparse CSR (V, D)
        The vectors, possibly memory-mapped, or in 8 bits.
    counts : int64 (V,), optional
        Occurrences of each word in the corpus.
    text : TextSettings or mapping, optional
        How the corpus was split into words (or its JSON form); None if unknown.
    name : str
        Name in messages and tables.
    subwords : SubwordTable, optional
        The n-grams that vectors of unseen words are composed of.
    path : Path, optional
        Absolute path of the run that the vectors were opened from.
    contexts : float32 (V, D), optional
        Context vectors, if they are not stored in a run.
    pieces : PieceTable or NgramMeans, optional
        The pieces, or n-grams of known words, that vectors of unseen words are composed of.
    centers : float32 (4, C), optional
        What was subtracted from the second part of joined vectors, of C dimensions, if it is not
        stored in a run.

    Raises
    ------
    ArtifactError
        If the numbers of words and rows, or the widths of words and n-grams or pieces, differ.

    Examples
    --------
    >>> vectors = WordVectors(["king", "queen"], np.array([[1, 0], [3, 4]], np.float32))
    >>> vectors
    <WordVectors vectors: 2 words, 2 dimensions>
    >>> vectors["queen"].tolist(), "kign" in vectors
    ([3.0, 4.0], False)
    >>> vectors.nearest("king")
    [Neighbor(word='queen', score=0.6)]
    """

    def __init__(
        self,
        vocabulary: Sequence[str],
        matrix: Any,
        *,
        counts: np.ndarray | None = None,
        text: Any = None,
        name: str = "vectors",
        subwords: SubwordTable | None = None,
        path: Path | None = None,
        contexts: np.ndarray | None = None,
        pieces: PieceTable | NgramMeans | None = None,
        centers: np.ndarray | None = None,
    ) -> None:
        if matrix.ndim != 2 or len(vocabulary) != matrix.shape[0]:
            raise ArtifactError(
                f"{name}: {len(vocabulary)} words do not fit a matrix of shape {matrix.shape}"
            )
        parts = subwords or pieces
        if parts is not None and parts.dim != matrix.shape[1]:
            raise ArtifactError(
                f"{name}: {parts.made_of} of {parts.dim} dimensions do not fit words of "
                f"{matrix.shape[1]}"
            )
        self.vocabulary = vocabulary
        self.matrix = matrix
        self._counts = counts
        self._text = text
        self.name = name
        self.subwords = subwords
        self.path = path
        self._contexts = contexts
        self.pieces = pieces
        self._centers = centers
        self._checksums: bytes | None = None  # of the run when it was opened
        self._described: dict[str, Any] = {}  # files of the run that they were read from, as JSON

    @classmethod
    def open(cls, run: str | os.PathLike[str]) -> "WordVectors":
        """Open a finished run, memory-mapped: data is read when it is used.

        Parameters
        ----------
        run : str or path
            A run directory with ``vocabulary.tsv`` and ``vectors.npy`` (or
            ``vectors.npz`` if sparse, ``vectors.int8.npy`` and ``scales.npy`` if in 8 bits);
            also ``inputs.npy`` and ``buckets.npy`` if it was trained with n-grams.

        Returns
        -------
        WordVectors
            With the text settings in the run's ``config.json``.

        Raises
        ------
        ArtifactError
            If a file is missing, damaged, or inconsistent with the others, or the run is
            unfinished.
        """
        run = Path(run)
        if (run / MAKER).is_file():
            raise ArtifactError(f"{run}: is unfinished; run its command again to complete it")
        matrix = _open_matrix(run)
        vocabulary = StoredVocabulary(run / VOCABULARY)
        settings = Run.open(run)
        vectors = cls(
            vocabulary,
            matrix,
            text=settings.text,
            name=str(run),
            subwords=_open_subwords(run, settings.options, matrix.shape[0]),
            path=run.absolute(),
            pieces=PieceTable.open(run, PIECE_VECTORS) or NgramMeans.open(run, matrix.shape[1]),
        )
        vectors._checksums = _checksums(run)
        return vectors

    def save(self, out: str | os.PathLike[str], *, force: bool = False) -> "WordVectors":
        """Write a run: a copy of the run that they were opened from, or what is in memory.

        Vectors that were trained without ``out`` keep the settings of their training, and where its
        corpus is.

        Parameters
        ----------
        out : str or path
            The directory to make.
        force : bool
            Overwrite a run at ``out``.

        Returns
        -------
        WordVectors
            Opened from the run.

        Raises
        ------
        ArtifactError
            If ``out`` exists or cannot be written.
        SettingError
            If ``out`` is the run that they were opened from.
        """
        if self.path is not None and Path(out).resolve() == self.path.resolve():
            raise SettingError(f"{out}: is the run of these vectors; choose another `out`")
        maker = {"command": "save", "source": str(self.path or self.name)}
        with new_run(Path(out), maker, force=force) as run:
            if self._is_stored:
                without = shutil.ignore_patterns(CHECKSUMS, MAKER, "index")
                shutil.copytree(str(self.path), run.path, ignore=without, dirs_exist_ok=True)
            else:
                self._write_run(run)
        return WordVectors.open(out)

    def _write_run(self, run: RunWriter) -> None:
        """Write all that is in memory."""
        self.write(run.path)
        if self.contexts is not None:
            save_array(run.path / CONTEXTS, np.asarray(self.contexts))
        options: dict[str, Any] = {}
        if isinstance(self.pieces, NgramMeans):
            self.pieces.save(run.path)
        elif self.pieces is not None:
            note(f"{self.name}: its pieces are not saved, so unseen words will have no vector")
        if self.subwords is not None:
            self.subwords.save(run.path, self.vocabulary, np.asarray(self.matrix))
            options = self.subwords.options
        run.describe("vectors", options, self.text)
        for name, content in self._described.items():
            write_json(run.path / name, content)

    def write(self, directory: Path) -> None:
        """Write ``vocabulary.tsv`` and ``vectors.npy`` (or what sparse and 8-bit vectors have).

        N-grams and context vectors are not written; trainers write them.

        Parameters
        ----------
        directory : Path
            An existing directory, usually one that ``new_artifact`` yields.
        """
        write_words(directory / VOCABULARY, self.vocabulary, self.counts)
        if isinstance(self.matrix, Int8Rows):
            save_int8(directory, self.matrix, self.vocabulary, self.name)
        elif is_dense(self.matrix):
            save_array(directory / MATRIX, np.asarray(self.matrix, dtype=np.float32))
        else:
            import scipy.sparse

            scipy.sparse.save_npz(directory / SPARSE_MATRIX, self.matrix)
        if self._centers is not None:
            save_array(directory / CENTERS, self._centers)

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __iter__(self) -> Iterator[str]:
        return iter(self.vocabulary)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.row(known_word(self, word)) is not None

    def __getitem__(self, word: str | Sequence[str]) -> np.ndarray:
        # returns float32 (D,) for a word, (n, D) for several
        if isinstance(word, str):
            return vector_of(self, word)
        return np.array([vector_of(self, one) for one in word]).reshape(-1, self.dim)

    def __fspath__(self) -> str:
        if self.path is None:
            raise SettingError(
                f"{self.name}: these vectors are in memory only; write them by save(), or "
                "pass the path of one"
            )
        return str(self.path)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._is_stored:
            return _opened_again, (str(self.path), self.name, self._checksums)
        return _made, (self._arguments(), self._described)

    def __repr__(self) -> str:
        return f"<WordVectors {self.name}: {len(self):,} words, {self.dim} dimensions>"

    def _repr_html_(self) -> str:
        """Return the table that notebooks show: the first words and some of their numbers."""
        n_words, n_numbers = min(len(self), _SHOWN_WORDS), min(self.dim, _SHOWN_NUMBERS)
        counts = [] if self.counts is None else ["count"]
        rows: list[list[object]] = []
        for row, word in enumerate(self.vocabulary[:n_words]):
            count = [] if self.counts is None else [int(self.counts[row])]
            numbers = [self.matrix[row, column] for column in range(n_numbers)]
            rows.append([word, *count, *map(float, numbers)])
        columns = ["word", *counts, *map(str, range(n_numbers))]
        return html_table(columns, rows, repr(self).strip("<>"))

    @property
    def composed_of(self) -> str:
        """What vectors of unseen words are composed of."""
        return SubwordTable.made_of if self.pieces is None else self.pieces.made_of

    @property
    def dim(self) -> int:
        """D, the width of the vectors."""
        return int(self.matrix.shape[1])

    @cached_property
    def counts(self) -> np.ndarray | None:
        """Occurrences of each word, int64 (V,); None if unknown."""
        if self._counts is None and isinstance(self.vocabulary, StoredVocabulary):
            return self.vocabulary.counts()
        return self._counts

    @cached_property
    def text(self) -> Any:
        """The text settings of the corpus; None if unknown."""
        if not isinstance(self._text, dict):
            return self._text
        from firth.corpora.text.segment import TextSettings

        return TextSettings.from_json(self._text)

    @cached_property
    def contexts(self) -> np.ndarray | None:
        """Context vectors, float32 (V, D), memory-mapped for a run; None if there are none."""
        if self._contexts is not None:
            return self._contexts
        if self.path is None or not (file := self.path / CONTEXTS).is_file():
            return None
        array = open_array(file, np.float32, 2)
        if array.shape != self.matrix.shape:
            raise ArtifactError(
                f"{file}: has {array.dtype} of shape {array.shape}, expected float32 of "
                f"shape {self.matrix.shape}; train the run again"
            )
        return array

    @cached_property
    def start(self) -> "WordVectors | None":
        """What the words of a masked LM are without context; see :func:`open_start`.

        None if they are no run of a masked LM, or its training started at random.
        """
        start = None if self.path is None else open_start(self.path)
        if start is None:
            return None
        return with_matrix(self, start.rows(self.vocabulary), f"{self.name} start")

    @cached_property
    def untrained(self) -> "WordVectors | None":
        """What the encoder of a masked LM pools before its training; None if it is not stored."""
        if self.path is None or not (file := self.path / UNTRAINED).is_file():
            return None
        states = open_array(file, np.float32, 2)
        if len(states) != len(self) or states.shape[1] > self.dim:
            raise ArtifactError(
                f"{file}: has shape {states.shape}, which does not fit {len(self)} words of "
                f"{self.dim} dimensions; train the run again"
            )
        matrix = np.concatenate([self.matrix[:, : self.dim - states.shape[1]], states], axis=1)
        return with_matrix(self, matrix, f"{self.name} untrained")

    @cached_property
    def centers(self) -> np.ndarray | None:
        """What was subtracted from the second part of joined vectors, float32 (4, C)."""
        if self.path is None or not (self.path / CENTERS).is_file():
            return self._centers
        centers: np.ndarray = open_array(self.path / CENTERS, np.float32, 2)
        if len(centers) != 4 or centers.shape[1] > self.dim:
            raise ArtifactError(
                f"{self.path / CENTERS}: has shape {centers.shape}, which does not fit vectors of "
                f"{self.dim} dimensions; pool the run again"
            )
        return centers

    def row(self, word: str) -> int | None:
        """Return the row of a word, as :meth:`StaticVectors.row` does."""
        if isinstance(self.vocabulary, StoredVocabulary):
            return self.vocabulary.row(word)
        return self._index.get(word)

    def vector(self, word: str) -> np.ndarray | None:
        """Return the vector of a word, as :meth:`StaticVectors.vector` does."""
        row = self.row(word)
        if row is None:
            parts = self.subwords or self.pieces
            composed = None if parts is None else parts.compose_all([word])[0]
            return None if composed is None or not composed.any() else composed
        vector = self.matrix[row]
        if not is_dense(self.matrix):
            vector = vector.toarray().ravel()
        return np.array(vector, dtype=np.float32)

    def rows(self, words: Sequence[str]) -> np.ndarray:
        """Return the vectors of words; of unseen and zero ones composed of n-grams or pieces.

        Parameters
        ----------
        words : sequence of str
            Exactly as spelled in the vocabulary, if they are there.

        Returns
        -------
        float32 (n, D)
            Zero if a word has no vector and no known n-grams or pieces.
        """
        found = np.zeros((len(words), self.dim), np.float32)
        numbers = [self.row(word) for word in words]
        own = [at for at, row in enumerate(numbers) if row is not None]
        rows = self.matrix[[numbers[at] for at in own]]
        found[own] = rows if is_dense(self.matrix) else rows.toarray()
        parts = self.subwords or self.pieces
        others = np.flatnonzero(~found.any(1)).tolist()
        if others and parts is not None:
            found[others] = parts.compose_all([words[at] for at in others])
        return found

    def words(self, text: str) -> list[str]:
        """Split text into words as the corpus was split.

        The whole text is one word if the vocabulary has it, "new york" also as ``new_york``.
        Otherwise it is split, without text settings at white space. A word that the vocabulary
        lacks is spelled as one that it has, if they differ in case or Unicode normal form only;
        but tokens (``segmenter="tokens"``) are looked up as they are.

        Parameters
        ----------
        text : str
            A word, a phrase or a sentence.

        Returns
        -------
        list of str
            Words, with or without a vector.
        """
        words = text.split() if self.text is None else self.text.words(text)
        if len(words) == 1 and self.row(words[0]) is not None:
            return words
        parts = [word for word in words if word != "_"]  # the segmenter splits new_york, too
        for whole in (text, "_".join(parts))[: 2 if len(parts) > 1 else 1]:
            if (word := self._as_spelled(whole)) is not None:
                return [word]
        return [self._spelling(word) or word for word in words]

    def nearest(self, word: str | np.ndarray, k: int = 10) -> Neighbors:
        """Find the words nearest to one word or any vector, as :func:`firth.nearest` does."""
        if isinstance(word, str):
            return nearest(self, word, k)[0]
        vector = np.asarray(word)
        if vector.dtype.kind == "U":
            raise SettingError("nearest takes one word; pass several to firth.nearest")
        if vector.shape != (self.dim,):
            raise SettingError(f"vector must have shape ({self.dim},), got {vector.shape}")
        query: Any = vector[None].astype(np.float64)
        if not is_dense(self.matrix):
            from scipy.sparse import csr_matrix

            query = csr_matrix(query)
        return nearest_to(self, unit_length(query), [None], k)[0]

    def similarity(self, a: str, b: str) -> float:
        """Compute the cosine of two words, as :func:`firth.similarity` does."""
        return similarity(self, a, b)

    def analogy(self, a: str, b: str, c: str, k: int = 10, method: str = "3cosadd") -> Neighbors:
        """Answer "a is to b as c is to which word?", as :func:`firth.analogy` does."""
        return analogy(self, a, b, c, k, method)

    def to_gensim(self) -> Any:
        """Return a ``gensim.models.KeyedVectors`` with a dense copy, and the counts if known.

        N-grams and context vectors are left out.
        """
        missing = FirthError("to_gensim() needs the package gensim; pip install gensim")
        models = imported("gensim.models", missing)
        note_zeros(self, self.name)
        keyed = models.KeyedVectors(self.dim, dtype=np.float32)
        keyed.add_vectors(list(self.vocabulary), self._dense())
        if self.counts is not None:
            keyed.expandos["count"] = np.array(self.counts)
        return keyed

    def to_pandas(self) -> Any:
        """Return a pandas.DataFrame indexed by word, with columns 0 to D - 1."""
        return data_frame(self._dense(), index=list(self.vocabulary))

    def in_memory(self, name: str | None = None) -> "WordVectors":
        """Read everything into memory, so that the files may be deleted.

        Parameters
        ----------
        name : str, optional
            A new name in messages and tables.

        Returns
        -------
        WordVectors
            Without a path.
        """
        given = self._arguments()
        for part in ("contexts", "centers"):
            given[part] = None if given[part] is None else np.array(given[part])
        for part in ("subwords", "pieces"):
            given[part] = None if given[part] is None else given[part].in_memory(name)
        if is_dense(self.matrix):
            given["matrix"] = np.array(self.matrix)
        described = self._described
        if self.path is not None:
            run = Run.open(self.path)  # what has an encoder is no such run without it
            files = {CONFIG: run.config, PROVENANCE: run.provenance}
            described = {} if run.method in ENCODERS else files
        return _made({**given, "name": name or self.name}, described)

    def _arguments(self) -> dict[str, Any]:
        """Return what the constructor takes to make them again, without their run."""
        return {
            "vocabulary": list(self.vocabulary),
            "matrix": self.matrix,
            "counts": self.counts,
            "text": self._text,
            "name": self.name,
            "subwords": self.subwords,
            "contexts": self.contexts,
            "pieces": self.pieces,
            "centers": self.centers,
        }

    @property
    def _is_stored(self) -> bool:
        """Whether the run that they were opened from is there and has not changed."""
        if self.path is None or not (self.path / VOCABULARY).is_file():
            return False
        return _checksums(self.path) == self._checksums

    @cached_property
    def _index(self) -> dict[str, int]:
        """Map words to rows."""
        return index_words(self.vocabulary)

    def _dense(self) -> np.ndarray:
        """Return the matrix as a new dense array."""
        rows = self.matrix if is_dense(self.matrix) else self.matrix.toarray()
        return np.array(rows, dtype=np.float32)

    def _as_spelled(self, text: str) -> str | None:
        """Return the word of the vocabulary that a text spells; None if there is none."""
        for form in (text, text.lower()):
            if self.row(form) is not None:
                return form
            if self.text is not None and self.text.of_tokens:
                return None  # a token of other case is another token
        row = self._folded.row(text)
        return None if row is None else self.vocabulary[row]

    @cached_property
    def _spelling(self) -> Callable[[str], str | None]:
        """:meth:`_as_spelled`, which remembers words, as texts repeat them."""
        return lru_cache(_REMEMBERED)(self._as_spelled)

    @cached_property
    def _folded(self) -> FoldedWords:
        """The words by what their spellings share."""
        return FoldedWords(self.vocabulary)


def _checksums(run: Path) -> bytes | None:
    """Return the checksums of a run as they are written; None if it has none."""
    return (run / CHECKSUMS).read_bytes() if (run / CHECKSUMS).is_file() else None


def _opened_again(run: str, name: str, checksums: bytes | None) -> WordVectors:
    """Unpickle vectors of a run; raise if it has changed."""
    vectors = WordVectors.open(run)
    if vectors._checksums != checksums:
        raise ArtifactError(f"{run}: has changed since its vectors were pickled; pickle them again")
    vectors.name = name
    return vectors


def _made(arguments: dict[str, Any], described: dict[str, Any]) -> WordVectors:
    """Make vectors that were pickled by value, or copied."""
    vectors = WordVectors(**arguments)
    vectors._described = described
    return vectors


def with_matrix(vectors: WordVectors, matrix: np.ndarray, name: str) -> WordVectors:
    """Return the words, counts and text settings of vectors with another matrix, in memory."""
    words, counts = vectors.vocabulary, vectors.counts
    return WordVectors(words, matrix, counts=counts, text=vectors.text, name=name)


def _open_subwords(run: Path, options: dict[str, Any], n_words: int) -> SubwordTable | None:
    """Return the n-grams of a run, memory-mapped; None if it was trained without."""
    setting, n_buckets = options.get("subwords"), options.get("buckets")
    if setting is None and not (run / INPUTS).is_file() and not (run / BUCKETS).is_file():
        return None
    try:
        shortest, longest = parse_subwords(str(setting))
    except SettingError:
        shortest, longest = 0, 0
    if not longest or type(n_buckets) is not int:
        raise ArtifactError(
            f"{run / 'config.json'}: subwords {setting!r} and buckets {n_buckets!r} do not "
            f"describe {INPUTS}; train the run again"
        )
    return SubwordTable(
        open_array(run / INPUTS, np.float32, 2)[n_words:],
        open_array(run / BUCKETS, np.int64, 1),
        n_buckets=n_buckets,
        shortest=shortest,
        longest=longest,
        name=str(run),
    )


def open_start(run: Path) -> WordVectors | None:
    """Open what words are without context in a run of a masked LM; None if it started at random.

    Their count vectors, and of other words the mean of their pieces. Of texts too short to count,
    of every word the mean of its pieces' vectors before training.
    """
    if (run / START).is_dir():
        return WordVectors.open(run / START)
    table = PieceTable.open(run, FIRST_VECTORS)
    if table is None or not table.rows.any():
        return None
    # in memory, since the run may be temporary
    nothing = np.empty((0, table.rows.shape[1]), np.float32)
    return WordVectors([], nothing, pieces=table.in_memory())


def _open_matrix(run: Path) -> Any:
    """Return the matrix of a run: memory-mapped if dense, in memory if sparse."""
    path = run / MATRIX
    if (run / CODES).is_file() and not path.is_file():
        return open_int8(run)
    if path.is_file() or not (run / SPARSE_MATRIX).is_file():
        return open_array(path, np.float32, 2)
    import scipy.sparse

    path = run / SPARSE_MATRIX
    try:
        with open(path, "rb") as file:  # NumPy does not close a broken archive
            matrix = scipy.sparse.csr_matrix(scipy.sparse.load_npz(file))
        matrix.check_format(full_check=True)  # a wrong index reads out of bounds
        return matrix
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise ArtifactError(f"{path}: is damaged ({error}); train the run again") from None


def note_zeros(vectors: WordVectors, where: str) -> None:
    """Name the words with a zero vector."""
    zero = np.flatnonzero(~nonzero_rows(vectors.matrix))
    if not len(zero):
        return
    note(
        f"{where}: {len(zero):,} of {len(vectors):,} words have a zero vector, of which gensim "
        f"computes no cosine without a warning: {some_words(vectors.vocabulary, zero)}"
    )


def some_words(words: Sequence[str], rows: np.ndarray) -> str:
    """Return the first words of some rows as a list, and how many more there are."""
    # rows: int64 (n,)
    shown = ", ".join(words[row] for row in rows[:_SHOWN_WORDS].tolist())
    more = f", and {len(rows) - _SHOWN_WORDS:,} more" if len(rows) > _SHOWN_WORDS else ""
    return shown + more
