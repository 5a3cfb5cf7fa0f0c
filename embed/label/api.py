"""label_text: labels of new sentences, tokens or words, from labeled ones."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.common.display import Table
from firth.corpora.common.errors import SettingError, SourceError, require_torch
from firth.corpora.common.options import config_of
from firth.corpora.common.reporting import progress
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.fields import fallback_encoding
from firth.embed.compare.datasets.head import Head, Match
from firth.embed.compare.datasets.labeled_sentences import read_sentences
from firth.embed.compare.datasets.parts import DEV, TEST, TRAIN, bare_name, split_names
from firth.embed.compare.kinds import kind_and_file
from firth.embed.compare.probes.progress import reporting_shares
from firth.embed.compare.scoring.open_runs import open_runs
from firth.embed.compare.statistics.bootstrap import Resampled, draw_counts, interval, resample
from firth.embed.compare.statistics.estimators import Means
from firth.embed.compare.statistics.significance import Difference, paired
from firth.embed.compare.task import task_class
from firth.embed.compare.tasks.described_words import LabelsTask
from firth.embed.contextual.encoders import encoder_run, open_encoder
from firth.embed.label.calibration import (
    calibration_error,
    fit_temperature,
    fold_probabilities,
    probabilities,
)
from firth.embed.label.config import LabelConfig
from firth.embed.label.probes import NEW, Probed, probe_sentences, probe_tokens, probe_words
from firth.embed.label.texts import NewText, Source, new_sentences, new_tokens, new_words
from firth.embed.protocols import StaticVectors
from firth.embed.registry import FINE_TUNE, resolve
from firth.embed.vectors.one_thread import ONE_THREAD

SENTENCES, TOKENS, WORDS = "sentences", "tagging", "labels"  # keys of kinds of sets
UNKNOWN = "unknown"


@dataclass(frozen=True)
class PredictedLabel:
    """A sentence, token or word with its label and the second-likeliest; the sentence of a token.

    ``note`` is ``unknown`` if the run knows nothing of the text, else empty.
    """

    text: str
    label: str
    probability: float
    second: str
    second_probability: float
    note: str
    sentence: int | None = None


@dataclass(frozen=True)
class LabelScore:
    """How well held-out items are labeled, and how far probabilities are off, before and after."""

    items: int
    accuracy: float
    low: float  # 95 % interval of the accuracy
    high: float
    majority: float  # accuracy of the label most frequent in the other folds
    temperature: float
    error_before: float  # expected calibration error
    error_after: float


@dataclass(frozen=True, repr=False)
class LabeledText(Table):
    """Labels of new text, a row each.

    Attributes
    ----------
    rows : list of PredictedLabel
        In the order of the text.
    kind : str
        ``sentences``, ``tagging`` (tokens) or ``labels`` (words).
    labels : list of str
        What may be predicted.
    unknown : int
        Rows of which the run knows nothing; they have the label that nothing speaks against.
    held_out : LabelScore
        Of the probe, in cross-validation on the labeled file.
    tuned, probe : LabelScore or None
        With fine-tuning, of the encoder and of the probe on the same held-out tenth.
    difference : Difference or None
        Accuracy of the encoder less that of the probe there, with its interval and p.
    right : float or None
        Share of rows labeled as the new text is, if it has labels itself.
    """

    rows: list[PredictedLabel]
    kind: str
    labels: Sequence[str]
    unknown: int
    held_out: LabelScore
    tuned: LabelScore | None = None
    probe: LabelScore | None = None
    difference: Difference | None = None
    right: float | None = None

    def _records(self) -> list[dict[str, Any]]:
        return [asdict(row) for row in self.rows]


def label_text(
    run: str | os.PathLike[str],
    train: str | os.PathLike[str],
    text: Source,
    config: LabelConfig | None = None,
) -> LabeledText:
    """Label new text as a labeled file is, with calibrated probabilities.

    The probe is that of :func:`firth.compare` for the kind of the file: sentences, tokens, or words
    of a list. Temperatures are fitted on held-out folds (Guo et al. 2017, "On calibration of
    modern neural networks").

    Parameters
    ----------
    run : str or path
        A run, a vectors file or a Hugging Face folder.
    train : str or path
        Labeled sentences, tagged tokens, or words with labels, as ``firth compare`` takes them:
        ``FILE``, ``TRAIN,DEV``, ``FILE:COLUMN`` of words, ``KIND=FILE`` to name the kind.
    text : str, path or sequence of str
        What to label: a file, ``-`` for standard input, a corpus, or lines.
    config : LabelConfig, optional
        Settings.

    Returns
    -------
    LabeledText
        A row for each sentence, token or word.

    Raises
    ------
    SettingError
        If words of a list are to be learned by fine-tuning.
    SourceError
        If a file is malformed, has one label only, or the text is of another kind.
    ArtifactError
        If the run is damaged, or has no encoder to fine-tune.
    """
    config = config_of(config, LabelConfig)
    kind, path = kind_of(train)
    require_torch(f"{path}: a probe")
    if config.fine_tune and kind == WORDS:
        raise SettingError("`fine_tune` takes labeled sentences or tokens, not a list of words")
    if config.fine_tune:
        encoder_run(Path(run))  # raises now if there is none
    [vectors] = open_runs([run]).vectors.values()
    with (
        fallback_encoding(config.encoding),
        progress(f"learning labels of {path}", "percent") as show,
        reporting_shares(lambda share: show(100 * share, 100)),
        ONE_THREAD,
    ):
        probed, new, sentences = _probed(vectors, kind, path, text, config)
    likely = fold_probabilities(probed.scores, probed.gold, probed.folds)
    temperature = fit_temperature(probed.scores, probed.gold)
    held_out, _ = _score(probed, likely, probed.scores, temperature, config.seed)
    answers = probabilities(probed.new_scores, temperature)
    comparison: dict[str, Any] = {}
    if config.fine_tune:
        answers, comparison = _fine_tuned(run, probed, likely, temperature, config)
    rows = _rows(probed, answers, new[0], sentences)
    known_right = [row.label == label for row, label in zip(rows, new[1], strict=False)]
    return LabeledText(
        rows, kind, probed.classes, int((~probed.known).sum()), held_out, **comparison,
        right=float(np.mean(known_right)) if known_right else None,
    )  # fmt: skip


def _fine_tuned(
    run: str | os.PathLike[str], probed: Probed, likely: np.ndarray, temperature: float,
    config: LabelConfig,
) -> tuple[np.ndarray, dict[str, Any]]:  # fmt: skip
    """Train the encoder; return its probabilities of new items, and how it compares."""
    assert probed.tunable is not None
    items = probed.tunable
    scores = resolve(FINE_TUNE)(
        open_encoder(run), items.sentences, items.owners, items.labels, items.roles == TRAIN,
        n_labels=len(probed.classes), epochs=config.epochs, seed=config.seed,
    )  # fmt: skip
    dev, test, new = (items.roles == role for role in (DEV, TEST, NEW))
    own, chosen = fit_temperature(scores[dev], items.labels[dev]), probed.folds == 0
    tuned, first = _score(
        probed, probabilities(scores[test], own), scores[test], own, config.seed, chosen
    )
    probe, second = _score(
        probed, likely[chosen], probed.scores[chosen], temperature, config.seed, chosen
    )
    units = None if probed.units is None else probed.units[chosen]
    comparison = {"tuned": tuned, "probe": probe, "difference": paired(first, second, units)}
    return probabilities(scores[new], own), comparison


def _probed(
    vectors: StaticVectors, kind: str, path: str, text: Source, config: LabelConfig
) -> tuple[Probed, NewText, Sequence[int | None]]:
    """Read the labeled and the new text, and train probes; also return the sentences of tokens."""
    compared, paths = CompareConfig(seed=config.seed), [Path(name) for name in split_names(path)]
    if kind == SENTENCES:
        new = new_sentences(text, config.per, set(read_sentences(paths[0]).labels))
        return probe_sentences(vectors, paths, new[0], compared), new, [None] * len(new[0])
    if kind == WORDS:
        task = LabelsTask.read(Path(path), compared)
        new = new_words(text, config.per, sequences=task.of_sequences)
        probed = probe_words(vectors, task, Path(path), new[0])
        return probed, new, [None] * len(new[0])
    tokens = new_tokens(text, config.per)
    sentences = np.repeat(np.arange(tokens.n_sentences) + 1, np.diff(tokens.offsets)).tolist()
    probed = probe_tokens(vectors, paths, tokens, compared)
    labeled = bool({*tokens.labels} & {*probed.classes})  # else empty or "_"
    return probed, (tokens.words, tokens.labels if labeled else ()), sentences


def kind_of(train: str | os.PathLike[str]) -> tuple[str, str]:
    """Return the kind of a labeled file and its path, both as ``compare`` has them."""
    kind, file = kind_and_file(os.fspath(train))
    if kind is None:
        heads = [Head.of(file), Head.of(f"{file},{file}")]
        matches = {
            key: max(task_class(key).recognize(head) for head in heads)
            for key in (SENTENCES, TOKENS, WORDS)
        }
        kind = max(matches, key=matches.__getitem__)
        if not heads[0].path.exists():
            raise SourceError(f"{file}: no such file of labels")
        if matches[kind] is Match.NO:
            kind = ""
    if kind not in {SENTENCES, TOKENS, WORDS}:
        raise SourceError(
            f"{file}: has no labels of sentences, tokens or words in a known form; name its kind, "
            f"such as `{SENTENCES}={file}`"
        )
    if kind != WORDS and len(split_names(file)) > 2:
        raise SettingError(
            f"`train={file}`: expected TRAIN or TRAIN,DEV; pass the test part as text"
        )
    return kind, file


def _score(
    probed: Probed, likely: np.ndarray, scores: np.ndarray, temperature: float, seed: int,
    chosen: np.ndarray | slice = slice(None),
) -> tuple[LabelScore, Resampled]:  # fmt: skip
    """Score some held-out items, whose probabilities are ``likely``."""
    # likely: float64 (n, L); scores: float64 (n, L)
    gold, folds = probed.gold[chosen], probed.folds[chosen]
    units = None if probed.units is None else probed.units[chosen]
    right, usual = Means(scores.argmax(axis=1) == gold), np.empty(len(gold), bool)
    for fold in np.unique(folds):
        most = np.bincount(probed.gold[probed.folds != fold]).argmax()
        usual[folds == fold] = gold[folds == fold] == most
    counts = draw_counts(len(gold), CompareConfig().replicates, seed, bare_name(probed.name), units)
    resampled = resample(right, counts)
    return LabelScore(
        len(gold), resampled.score, *interval(resampled), float(usual.mean()), temperature,
        calibration_error(probabilities(scores), gold), calibration_error(likely, gold),
    ), resampled  # fmt: skip


def _rows(
    probed: Probed, likely: np.ndarray, texts: Sequence[str], sentences: Sequence[int | None]
) -> list[PredictedLabel]:
    """Return a row for each new item."""
    # likely: float64 (m, L)
    order = np.argsort(-likely, axis=1, kind="stable")[:, :2]
    best = np.take_along_axis(likely, order, axis=1)
    return [
        PredictedLabel(
            text, probed.classes[first], p, probed.classes[second], q, "" if known else UNKNOWN,
            sentence,
        )
        for text, (first, second), (p, q), known, sentence in zip(
            texts, order.tolist(), best.tolist(), probed.known.tolist(), sentences, strict=True
        )
    ]  # fmt: skip
