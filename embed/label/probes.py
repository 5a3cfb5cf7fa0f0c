"""Probes on labeled text: scores of its own items, held out in folds, and of new items."""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.common.errors import SourceError
from firth.corpora.common.reporting import note
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.fields import Row, quoted
from firth.embed.compare.datasets.head import Head
from firth.embed.compare.datasets.labeled_sentences import LabeledSentences
from firth.embed.compare.datasets.parts import DEV, TEST, TRAIN, Parts, set_name
from firth.embed.compare.datasets.sentence_records import records_of
from firth.embed.compare.datasets.tagged_words import TaggedWords, looks_tagged, read_tagged
from firth.embed.compare.inputs.encoder_access import encoder_of
from firth.embed.compare.probes.examples import Examples, input_sources
from firth.embed.compare.probes.linear import train_linear
from firth.embed.compare.probes.progress import share, steps
from firth.embed.compare.probes.vector_probes import label_scores, out_of_fold
from firth.embed.compare.tasks.described_words import LabelsTask
from firth.embed.compare.tasks.sentences.folds import groups_of, read_folds
from firth.embed.compare.tasks.sentences.inputs import (
    mean_pool,
    state_means,
    static_sentences,
    words_looked_up,
    words_read,
)
from firth.embed.compare.tasks.sentences.items import SentenceSet
from firth.embed.compare.tasks.sentences.pooling_probes import train_mean_probe
from firth.embed.compare.tasks.tagging.inputs import N_FLAGS, sentences_of
from firth.embed.compare.tasks.tagging.items import TaggingSet
from firth.embed.compare.tasks.tagging.task import TaggingTask
from firth.embed.contextual.encoded_text import text_lines
from firth.embed.protocols import ContextualEncoder, StaticVectors

Source = str | os.PathLike[str] | Sequence[str]  # a file, ``-``, or lines
NEW = 3  # the role of new items beside TRAIN, DEV and TEST, which is the first fold


@dataclass(frozen=True, eq=False)
class Probed:
    """Scores of labeled items, by probes that did not learn from them, and of new items."""

    name: str  # of the labeled set
    classes: Sequence[str]
    scores: np.ndarray  # float (n, L): log probabilities up to a constant; -inf if impossible
    gold: np.ndarray  # int64 (n,)
    folds: np.ndarray  # int64 (n,)
    units: np.ndarray | None  # int64 (n, 1): what the bootstrap draws; None for items
    texts: Sequence[str]  # the new items
    new_scores: np.ndarray  # float (m, L)
    known: np.ndarray  # bool (m,): which new items have anything with a vector
    numbers: Sequence[int]  # of the lines, or of the sentences of tokens
    # for an encoder: all sentences, and the numbers of words, labels and roles of the items
    tunable: tuple[Sequence[Sequence[str]], Sequence[int], np.ndarray, np.ndarray] | None = None


def probe_sentences(
    vectors: StaticVectors, path: Path, source: Source, config: CompareConfig
) -> Probed:
    """Train the probe on means of ``compare``; layer and decay are chosen anew in each fold."""
    texts, folds, encoder = _lines(source), read_folds(path, config), encoder_of(vectors)
    _note_labels(texts, {*folds[0].classes})
    new = LabeledSentences(tuple(texts), ("",) * len(texts))
    whole = SentenceSet(replace(folds[0].parts, test=new), config.seed)
    words = [
        words_looked_up(vectors, text) if encoder is None else words_read(encoder, text)
        for text in whole.texts
    ]
    known = np.zeros(0) if encoder is None else _covered(encoder, words)
    by_layer = []
    for layer in steps(list(input_sources(encoder, static_too=False).values())):
        if encoder is None or layer is None:
            inputs = static_sentences(vectors, words)
            known = inputs.with_any(inputs.table[inputs.bags.rows, -N_FLAGS] < 1)
            table = mean_pool(inputs)
        else:
            table = state_means(encoder, words, [layer])
        parts = steps([*folds, whole])
        by_layer.append([train_mean_probe(table[: len(part.texts)], part) for part in parts])
    *probes, last = (
        max(tried, key=lambda probe: probe.accuracy) for tried in zip(*by_layer, strict=True)
    )
    n_given = len(folds[0].texts)
    scores = np.full((n_given, len(whole.classes)), -np.inf)
    for fold, probe in zip(folds, probes, strict=True):
        columns = np.searchsorted(whole.classes, fold.classes)
        scores[np.ix_(fold.places(TEST), columns)] = probe.scores
    roles = np.append(folds[0].roles, [NEW] * len(texts))
    return Probed(
        folds[0].parts.name, whole.classes, scores, whole.labels[:n_given],
        np.argmax([fold.roles == TEST for fold in folds], axis=0), None,
        texts, last.scores, known[n_given:], range(1, len(texts) + 1),
        (words, [*map(len, words)], whole.labels, roles),
    )  # fmt: skip


def _covered(encoder: ContextualEncoder, items: Sequence[Sequence[str]]) -> np.ndarray:
    """Return which items, of several words each, have a word that is not [UNK], bool (n,)."""
    covered = encoder.covers([word for item in items for word in item])
    of_item = np.repeat(np.arange(len(items)), [*map(len, items)])
    return np.bincount(of_item, covered, minlength=len(items)) > 0


def probe_tokens(
    vectors: StaticVectors, path: Path, source: Source, config: CompareConfig
) -> Probed:
    """Train the linear probe of ``compare``; folds are of what it is trained on, by sentences."""
    new, train, encoder = _tokens(source), read_tagged(path), encoder_of(vectors)
    words = TaggingSet(Parts(set_name(path), train, new, None), config.seed)
    learning, labels, n_labels = words.places(TRAIN), words.labels, len(words.classes)
    if n_labels < 2 or train.n_sentences < 3:
        raise SourceError(f"{path}: a probe needs two labels or more in three sentences or more")
    with share(0, 0.3):
        best, _ = TaggingTask(words.parts.name, words, False).train_sources(vectors)
    table, rows = best.inputs.table, best.inputs.rows[:, None]
    _, units = np.unique(words.sentences[learning], return_inverse=True)
    order = np.random.default_rng([config.seed, config.folds]).permutation(units[-1] + 1)
    folds, of_dev, asked = (order % config.folds)[units], words.places(DEV), words.places(TEST)
    held_out = Examples(rows[of_dev], labels[of_dev])
    scores = np.empty((len(learning), n_labels))
    with share(0.3, 1):
        for fold in steps(np.unique(folds).tolist()):
            out, others = learning[folds == fold], learning[folds != fold]
            probe = train_linear(table, Examples(rows[others], labels[others]), held_out, n_labels)
            scores[folds == fold] = probe.score(rows[out])
    roles = np.where(words.roles == TEST, NEW, words.roles)
    roles[learning[folds == 0]] = TEST
    cut = [[word] if encoder is None else encoder.words(word) for word in words.words]
    known = ~best.inputs.zero if encoder is None else _covered(encoder, cut)
    read = sentences_of(words.words, cut, words.offsets, words.gaps)
    numbers = (words.sentences[asked] - train.n_sentences + 1).tolist()
    return Probed(
        words.parts.name, words.classes, scores, labels[learning], folds, units[:, None],
        new.words, best.probe.score(rows[asked]), known[asked], numbers,
        (read, [*map(len, cut)], labels, roles),
    )  # fmt: skip


def probe_words(
    vectors: StaticVectors, path: Path, source: Source, config: CompareConfig
) -> Probed:
    """Train the probe of ``compare`` on words or sequences with a label each."""
    texts, task = _lines(source), LabelsTask.read(path, config)
    if any(len(labels) > 1 for labels in task.values):
        raise SourceError(f"{path}: a word has several labels; name one column, as FILE:COLUMN")
    both = replace(task, words=[*task.words, *texts])
    known, n_given = both.known(vectors), len(task.words)
    chosen = np.flatnonzero(known[:n_given])
    classes = sorted({task.values[item][0] for item in chosen.tolist()})
    if len(classes) < 2:
        raise SourceError(f"{path}: a probe needs words of two labels that have vectors")
    items = np.append(known[:n_given], np.ones(len(texts), bool))
    table, _ = both.table(vectors, items, "zero")
    given, gold, folds = table[: len(chosen)], task.gold_of(chosen.tolist()), task.numbers[chosen]
    with share(0, 0.9):
        likely, _ = out_of_fold(label_scores, given, gold, folds)
    new = label_scores(given, gold, table[len(chosen) :])
    units, _ = groups_of([task.groups[item] for item in chosen.tolist()], task.by, task.folds)
    scores, new_scores = (np.log(np.maximum(shares, 1e-300)) for shares in (likely, new))
    return Probed(
        task.dataset, classes, scores, gold.argmax(axis=1), folds, units, texts, new_scores,
        known[n_given:], range(1, len(texts) + 1),
    )  # fmt: skip


def _lines(source: Source) -> list[str]:
    """Return the stripped lines of a file, of standard input, or as given."""
    name = "TEXT"
    if isinstance(source, str | os.PathLike):
        source, name = list(text_lines(Path(source))), str(source)
    lines = [line.strip() for line in source]
    if not any(lines):
        raise SourceError(f"{name}: has no text to label; pass lines")
    return lines


def _note_labels(lines: Sequence[str], classes: Collection[str]) -> None:
    """Note if lines can be read as sentences with these labels, which are read as text, too."""
    try:
        records = list(records_of(Path(), [Row(Path(), n, line) for n, line in enumerate(lines)]))
    except SourceError:
        return
    given = [row.text for row, label, _ in records if label.partition(":")[0] in classes]
    if 10 * len(given) >= 9 * len(records) > 0:
        note(f"lines have labels, such as {quoted(given[0])}, which are read as text")


def _tokens(source: Source) -> TaggedWords:
    """Read CoNLL-U or columns, or a sentence a line, cut at white space."""
    if isinstance(source, str | os.PathLike) and looks_tagged(Head.of(f"{source},{source}")):
        return read_tagged(Path(source), labeled=False)
    sentences = list(filter(None, map(str.split, _lines(source))))
    words = [word for sentence in sentences for word in sentence]
    return TaggedWords(words, [""] * len(words), offsets_of(map(len, sentences)))


# by the key of the kind of the labeled set
PROBES = {"sentences": probe_sentences, "tagging": probe_tokens, "labels": probe_words}
