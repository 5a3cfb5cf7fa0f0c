"""WordVectors: a vocabulary and a matrix, however they came to be."""

import zipfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from corpora.artifacts.arrays import save_array
from corpora.artifacts.artifact import MAKER
from corpora.common.errors import ArtifactError, SettingError
from embed.vectors.run_files import open_array, run_options
from embed.vectors.subwords import SubwordTable, parse_subwords
from embed.vectors.wordlist import VOCABULARY, StoredVocabulary, index_words, write_words

MATRIX = "vectors.npy"
SPARSE_MATRIX = "vectors.npz"
INPUTS = "inputs.npy"
BUCKETS = "buckets.npy"


class WordVectors:
    """Words and their vectors; a :class:`~embed.protocols.StaticVectors`. Never changed once made.

    Parameters
    ----------
    vocabulary : sequence of str
        The words; position = row.
    matrix : float32 (V, D) or scipy.sparse CSR (V, D)
        The vectors, perhaps memory-mapped.
    counts : int64 (V,), optional
        Occurrences of each word in the corpus.
    text : TextSettings or mapping, optional
        How the corpus was cut into words (or its JSON form); None for vectors
        of unknown origin.
    name : str
        What messages and tables call these vectors.
    subwords : SubwordTable, optional
        Of what the vectors of words outside the vocabulary are composed.

    Raises
    ------
    ArtifactError
        There are not as many words as rows, or the n-grams have another width.

    Examples
    --------
    >>> vectors = WordVectors(["king", "queen"], np.eye(2, dtype=np.float32))
    >>> vectors.row("queen"), vectors.row("kign")
    (1, None)
    """

    composed_of = "n-grams"  # what makes the vectors of unseen words, where they have any

    def __init__(
        self,
        vocabulary: Sequence[str],
        matrix: Any,
        *,
        counts: np.ndarray | None = None,
        text: Any = None,
        name: str = "vectors",
        subwords: SubwordTable | None = None,
    ) -> None:
        if matrix.ndim != 2 or len(vocabulary) != matrix.shape[0]:
            raise ArtifactError(
                f"{name}: {len(vocabulary)} words do not fit a matrix of shape {matrix.shape}"
            )
        if subwords is not None and subwords.rows.shape[1] != matrix.shape[1]:
            raise ArtifactError(
                f"{name}: n-grams of {subwords.rows.shape[1]} dimensions do not fit words of "
                f"{matrix.shape[1]}"
            )
        self._vocabulary = vocabulary
        self._matrix = matrix
        self._counts = counts
        self._text = text
        self._name = name
        self._subwords = subwords

    @classmethod
    def open(cls, run: str | Path) -> "WordVectors":
        """Open a finished run, memory-mapped: nothing is read before it is asked for.

        Parameters
        ----------
        run : str or Path
            A run directory with ``vocabulary.tsv`` and ``vectors.npy`` (or
            ``vectors.npz`` when sparse); ``inputs.npy`` and ``buckets.npy``
            where it was trained with n-grams.

        Returns
        -------
        WordVectors
            With the text settings of the run's ``config.json``.

        Raises
        ------
        ArtifactError
            A file is missing, damaged, or does not fit the others, or the run
            is not finished.
        """
        run = Path(run)
        if (run / MAKER).is_file():
            raise ArtifactError(f"{run}: is unfinished; run the command that was making it again")
        matrix = _open_matrix(run)
        vocabulary = StoredVocabulary(run / VOCABULARY)
        options = run_options(run)
        return cls(
            vocabulary,
            matrix,
            text=options.get("text"),
            name=str(run),
            subwords=_open_subwords(run, options, matrix.shape[0]),
        )

    def save(self, directory: Path) -> None:
        """Write ``vocabulary.tsv`` and ``vectors.npy`` (``vectors.npz`` when sparse).

        The rows of n-grams are not written: they are the trainer's to write.

        Parameters
        ----------
        directory : Path
            An existing directory, usually one that ``new_artifact`` yields.
        """
        write_words(directory / VOCABULARY, self.vocabulary, self.counts)
        if isinstance(self.matrix, np.ndarray):
            save_array(directory / MATRIX, np.asarray(self.matrix, dtype=np.float32))
        else:
            import scipy.sparse

            scipy.sparse.save_npz(directory / SPARSE_MATRIX, self.matrix)

    @property
    def vocabulary(self) -> Sequence[str]:
        """The words; position = row."""
        return self._vocabulary

    @property
    def matrix(self) -> Any:
        """(V, D) float32, perhaps memory-mapped, or a scipy.sparse CSR matrix."""
        return self._matrix

    @property
    def name(self) -> str:
        """What messages and tables call these vectors."""
        return self._name

    @property
    def subwords(self) -> SubwordTable | None:
        """The rows of n-grams; None where unseen words have no vector."""
        return self._subwords

    @cached_property
    def counts(self) -> np.ndarray | None:
        """Occurrences of each word, int64 (V,); None where they are unknown."""
        if self._counts is None and isinstance(self._vocabulary, StoredVocabulary):
            return self._vocabulary.counts()
        return self._counts

    @cached_property
    def text(self) -> Any:
        """The corpus' text settings; None for vectors of unknown origin."""
        if not isinstance(self._text, dict):
            return self._text
        from corpora.text.segment import TextSettings

        return TextSettings.from_json(self._text)

    def row(self, word: str) -> int | None:
        """Find a word exactly as spelled in the vocabulary.

        Parameters
        ----------
        word : str
            The word.

        Returns
        -------
        int or None
            Its row in the matrix; None when it has none.
        """
        if isinstance(self._vocabulary, StoredVocabulary):
            return self._vocabulary.row(word)
        return self._index.get(word)

    def vector(self, word: str) -> np.ndarray | None:
        """Give the vector of a word, of an unseen one as composed of its n-grams.

        Parameters
        ----------
        word : str
            Exactly as spelled in the vocabulary, if it is there.

        Returns
        -------
        float32 (D,) or None
            None when it has no row and nothing is known of its n-grams.
        """
        row = self.row(word)
        if row is None:
            composed = None if self._subwords is None else self._subwords.compose(word)
            return None if composed is None or not composed.any() else composed
        vector = self._matrix[row]
        if not isinstance(self._matrix, np.ndarray):
            vector = vector.toarray().ravel()
        return np.array(vector, dtype=np.float32)

    def words(self, text: str) -> list[str]:
        """Cut text into words as the corpus was cut.

        Without text settings: the whole text if it is a word, else its parts
        between white space; as written if that has a vector, else lower-cased
        if that has one.

        Parameters
        ----------
        text : str
            A word, a phrase or a sentence.

        Returns
        -------
        list of str
            Words, whether they have a vector or not.
        """
        if self.text is not None:
            cut: list[str] = self.text.words(text)
            return cut
        whole = self._as_spelled(text)
        if self.row(whole) is not None:
            return [whole]
        return [self._as_spelled(part) for part in text.split()]

    @cached_property
    def _index(self) -> dict[str, int]:
        """Word to row."""
        return index_words(self._vocabulary)

    def _as_spelled(self, word: str) -> str:
        """The word as written, or lower-cased where only that has a vector."""
        lower = word.lower()
        return lower if self.row(word) is None and self.row(lower) is not None else word


def _open_subwords(run: Path, options: dict[str, Any], n_words: int) -> SubwordTable | None:
    """Map the rows of n-grams of a run that was trained with such."""
    setting, n_buckets = options.get("subwords"), options.get("buckets")
    if setting is None and not (run / INPUTS).is_file() and not (run / BUCKETS).is_file():
        return None
    try:
        shortest, longest = parse_subwords(str(setting))
    except SettingError:
        shortest, longest = 0, 0
    if not longest or type(n_buckets) is not int:
        raise ArtifactError(
            f"{run / 'config.json'}: subwords {setting!r} and buckets {n_buckets!r} do not say how "
            f"{INPUTS} was made; make the run again"
        )
    return SubwordTable(
        open_array(run / INPUTS, np.float32, 2)[n_words:],
        open_array(run / BUCKETS, np.int64, 1),
        n_buckets=n_buckets,
        shortest=shortest,
        longest=longest,
        name=str(run),
    )


def _open_matrix(run: Path) -> Any:
    """Map the matrix of a run, or read a sparse one."""
    path = run / MATRIX
    if path.is_file() or not (run / SPARSE_MATRIX).is_file():
        return open_array(path, np.float32, 2)
    import scipy.sparse

    path = run / SPARSE_MATRIX
    try:
        with open(path, "rb") as file:  # NumPy leaves a broken archive open
            matrix = scipy.sparse.csr_matrix(scipy.sparse.load_npz(file))
        matrix.check_format(full_check=True)  # a wrong index would read foreign memory, or crash
        return matrix
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise ArtifactError(f"{path}: is damaged ({error}); make the run again") from None
