"""Opens changes again from the run that was made of them."""

from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.artifact import verify
from firth.corpora.common.errors import ArtifactError
from firth.corpora.common.options import take
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.view import StoredText
from firth.embed.change.config import ChangeConfig
from firth.embed.change.periods import Periods, read_periods, two_corpora
from firth.embed.change.result import METHOD, WordChanges, name_in_words
from firth.embed.change.table import SHARE, STEP, ChangeTable
from firth.embed.runs.run import Run
from firth.embed.vectors.change_table import CHANGE, COUNT, damage_named, read_columns
from firth.embed.vectors.word_vectors import WordVectors

_NUMBERS = ("p", "q", "chance", "pairs", "low", "high")


def is_change(path: str | Path) -> bool:
    """Return whether a path is a run of changes."""
    return (Path(path) / CHANGE).is_file()


def open_changes(path: Path) -> WordChanges:
    """Open the changes of a run, with the corpora that they are of."""
    verify(path)
    run = Run.open(path)
    if run.method != METHOD:
        raise ArtifactError(f"{path}: not a run of change")
    options = run.options
    names: list[str] = options["periods"]
    table = _read_table(path / CHANGE, names)
    vocabulary, vectors, counts = _by_period(WordVectors.open(path), names)
    return WordChanges(
        table=table, vectors=vectors, vocabulary=vocabulary,
        counts=counts if table.counts.shape[1] else counts[:0],
        n_untested=options["untested"], no_p=options["no_p"],
        config=take(ChangeConfig, {**options, "dim": None}), periods=_periods(run, names),
        recipe={name: options[name] for name in ("training", "runs") if name in options},
    )  # fmt: skip


def _periods(run: Run, names: list[str]) -> Periods:
    """Return the documents of the periods, from the corpora as they are now."""
    corpora = []
    for made in run.provenance["corpora"]:
        corpus = Corpus.open(run.moved(Path(made["path"])))
        if corpus.fingerprint != made["fingerprint"]:
            raise ArtifactError(f"{corpus.path}: has changed since {run.path}; make the run again")
        corpora.append(corpus)
    if not corpora:
        no_text = StoredText(None, [], None)  # type: ignore[arg-type]
        return Periods(names, [], no_text, np.zeros(0, np.int64))
    if len(corpora) == 2:
        return two_corpora(*corpora)
    return read_periods(corpora[0], run.options["by"], names, run.options["within"])


def _read_table(path: Path, names: list[str]) -> ChangeTable:
    """Read the table of a run."""
    with damage_named(path):
        columns = read_columns(path)
        words = columns["word"]

        def numbers(name: str) -> np.ndarray:
            return np.array([float(cell or "nan") for cell in columns.get(name, ())])

        def by_period(start: str, periods: list[str], kind: Any = np.float64) -> np.ndarray:
            found = [numbers(start + p) for p in periods if start + p in columns]
            return np.array(found, kind).reshape(len(found), len(words)).T

        distances = numbers("distance")
        steps = by_period(STEP, names[1:])
        return ChangeTable(
            periods=names,
            words=words,
            distances=distances,
            steps=steps if steps.shape[1] else distances[:, None],
            counts=by_period(COUNT, names, np.int64),
            shares=by_period(SHARE, names),
            **{name: n for name in _NUMBERS if not np.isnan(n := numbers(name)).all()},
        )


def _by_period(vectors: WordVectors, names: list[str]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the words, and their vectors and tokens in each period, from those of word@period."""
    # returns list of V words, float32 (K, V, D) and int64 (K, V)
    ends = {f"@{name_in_words(name)}": number for number, name in enumerate(names)}
    places = []
    for word in vectors.vocabulary:
        [end] = [end for end in ends if word.endswith(end)][:1]
        places.append((ends[end], word[: -len(end)]))
    total: dict[str, int] = {}
    tokens = np.zeros(len(places), np.int64) if vectors.counts is None else vectors.counts
    for (_, word), count in zip(places, tokens.tolist(), strict=True):
        total[word] = total.get(word, 0) + count
    vocabulary = sorted(total, key=lambda word: -total[word])
    index = {word: row for row, word in enumerate(vocabulary)}
    found = np.zeros((len(names), len(vocabulary), vectors.dim), np.float32)
    counts = np.zeros((len(names), len(vocabulary)), np.int64)
    at = np.array([(number, index[word]) for number, word in places]).T
    found[tuple(at)] = vectors.matrix
    counts[tuple(at)] = tokens
    return vocabulary, found, counts
