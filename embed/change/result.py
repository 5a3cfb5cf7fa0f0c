"""What is known of words that changed: numbers, neighbors, sentences, vectors."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.common.display import Table, TableList
from firth.corpora.common.errors import UnknownWordError
from firth.corpora.common.keywords import suggesting
from firth.corpora.store.concordance import Line
from firth.corpora.text.spelling import spelled_row
from firth.embed.change.config import ChangeConfig
from firth.embed.change.periods import Periods
from firth.embed.change.sentences import sentences_of
from firth.embed.change.table import ChangeTable
from firth.embed.runs.writer import new_run
from firth.embed.vectors.change_table import CHANGE
from firth.embed.vectors.search import largest, unit_length
from firth.embed.vectors.word_vectors import WordVectors

METHOD = "change"


class TooRareError(UnknownWordError):
    """A word of the vocabulary has too few tokens in a period to be compared."""

    def __init__(self, row: int, message: str) -> None:
        super().__init__(message)
        self.row = row


def compared_row(
    word: str, periods: Periods, index: Mapping[str, int], counts: np.ndarray, min_count: int
) -> int:
    """Return the row of a word in the vocabulary; raise if it is too rare to be compared."""
    # counts: int64 (K, V), (0, V) if vectors are compared
    split = [corpus.text.words for corpus in periods.corpora[:1]]
    row = spelled_row(word, index, f"{periods.noun}s of the periods", *split)
    tokens = counts[:, row].tolist()
    if min(tokens, default=min_count) >= min_count:
        return row
    found = list(index)[row]
    has = ", ".join(f"{n:,} in {name}" for n, name in zip(tokens, periods.names, strict=True))
    raise TooRareError(
        row,
        f"{found!r} has too few tokens to be compared ({has}); pass `min_count={min(tokens)}`"
        if min(tokens)
        else f"{found!r} is missing in a period ({has})",
    )


def name_in_words(period: str) -> str:
    """Return the name of a period as the words of a run have it, without spaces."""
    return "_".join(period.split())


@dataclass(frozen=True)
class ChangedWord:
    """A word with its change."""

    word: str
    # 1 - cosine of its vectors in the first and the last period; contextual: of its mean states
    distance: float | None = None  # None if it was not compared
    pairs: float | None = None  # contextual: mean of 1 - cosine over pairs of occurrences
    low: float | None = None  # 95 % interval of the distance; contextual
    high: float | None = None
    chance: float | None = None  # typical distance by chance, the geometric mean; svd-joint
    p: float | None = None  # of a distance as large by chance; svd-joint
    q: float | None = None  # p corrected for the number of words
    steps: Sequence[float] = ()  # distances from each period to the next
    counts: Sequence[int] = ()  # tokens in each period; empty if vectors are compared
    shares: Sequence[float] = ()  # share of these in the document that has most of them
    one_document: bool = False  # whether that is half or more in a period
    neighbors: Sequence[list[str]] = ()  # nearest words in each period
    lines: Sequence[list[Line]] = ()  # sampled occurrences in each period
    missing: str | None = None  # why it was not compared


@suggesting
@dataclass(frozen=True, eq=False, repr=False)
class WordChanges(Table):
    """The change of words between periods, made by :func:`firth.word_changes`.

    Attributes
    ----------
    table : ChangeTable
        A row for each tested word, the surest change first: arrays ``words``, ``distances``,
        ``p``, ``q``, ``chance``, ``counts`` and others.
    vectors : float32 (K, V, D)
        Vectors of every word in every period, in one space; zero where it has none.
    vocabulary : list of str
        The words of the rows of ``vectors``, most frequent first.
    counts : int64 (K, V)
        Tokens in each period; (0, V) of vectors, which have no text.
    n_untested : int
        Words that are as frequent on average, but too rare in a period.
    no_p : str or None
        Why there is no p.
    config : ChangeConfig
        The settings.
    periods : Periods
        The documents of each period.
    recipe : dict
        How the vectors were made, as JSON data: ``training`` settings, or the ``runs`` they are of.
    """

    table: ChangeTable
    vectors: np.ndarray
    vocabulary: list[str]
    counts: np.ndarray
    n_untested: int
    no_p: str | None
    config: ChangeConfig
    periods: Periods
    recipe: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<WordChanges: {len(self.table):,} words in {', '.join(self.names)}>"

    def _records(self) -> list[dict[str, Any]]:
        columns = {
            name: [float(c or "nan") if name != "word" and isinstance(c, str) else c for c in cells]
            for name, cells in self.table.columns().items()
        }
        rows = zip(*columns.values(), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    @property
    def names(self) -> list[str]:
        """The names of the periods."""
        return self.periods.names

    def row(self, word: str) -> int:
        """Return the row of a word in the table.

        Parameters
        ----------
        word : str
            A word, read as the text was.

        Returns
        -------
        int
            Its place among the tested words.

        Raises
        ------
        UnknownWordError
            The word was not tested.
        """
        row = compared_row(word, self.periods, self._index, self.counts, self.config.min_count)
        found = self._rows.get(self.vocabulary[row])
        if found is None:
            raise UnknownWordError(
                f"{self.vocabulary[row]!r} has no vector in a period, or was not compared"
            )
        return found

    def describe(
        self,
        words: Sequence[str] | None = None,
        *,
        top: int | None = 20,
        k: int = 5,
        lines: int = 0,
        cite: str | None = None,
    ) -> list[ChangedWord]:
        """Return some words with their neighbors and occurrences.

        ``missing`` says why a word was not compared, such as one that is too rare in a period,
        which has neighbors in the others.

        Parameters
        ----------
        words : sequence of str, optional
            By default those that changed most surely.
        top : int, optional
            How many without ``words``; all with None.
        k : int
            Neighbors in each period.
        lines : int
            Occurrences in each period, a random sample.
        cite : str, optional
            Fields by which they say where they are from, as in ``concordance``.

        Returns
        -------
        list of ChangedWord
            In the order of the table, or of ``words``.

        Raises
        ------
        SettingError
            There is no text that lines are of.
        """
        asked = self.table.words[:top] if words is None else dict.fromkeys(words)
        found = [self._found(word) for word in asked]
        names = [word.word for word in found if word.word in self._index]
        near = dict(zip(names, self.neighbors(names, k), strict=True))
        found_lines = sentences_of(self.periods, names, lines, self.config.seed, cite)
        sampled = dict(zip(names, found_lines, strict=True))
        nothing: list[Any] = [[] for _ in self.names]
        return TableList(
            dataclasses.replace(
                word, neighbors=near.get(word.word, nothing),
                lines=sampled.get(word.word, nothing),
            )
            for word in found
        )  # fmt: skip

    def neighbors(self, words: Sequence[str], k: int) -> list[list[list[str]]]:
        """Return the nearest words of each word in each period.

        Parameters
        ----------
        words : sequence of str
            Words of the vocabulary.
        k : int
            Neighbors in each period, among words with ``min_count`` tokens there.

        Returns
        -------
        list of list of list of str
            For each word a list for each period, nearest first.
        """
        rows = [self._index[word] for word in words]
        found: list[list[list[str]]] = [[] for _ in words]
        counts = self.counts if len(self.counts) else [self.config.min_count] * len(self.names)
        for space, tokens in zip(self.vectors, counts, strict=True):
            units = unit_length(space.astype(np.float64))
            cosines = (units[rows] @ units.T).astype(np.float32)
            cosines[:, tokens < self.config.min_count] = -np.inf
            cosines[~units[rows].any(axis=1)] = -np.inf
            cosines[np.arange(len(rows)), rows] = -np.inf  # the word itself
            nearest = largest(cosines, min(k, cosines.shape[1])) if rows else np.empty((0, 0), int)
            for each, columns, values in zip(found, nearest.tolist(), cosines, strict=True):
                each.append([self.vocabulary[c] for c in columns if np.isfinite(values[c])])
        return found

    def word_vectors(self) -> WordVectors:
        """Return the vectors of all words in all periods, named ``word@period``.

        Words without a vector in a period are left out there. Spaces in the name of a period
        become ``_``, as most formats of vectors have no room for them.
        """
        kept = np.argwhere(self.vectors.any(axis=2).T)[:, ::-1]  # (n, 2): period and row
        counts = self.counts[tuple(kept.T)] if len(self.counts) else None
        if counts is not None:
            order = np.argsort(-counts, kind="stable")
            kept, counts = kept[order], counts[order]
        names = [name_in_words(name) for name in self.names]
        words = [f"{self.vocabulary[row]}@{names[period]}" for period, row in kept.tolist()]
        return WordVectors(words, self.vectors[tuple(kept.T)], counts=counts, name=METHOD)

    def save(self, out: str | Path, *, force: bool = False) -> WordVectors:
        """Write a run with the vectors and ``change.tsv``.

        Parameters
        ----------
        out, force
            As of :meth:`firth.WordVectors.save`, whose ArtifactError is also raised.

        Returns
        -------
        WordVectors
            Opened from the run.
        """
        options = dataclasses.asdict(self.config)
        del options["method"]  # that of the run is "change"; see the training
        options["dim"] = self.vectors.shape[2]
        corpora = [corpus.reference for corpus in self.periods.corpora]
        maker = {"command": METHOD, "periods": self.names, **options}
        with new_run(Path(out), maker, force=force) as run:
            self.word_vectors().write(run.path)
            self.table.write(run.path / CHANGE)
            options |= {
                "by": self.periods.by,
                "within": list(self.periods.within),
                "periods": self.names,
                "untested": self.n_untested,
                "no_p": self.no_p,
                **self.recipe,
            }
            run.describe(METHOD, options, None, seeds=[self.config.seed], corpora=corpora)
        return WordVectors.open(out)

    def _found(self, word: str) -> ChangedWord:
        """Return the numbers of a word, or why it has none."""
        table = self.table
        try:
            row = self.row(word)
        except TooRareError as error:
            counts = self.counts[:, error.row].tolist()
            return ChangedWord(self.vocabulary[error.row], counts=counts, missing=str(error))
        except UnknownWordError as error:
            return ChangedWord(word, missing=str(error))
        optional: dict[str, Any] = {
            name: None if (v := getattr(table, name)) is None or np.isnan(v[row]) else float(v[row])
            for name in ("pairs", "low", "high", "chance", "p", "q")
        }
        return ChangedWord(
            table.words[row],
            distance=float(table.distances[row]),
            **optional,
            steps=table.steps[row].tolist(),
            counts=table.counts[row].tolist(),
            shares=table.shares[row].tolist(),
            one_document=bool(table.one_document[row]),
        )

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.table.words)}

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.vocabulary)}
