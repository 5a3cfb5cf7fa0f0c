"""How much neighborhoods of words differ by chance: between runs on random parts of the text."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.common.errors import ArtifactError, FirthError
from firth.corpora.common.reporting import progress
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.view import StoredText
from firth.embed.registry import METHODS
from firth.embed.resampling.drawn_text import (
    DrawnCorpus,
    count_documents,
    joined_text,
    train_again,
    training_documents,
)
from firth.embed.runs.run import Run
from firth.embed.vectors.word_vectors import WordVectors

_METHODS = ("svd", "skipgram", "cbow")  # those that train in minutes
_FEWEST = 10  # documents of each part
# settings that change vectors by chance at most
_INCIDENTAL = ("seed", "threads", "memory", "device", "deterministic")


@dataclass(frozen=True)
class _Recipe:
    """How a run was made."""

    corpus: Corpus
    method: str
    config: Any

    def train(self, text: StoredText, copies: np.ndarray, name: str, seed: int = 0) -> WordVectors:
        """Train on other documents, with ``seed`` added to the run's own."""
        drawn = DrawnCorpus(self.corpus, text, copies, name)
        return train_again(self.method, self.config, drawn, seed)

    @property
    def decisive(self) -> dict[str, Any]:
        """The settings that change vectors."""
        options = dataclasses.asdict(self.config).items()
        return {"method": self.method} | {n: v for n, v in options if n not in _INCIDENTAL}


def random_pairs(
    a: WordVectors,
    b: WordVectors,
    measure: Callable[[WordVectors, WordVectors], np.ndarray],
    *,
    resamples: int,
    seed: int,
    corpora: Sequence[str | Path] = (),
) -> list[np.ndarray]:
    """Measure pairs of runs that differ by chance alone; a column for each, by kind of chance."""
    # returns float64 (n, resamples) for each kind
    first, second = _recipe(a, corpora), _recipe(b, corpora)
    generator = np.random.default_rng(seed)
    size, other_size = (len(training_documents(each.corpus.stored)) for each in (first, second))
    if first.corpus.fingerprint != second.corpus.fingerprint:
        # if the documents of both are drawn alike, these pairs are exchangeable with the pair of
        # the corpora (Fisher's permutation test), whatever the methods and settings
        _require(first, size)
        _require(second, other_size)
        text = joined_text(first.corpus, second.corpus)
        kinds = [_dealt(first, second, text, size, resamples, generator)]
    else:
        _require(first, size // 2)
        same = first.decisive == second.decisive
        kinds = [
            _dealt(each, each, each.corpus.stored, size // 2, resamples, generator)
            for each in ([first] if same else [first, second])
        ]
    total = 2 * resamples * len(kinds)
    measured: list[list[np.ndarray]] = [[] for _ in kinds]
    with progress("resampling", "runs") as show:
        show(0, total)
        for number, kind in enumerate(kinds):
            for done, (one, other) in enumerate(kind, 1):
                measured[number].append(measure(one, other))
                show(2 * (number * resamples + done), total)
    return [np.array(columns).T for columns in measured]


def _dealt(
    a: _Recipe,
    b: _Recipe,
    text: StoredText,
    size: int,
    resamples: int,
    generator: np.random.Generator,
) -> Iterator[tuple[WordVectors, WordVectors]]:
    """Yield runs on ``size`` random documents and on the others, or on both if made alike."""
    halves = a is b
    documents, n = training_documents(text), count_documents(text)
    for number in range(resamples):
        order = generator.permutation(documents)
        copies = [(1 + halves) * np.bincount(p, minlength=n) for p in np.split(order, [size])]
        first = a.train(text, copies[0], f"part-{number}a")
        yield first, b.train(text, copies[1], f"part-{number}b", seed=int(halves))


def _require(recipe: _Recipe, n_documents: int) -> None:
    """Raise if there are hardly different ways to deal out the documents."""
    if n_documents < _FEWEST:
        raise FirthError(
            f"{recipe.corpus.path}: chance needs parts of {_FEWEST} documents or more, and these "
            f"have {n_documents}; build it with more, shorter documents"
        )


def _recipe(vectors: WordVectors, corpora: Sequence[str | Path]) -> _Recipe:
    """Find out how a run was made; raise FirthError if it cannot be made again."""
    if vectors.path is None:
        raise ArtifactError(f"{vectors.name}: does not say what text it was trained on")
    run = Run.open(vectors.path)
    if run.method not in _METHODS:
        raise ArtifactError(f"{vectors.name}: only {', '.join(_METHODS)} are trained again")
    corpus = run.corpus(corpora)
    if corpus.sampled is not None:
        raise ArtifactError(
            f"{vectors.name}: was trained on a sample of a corpus, not on all of it"
        )
    corpus.verify()
    return _Recipe(corpus, run.method, run.settings(METHODS[run.method].config_class()))
