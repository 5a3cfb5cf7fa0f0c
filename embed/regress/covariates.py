"""The covariates of documents: kept fields as columns of numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from firth.corpora.common.errors import SettingError
from firth.corpora.common.options import split_list
from firth.corpora.common.reporting import note
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.fields import as_number, kept_field, require_field

_TIMES = "*"  # between fields whose product is a covariate, too
_SLIPS = 0.1  # share of documents, up to which what is no number is a mistake
_NAMED = 3  # columns that a message names
_SAME = 1e-8  # of the largest number of a column
_ENDS = (0.1, 0.9)  # quantiles of a number that are compared


@dataclass(frozen=True, eq=False)
class Field:
    """A field of some documents: a number, or one of several levels."""

    name: str
    values: np.ndarray  # of documents: float64 (n,), or int64 (n,), numbers of levels
    levels: list[str]  # in alphabetical order, the first is the reference; none of a number

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return [f"{self.name}={level}" for level in self.levels[1:]] or [self.name]

    def columns_of(self, values: np.ndarray) -> np.ndarray:
        """Return the columns of some values, float64 (n, c)."""
        if not self.levels:
            return np.asarray(values, np.float64)[:, None]
        return np.eye(len(self.levels))[values][:, 1:]


@dataclass(frozen=True, eq=False)
class Group:
    """Documents that are compared with others: a level of a field, or a low or high number."""

    field: str
    name: str
    row: np.ndarray  # float64 (k,), of the design; other fields are at their means
    members: np.ndarray  # bool (n_documents,)
    occurrences: int
    clusters: int


class Covariates:
    """The design of a regression: an intercept, the columns of fields, and products of them."""

    def __init__(self, fields: Sequence[Field], products: Sequence[tuple[str, ...]]) -> None:
        self._fields = {field.name: field for field in fields}
        self._products = products
        self.names = ["(intercept)"]
        self._fields_of: list[tuple[str, ...]] = [()]  # of each column
        for term in [*((field.name,) for field in fields), *products]:
            crossed = list(product(*(self._fields[name].columns for name in term)))
            self.names += map(" x ".join, crossed)
            self._fields_of += [term] * len(crossed)
        self._columns = np.arange(len(self.names))  # of the full design

    def design(self, columns: Mapping[str, np.ndarray] | None = None) -> np.ndarray:
        """Return the design of all documents, or of columns of each field, float64 (n, k)."""
        parts = columns or {f.name: f.columns_of(f.values) for f in self._fields.values()}
        stacked = [np.ones((len(next(iter(parts.values()))), 1)), *parts.values()]
        for term in self._products:
            crossed = parts[term[0]]
            for name in term[1:]:
                crossed = (crossed[:, :, None] * parts[name][:, None]).reshape(len(crossed), -1)
            stacked.append(crossed)
        return np.concatenate(stacked, axis=1)[:, self._columns]

    def keep_distinct(self) -> None:
        """Leave out products that are known from columns before them; raise for such fields."""
        design = self.design()
        scaled = design / np.maximum(np.abs(design).max(axis=0), 1e-300)
        kept = [0]
        for n in range(1, len(self.names)):
            weights = np.linalg.lstsq(scaled[:, kept], scaled[:, n], rcond=None)[0]
            if np.abs(scaled[:, kept] @ weights - scaled[:, n]).max() > _SAME:
                kept.append(n)
                continue
            alike = [self.names[k] for k, w in zip(kept, weights, strict=True) if abs(w) > _SAME]
            named = " and ".join(alike[-_NAMED:])
            known = f"{self.names[n]} is {f'known from {named}' if alike else '0'}"
            if len(self._fields_of[n]) == 1:
                raise SettingError(
                    f"{known} in all documents with the word; leave one of them out of `by`"
                )
            note(f"{known} in all documents with the word: left out")
        self._columns = np.array(kept)
        self.names = [self.names[n] for n in kept]
        self._fields_of = [self._fields_of[n] for n in kept]

    def groups(self, places: np.ndarray, clusters: np.ndarray) -> list[Group]:
        """Return the groups of each field, the reference level or the low number first."""
        # places, clusters: int64 (n,): the document and the cluster of each occurrence
        sizes = np.bincount(places)
        columns = {f.name: f.columns_of(f.values) for f in self._fields.values()}
        means = {name: np.average(each, 0, sizes)[None] for name, each in columns.items()}
        found = []
        for field in self._fields.values():
            if field.levels:
                names, values = field.levels, np.arange(len(field.levels))
                members = [field.values == value for value in values]
            else:
                values = np.quantile(np.repeat(field.values, sizes), _ENDS)
                if values[0] == values[1]:
                    values = np.array([field.values.min(), field.values.max()])
                names = [f"{value:.6g}" for value in values]
                members = [field.values <= values[0], field.values >= values[1]]
            for name, column, inside in zip(names, field.columns_of(values), members, strict=True):
                row = self.design(means | {field.name: column[None]})[0]
                of_members = clusters[inside[places]]
                n_clusters = len(np.unique(of_members))
                found.append(Group(field.name, name, row, inside, len(of_members), n_clusters))
        return found

    def clusters_of(self, places: np.ndarray, clusters: np.ndarray) -> list[int]:
        """Return in how many clusters each column is not 0, or a field at its reference level.

        That is the smallest of these numbers: none of them may be small. A number with two values
        is as two levels.
        """
        counts = []
        for column, names in zip(self.design().T, self._fields_of, strict=True):
            parts = [column != 0]
            for field in map(self._fields.__getitem__, names):
                values = np.unique(field.values)
                compared = values if len(values) == 2 else values[: bool(field.levels)]
                parts += [field.values == value for value in compared]
            counts.append(min(len(np.unique(clusters[part[places]])) for part in parts))
        return counts

    @property
    def references(self) -> list[str]:
        """The levels that others are compared with."""
        return [f"{f.name}={f.levels[0]}" for f in self._fields.values() if f.levels]


def read_terms(corpus: Corpus, by: str) -> list[tuple[str, ...]]:
    """Return kept fields, and products of several; ``a*b`` stands for a, b and their product."""
    terms = [tuple(map(str.strip, term.split(_TIMES))) for term in split_list(by)]
    if not terms or any("" in term for term in terms):
        raise SettingError(f"{by!r}: expected kept fields, such as party,year or party*year")
    for name in (name for term in terms for name in term):
        require_field(corpus, name)
    return terms


def read_covariates(
    corpus: Corpus, terms: Sequence[tuple[str, ...]], documents: np.ndarray
) -> tuple[Covariates, np.ndarray]:
    """Read the covariates of some documents, and which of these have all of them."""
    # documents: int64 (n,); returns bool (n,)
    names = list(dict.fromkeys(name for term in terms for name in term))
    texts = {name: np.array(kept_field(corpus, name), object)[documents] for name in names}
    complete = np.all([[bool(text.strip()) for text in each] for each in texts.values()], axis=0)
    if not complete.all():
        lacking = [n for n, each in texts.items() if not all(text.strip() for text in each)]
        note(
            f"{int((~complete).sum()):,} of {len(documents):,} documents with the word have no "
            f"{' or '.join(lacking)}: left out"
        )
    if not complete.any():
        raise SettingError(f"no document with the word has all of {', '.join(names)}; pass others")
    fields = [_field(name, [text.strip() for text in texts[name][complete]]) for name in names]
    return Covariates(fields, [term for term in terms if len(term) > 1]), complete


def _field(name: str, texts: Sequence[str]) -> Field:
    """Return a field as numbers if all of its values are, else as levels."""
    numbers = [as_number(text) for text in texts]
    if len(set(texts)) < 2:
        raise SettingError(
            f"{name} is {texts[0]!r} in all documents with the word; leave it out of `by`"
        )
    others = [text for text, number in zip(texts, numbers, strict=True) if number is None]
    if not others:
        return Field(name, np.array(numbers, np.float64), [])
    if len(others) <= _SLIPS * len(texts):
        raise SettingError(
            f"{name} is {others[0]!r} in a document, and a number or a date in most; correct it"
        )
    levels, values = np.unique(texts, return_inverse=True)
    return Field(name, values, levels.tolist())
