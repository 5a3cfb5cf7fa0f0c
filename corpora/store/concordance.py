"""Concordances: occurrences of a word or phrase with the text around them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firth.corpora.common.display import Table
from firth.corpora.common.errors import SettingError
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.fields import citation, cited_fields, documents_where
from firth.corpora.store.search import Hits, Search
from firth.corpora.store.spelling import Spelling

ORDERS = ("text", "left", "right", "sample")
_SORTED_BY = 3  # words on the left or right that decide the order


@dataclass(frozen=True)
class Line:
    """One occurrence with its surroundings."""

    document: int  # number of the document in the corpus, from 1
    source: str  # the file that the document is from
    record: int  # its line or record in the source, from 1
    token: int  # number of the first found token in the document, from 1
    left: str  # before it, in the same document; as written if the corpus keeps its text
    found: str
    right: str
    fields: dict[str, str]  # kept fields of the document
    citation: str  # where it is from, by some of the fields

    def __str__(self) -> str:
        return f"{self.left} {self.found} {self.right}".strip()


@dataclass(frozen=True, repr=False)
class Concordance(Table):
    """Some lines of all that were found."""

    lines: list[Line]
    n_found: int

    _columns = ("left", "found", "right", "document", "source", "record", "token")
    _right = ("left",)

    def __repr__(self) -> str:
        return f"<Concordance: {len(self.lines):,} of {self.n_found:,} lines>"

    def _records(self) -> list[dict[str, Any]]:
        return [
            {name: getattr(line, name) for name in self._columns} | line.fields
            for line in self.lines
        ]


def concordance(
    corpus: Corpus | str | os.PathLike[str],
    query: str,
    *,
    lines: int | None = 100,
    order: str = "text",
    width: int = 8,
    near: str | None = None,
    window: int = 5,
    documents: str | None = None,
    seed: int = 1,
    cite: str | None = None,
) -> Concordance:
    """Return occurrences of a query with ``width`` words on each side.

    Parameters
    ----------
    corpus : Corpus, str or path
        All of its documents are searched. The first use indexes it.
    query : str
        A word or phrase, normalized as the text was. ``*`` stands for any characters of a word,
        and alone for any word.
    lines : int, optional
        Lines at most; all with None.
    order : {'text', 'left', 'right', 'sample'}
        Order of the text, alphabetical by the words on one side, or a random sample in order of
        the text.
    width : int
        Words on each side; they do not leave the document.
    near, window : str, int
        Only occurrences with this other word or phrase at most so many words away.
    documents : str, optional
        Only documents with ``FIELD=VALUE,...``; a value may be a range of numbers or ISO dates:
        ``author=Fontane,year=1880-``.
    seed : int
        Seed of the sample.
    cite : str, optional
        Fields by which lines say where they are from; by default ``author, title, year``, or
        those of them that the corpus keeps.

    Returns
    -------
    Concordance
        ``lines``, and ``n_found``, how many there are in all.

    Raises
    ------
    UnknownWordError
        A word of a query is not in the corpus.
    SettingError
        An option is out of range, or no document has the field or value.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from firth import build_corpus
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_text("The cat sat. The cat slept.")
    ...     corpus = build_corpus(f"{folder}/a.txt", f"{folder}/corpus")
    ...     [(line.left, line.right) for line in concordance(corpus, "cat", width=2).lines]
    [('the', 'sat .'), ('. the', 'slept .')]
    """
    if order not in ORDERS:
        raise SettingError(f"`order={order}`: expected one of {', '.join(ORDERS)}")
    require_at_least(1, lines=lines, width=width, window=window)
    require_at_least(0, seed=seed)
    opened = Corpus.open(corpus)
    search = Search(opened)
    if order == "text" and near is None and documents is None:
        n_found = search.count(query)
        if n_found is not None:  # do not look for more than what is shown
            hits = search.find(query, lines)
            return Concordance(lines_of(search, hits, width, cite), n_found)
    hits = search.find(query)
    if near is not None:
        hits = search.near(hits, search.find(near), window)
    if documents is not None:
        chosen = documents_where(opened, documents)
        hits = hits[chosen[search.documents_of(hits.starts)]]
    shown = _choose(search, hits, lines, order, seed)
    return Concordance(lines_of(search, shown, width, cite), len(hits))


def require_at_least(least: int, **values: int | None) -> None:
    """Raise for the first value that is smaller."""
    for name, value in values.items():
        if value is not None and value < least:
            raise SettingError(f"`{name}` must be at least {least}, got {value}")


def lines_of(search: Search, hits: Hits, width: int, cite: str | None = None) -> list[Line]:
    """Return occurrences with up to ``width`` words on each side, cited by some fields."""
    cited = cited_fields(search.corpus, cite)
    documents = search.documents_of(hits.starts)
    firsts = np.maximum(search.document_starts[documents], hits.starts - width)
    lasts = np.minimum(search.document_starts[documents + 1], hits.stops + width)
    found = []
    for number, start, (left, middle, right) in zip(
        documents.tolist(),
        hits.starts.tolist(),
        Spelling(search).parts((firsts, hits.starts, hits.stops, lasts)),
        strict=True,
    ):
        source, record = search.origin(number)
        fields = search.fields(number)
        found.append(
            Line(
                document=number + 1,
                source=source,
                record=record,
                token=start - int(search.document_starts[number]) + 1,
                left=left,
                found=middle,
                right=right,
                fields=fields,
                citation=citation(fields, cited, source),
            )
        )
    return found


def _choose(search: Search, hits: Hits, n_lines: int | None, order: str, seed: int) -> Hits:
    """Return the occurrences to show, in their order."""
    if order == "text":
        return hits[slice(n_lines)]
    if order == "sample":
        return hits.sample(len(hits) if n_lines is None else n_lines, seed)
    places: Sequence[np.ndarray] = [
        hits.starts - distance if order == "left" else hits.stops + distance - 1
        for distance in range(1, _SORTED_BY + 1)
    ]
    documents = search.documents_of(hits.starts)
    ranks = np.append(search.corpus.vocabulary.ranks, -1)  # nothing comes first
    keys = []
    for place in places:
        types = search.take(place)
        types[search.documents_of(place) != documents] = -1
        keys.append(ranks[types])
    return hits[np.lexsort(keys[::-1])[:n_lines]]
