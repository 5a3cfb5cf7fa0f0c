"""Probes on labeled text: scores of its own items, held out in folds, and of new items."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np

from firth.corpora.common.errors import SourceError
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.fields import quoted
from firth.embed.compare.datasets.labeled_sentences import LabeledSentences
from firth.embed.compare.datasets.parts import DEV, TEST, TRAIN, Parts, set_name
from firth.embed.compare.datasets.tagged_words import TaggedWords, read_tagged
from firth.embed.compare.inputs.encoder_access import encoder_of
from firth.embed.compare.probes.examples import Examples, input_sources
from firth.embed.compare.probes.linear import train_linear
from firth.embed.compare.probes.progress import share, steps
from firth.embed.compare.probes.vector_probes import label_scores, out_of_fold
from firth.embed.compare.tasks.described_words import LabelsTask
from firth.embed.compare.tasks.sentences.folds import read_folds
from firth.embed.compare.tasks.sentences.inputs import (
    mean_pool,
    state_means,
    static_sentences,
    words_looked_up,
    words_read,
)
from firth.embed.compare.tasks.sentences.items import SentenceSet
from firth.embed.compare.tasks.sentences.pooling_probes import MeanProbe, train_mean_probe
from firth.embed.compare.tasks.tagging.inputs import N_FLAGS, sentences_of
from firth.embed.compare.tasks.tagging.items import TaggingSet
from firth.embed.compare.tasks.tagging.task import TaggingTask
from firth.embed.protocols import StaticVectors

NEW = 3  # the role of new items beside TRAIN, DEV and TEST, which is the first fold


@dataclass(frozen=True, eq=False)
class Tunable:
    """All items as an encoder reads them, to be trained with it."""

    sentences: Sequence[Sequence[str]]
    owners: np.ndarray  # int64 (n_words,): the item of each word of the sentences
    labels: np.ndarray  # int64 (n_items,)
    roles: np.ndarray  # int64 (n_items,)


@dataclass(frozen=True, eq=False)
class Probed:
    """Scores of labeled items, by probes that did not learn from them, and of new items."""

    name: str  # of the labeled set
    classes: Sequence[str]
    scores: np.ndarray  # float (n, L): log probabilities up to a constant; -inf if impossible
    gold: np.ndarray  # int64 (n,)
    folds: np.ndarray  # int64 (n,)
    units: np.ndarray | None  # int64 (n, 1): what the bootstrap draws; None for items
    new_scores: np.ndarray  # float (m, L)
    known: np.ndarray  # bool (m,): which new items have anything with a vector
    tunable: Tunable | None = None


def probe_sentences(
    vectors: StaticVectors, paths: Sequence[Path], texts: Sequence[str], config: CompareConfig
) -> Probed:
    """Train the probe on means of ``compare``; layer and decay are chosen anew in each fold."""
    folds = read_folds(paths[0], config, *paths[1:])
    new = LabeledSentences(tuple(texts), ("",) * len(texts))
    whole = SentenceSet(replace(folds[0].parts, test=new), config.seed)
    encoder, n_given = encoder_of(vectors), len(folds[0].texts)
    words = [
        words_looked_up(vectors, text) if encoder is None else words_read(encoder, text)
        for text in whole.texts
    ]
    known = np.array([len(sentence) > 0 for sentence in words])
    best: dict[int, MeanProbe] = {}
    for layer in steps(list(input_sources(encoder, static_too=False).values())):
        if encoder is None or layer is None:
            inputs = static_sentences(vectors, words)
            known = inputs.with_any(inputs.table[inputs.bags.rows, -N_FLAGS] < 1)
            table = mean_pool(inputs)
        else:
            table = state_means(encoder, words, [layer])
        for number, part in enumerate(steps([*folds, whole])):
            tried = train_mean_probe(table[: len(part.texts)], part)
            if number not in best or tried.accuracy > best[number].accuracy:
                best[number] = tried
    n_train = whole.parts.train.n_sentences
    scores, numbers = np.full((n_train, len(whole.classes)), -np.inf), np.zeros(n_train, np.int64)
    for number, fold in enumerate(folds):
        out = fold.places(TEST)
        columns = np.searchsorted(whole.classes, fold.classes)
        scores[np.ix_(out, columns)], numbers[out] = best[number].scores, number
    tunable = Tunable(
        words, np.repeat(np.arange(len(words)), [len(each) for each in words]), whole.labels,
        np.append(folds[0].roles, np.full(len(texts), NEW)),
    )  # fmt: skip
    return Probed(
        folds[0].parts.name, whole.classes, scores, whole.labels[:n_train], numbers, None,
        best[len(folds)].scores, known[n_given:], tunable,
    )  # fmt: skip


def probe_tokens(
    vectors: StaticVectors, paths: Sequence[Path], new: TaggedWords, config: CompareConfig
) -> Probed:
    """Train the linear probe of ``compare``; folds are of what it is trained on, by sentences."""
    train, *dev = map(read_tagged, paths)
    parts = Parts(set_name(paths[0]), train, new, dev[0] if dev else None)
    words = TaggingSet(parts, config.seed)
    learning, labels, n_labels = words.places(TRAIN), words.labels, len(words.classes)
    _, units = np.unique(words.sentences[learning], return_inverse=True)
    if n_labels < 2 or len(units) == 0 or units[-1] < 1:
        few = f"{n_labels} label" if n_labels < 2 else f"{train.n_sentences} sentences"
        raise SourceError(f"{paths[0]}: has {few}; a probe needs two labels and three sentences")
    with share(0, 0.3):
        best, _ = TaggingTask(parts.name, words, False).train_sources(vectors)
    table, rows = best.inputs.table, best.inputs.rows[:, None]
    order = np.random.default_rng([config.seed, config.folds]).permutation(units[-1] + 1)
    numbers, of_dev = (order % config.folds)[units], words.places(DEV)
    held_out = Examples(rows[of_dev], labels[of_dev])
    scores = np.empty((len(learning), n_labels))
    with share(0.3, 1):
        for fold in steps(np.unique(numbers).tolist()):
            out, others = learning[numbers == fold], learning[numbers != fold]
            found = train_linear(table, Examples(rows[others], labels[others]), held_out, n_labels)
            scores[numbers == fold] = found.score(rows[out])
    asked, encoder, tunable = words.places(TEST), encoder_of(vectors), None
    if encoder is not None:
        cut = [encoder.words(word) for word in words.words]
        roles = np.where(words.roles == TEST, NEW, words.roles)
        roles[learning[numbers == 0]] = TEST
        owners = np.repeat(np.arange(len(cut)), [len(each) for each in cut])
        read = sentences_of(words.words, cut, words.offsets, words.gaps)
        tunable = Tunable(read, owners, labels, roles)
    return Probed(
        parts.name, words.classes, scores, labels[learning], numbers, units[:, None],
        best.probe.score(rows[asked]), ~best.inputs.zero[asked], tunable,
    )  # fmt: skip


def probe_words(
    vectors: StaticVectors, task: LabelsTask, path: Path, words: Sequence[str]
) -> Probed:
    """Train the probe of ``compare`` on words or sequences with a label each."""
    several = next((each for each in task.values if len(each) > 1), None)
    if several is not None:
        raise SourceError(
            f"{path}: a word has the labels {quoted(', '.join(several))}; label prints one: name "
            "a column, as FILE:COLUMN"
        )
    chosen = np.flatnonzero(task.known(vectors))
    classes = sorted(set(chain(*(task.values[item] for item in chosen.tolist()))))
    if len(classes) < 2:
        raise SourceError(f"{path}: its words with a vector have {len(classes)} labels; two needed")
    both = replace(task, words=[*task.words, *words])
    items = np.ones(len(both.words), bool)
    items[: len(task.words)] = task.known(vectors)
    table, _ = both.table(vectors, items, "zero")
    given, gold, numbers = table[: len(chosen)], task.gold_of(chosen.tolist()), task.numbers[chosen]
    with share(0, 0.9):
        likely, _ = out_of_fold(label_scores, given, gold, numbers)
    new = label_scores(given, gold, table[len(chosen) :])
    groups = np.unique(np.array(task.groups), return_inverse=True)[1][chosen]
    with np.errstate(divide="ignore"):
        scores, new_scores = np.log(likely), np.log(new)
    known = both.known(vectors)[len(task.words) :]
    return Probed(
        task.dataset, classes, scores, gold.argmax(axis=1), numbers, groups[:, None], new_scores,
        known,
    )  # fmt: skip
