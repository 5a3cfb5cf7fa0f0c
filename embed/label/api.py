"""label_text: labels of new sentences, tokens or words, from labeled ones."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.common.display import Table
from firth.corpora.common.errors import SettingError, require_torch
from firth.corpora.common.options import config_of
from firth.corpora.common.reporting import progress
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.head import Head
from firth.embed.compare.datasets.parts import DEV, TEST, TRAIN, bare_name
from firth.embed.compare.kinds import kind_and_file
from firth.embed.compare.probes.progress import reporting_shares
from firth.embed.compare.scoring.open_runs import open_runs
from firth.embed.compare.statistics.bootstrap import Resampled, draw_counts, interval, resample
from firth.embed.compare.statistics.estimators import Means
from firth.embed.compare.statistics.significance import Difference, paired
from firth.embed.compare.task import task_class
from firth.embed.contextual.encoders import open_encoder
from firth.embed.label.calibration import (
    calibration_error,
    fit_temperature,
    fold_probabilities,
    probabilities,
)
from firth.embed.label.config import LabelConfig
from firth.embed.label.probes import NEW, PROBES, Probed, Source
from firth.embed.protocols import ContextualEncoder
from firth.embed.registry import FINE_TUNE, resolve
from firth.embed.vectors.one_thread import ONE_THREAD


@dataclass(frozen=True)
class PredictedLabel:
    """A sentence, token or word with its label; ``note`` is ``unknown`` if the run knows none."""

    text: str
    label: str
    probability: float
    note: str
    number: int  # of the line, or of the sentence of a token, from 1


@dataclass(frozen=True)
class LabelScore:
    """How well held-out items are labeled, and how far probabilities are off, before and after."""

    items: int
    accuracy: float
    low: float  # 95 % interval of the accuracy
    high: float
    majority: float  # accuracy of the most frequent label
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
    held_out : LabelScore
        Of the probe, in cross-validation on the labeled file.
    tuned, probe : LabelScore or None
        With fine-tuning, of the encoder and of the probe on the same held-out tenth.
    difference : Difference or None
        Accuracy of the encoder less that of the probe there, with its interval and p.
    """

    rows: list[PredictedLabel]
    held_out: LabelScore
    tuned: LabelScore | None = None
    probe: LabelScore | None = None
    difference: Difference | None = None
    _listed = ("rows",)


def label_text(
    run: str | os.PathLike[str],
    train: str | os.PathLike[str],
    text: Source,
    config: LabelConfig | None = None,
) -> LabeledText:
    """Label new text as a labeled file is, with calibrated probabilities.

    The probe is that of :func:`firth.compare`. Temperatures are fitted on held-out folds (Guo et
    al. 2017, "On calibration of modern neural networks").

    Parameters
    ----------
    run : str or path
        A run, a vectors file or a Hugging Face folder.
    train : str or path
        Labeled sentences, tagged tokens, or words with labels: ``FILE``, ``FILE:COLUMN`` of
        words, ``KIND=FILE`` to name the kind.
    text : str, path or sequence of str
        What to label: a file, ``-`` for standard input, or lines.
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
        If a file is malformed or has one label only.
    ArtifactError
        If the run is damaged, or has no encoder to fine-tune.
    """
    config = config_of(config, LabelConfig)
    kind, path = _kind_of(os.fspath(train))
    require_torch(f"{path}: a probe")
    encoder = open_encoder(run) if config.fine_tune else None
    [vectors] = open_runs([run]).vectors.values()
    with (
        progress(f"learning labels of {path}", "percent") as show,
        reporting_shares(lambda share: show(100 * share, 100)),
        ONE_THREAD,
    ):
        probed = PROBES[kind](vectors, path, text, CompareConfig(seed=config.seed))
    likely = fold_probabilities(probed.scores, probed.gold, probed.folds)
    temperature = fit_temperature(probed.scores, probed.gold)
    held_out, _ = _score(probed, probed.folds >= 0, probed.scores, likely, temperature, config.seed)
    answers, comparison = probabilities(probed.new_scores, temperature), tuple[Any, ...]()
    if encoder is not None:
        answers, comparison = _fine_tuned(encoder, probed, likely, temperature, config)
    if kind != "tagging":  # whose probe has learned unknown tokens as such
        counts = np.bincount(probed.gold, minlength=len(probed.classes))
        answers[~probed.known] = counts / counts.sum()
    names = np.array(probed.classes, object)[answers.argmax(axis=1)]
    notes = np.where(probed.known, "", "unknown").tolist()
    shares, numbers = answers.max(axis=1).round(4).tolist(), probed.numbers
    rows = zip(probed.texts, names, shares, notes, numbers, strict=True)
    return LabeledText([PredictedLabel(*row) for row in rows], held_out, *comparison)


def _kind_of(train: str) -> tuple[str, Path]:
    """Return the kind of a labeled file and its path, as ``compare`` has them."""
    kind, file = kind_and_file(train)
    if kind is None:  # tagged words are recognized among several files
        heads = [Head.of(file), Head.of(f"{file},{file}")]
        kind = max(PROBES, key=lambda key: max(map(task_class(key).recognize, heads)))
    if kind not in PROBES:
        raise SettingError(f"`train={train}`: expected a kind of {', '.join(PROBES)}")
    return kind, Path(file)


def _fine_tuned(
    encoder: ContextualEncoder, probed: Probed, likely: np.ndarray, temperature: float,
    config: LabelConfig,
) -> tuple[np.ndarray, tuple[LabelScore, LabelScore, Difference]]:  # fmt: skip
    """Train the encoder; return its probabilities of new items, and how it compares."""
    if probed.tunable is None:
        raise SettingError("`fine_tune` takes labeled sentences or tokens, not a list of words")
    sentences, lengths, labels, roles = probed.tunable
    scores = resolve(FINE_TUNE)(
        encoder, sentences, lengths, np.where(roles == TRAIN, labels, -1),
        n_labels=len(probed.classes), epochs=config.epochs, seed=config.seed,
    )  # fmt: skip
    dev, test, new = (scores[roles == role] for role in (DEV, TEST, NEW))
    tuned_temperature, first = fit_temperature(dev, labels[roles == DEV]), probed.folds == 0
    tuned_likely, answers = (probabilities(part, tuned_temperature) for part in (test, new))
    tuned, a = _score(probed, first, test, tuned_likely, tuned_temperature, config.seed)
    probe, b = _score(probed, first, probed.scores[first], likely[first], temperature, config.seed)
    units = None if probed.units is None else probed.units[first]
    return answers, (tuned, probe, paired(a, b, units))


def _score(
    probed: Probed, items: np.ndarray, scores: np.ndarray, likely: np.ndarray, temperature: float,
    seed: int,
) -> tuple[LabelScore, Resampled]:  # fmt: skip
    """Score some held-out items, whose probabilities are ``likely``."""
    # items: bool (n_items,); scores, likely: float64 (n, L)
    gold, units = probed.gold[items], None if probed.units is None else probed.units[items]
    counts = draw_counts(len(gold), CompareConfig().replicates, seed, bare_name(probed.name), units)
    resampled = resample(Means(scores.argmax(axis=1) == gold), counts)
    return LabelScore(
        len(gold), resampled.score, *interval(resampled),
        float((gold == np.bincount(probed.gold).argmax()).mean()), temperature,
        calibration_error(probabilities(scores), gold), calibration_error(likely, gold),
    ), resampled  # fmt: skip
