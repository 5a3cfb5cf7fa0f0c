"""Cross-validation of labeled sentences in one file, the form of MR, CR and Subj."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.common.errors import SourceError
from firth.corpora.common.reporting import note
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.labeled_sentences import LabeledSentences, read_training_parts
from firth.embed.compare.datasets.parts import DEV, TEST, Parts, set_name
from firth.embed.compare.tasks.sentences.items import SentenceSet


def read_folds(path: Path, config: CompareConfig) -> list[SentenceSet]:
    """Read a file and divide it into folds; each is the test part once, the others train."""
    every, _ = read_training_parts([path], fine=config.fine_labels, groups=config.groups)
    n_folds = fold_count(path, every.groups or every.texts, config.groups, config.folds)
    n_different = len(set(every.texts))
    if n_different < 2 * n_folds:
        raise SourceError(
            f"{path}: contains {n_different:,} different sentences, too few for "
            f"{n_folds} folds; label {2 * n_folds} of them, or compare on TRAIN,TEST"
        )
    parts = Parts(set_name(path), every, LabeledSentences((), ()), None)
    numbers = fold_numbers(every, n_folds, config.seed)
    folds = [SentenceSet(parts, config.seed, numbers == fold) for fold in range(n_folds)]
    if any(len(fold.classes) < 2 or not len(fold.places(DEV)) for fold in folds):
        raise SourceError(
            f"{path}: too few sentences of a label; without one of {n_folds} folds no two "
            "labels are left to learn; give two labels at least two different "
            f"{'groups' if every.groups else 'sentences'} each"
        )
    note(f"{parts.name}: no test part, so cross-validation with {n_folds} folds")
    if n_unseen := sum(int((fold.labels[fold.places(TEST)] < 0).sum()) for fold in folds):
        note(f"{parts.name}: {n_unseen:,} sentences have labels of one fold; they count as wrong")
    return folds


def fold_count(path: Path, groups: Sequence[str], by: str, folds: int) -> int:
    """Return how many folds there are, at most one for each group; print it of a column."""
    n_groups = len(set(groups))
    if n_groups < 2:
        raise SourceError(f"{path}: has {n_groups} words or groups; pass at least two")
    if by:
        note(f"{path}: {n_groups:,} groups by {by!r} in {min(folds, n_groups)} folds")
    return min(folds, n_groups)


def groups_of(
    named: Sequence[str], by: str, folds: int
) -> tuple[np.ndarray, dict[str, Any] | None]:
    """Return the groups of items as units, and what the JSON tells of those of a column."""
    # returns int64 (n, 1)
    names, units = np.unique(np.array(named), return_inverse=True)
    about = {"by": by, "groups": len(names), "folds": folds} if by else None
    return units.reshape(-1, 1), about


def fold_numbers(sentences: LabeledSentences, folds: int, seed: int) -> np.ndarray:
    """Deal the sentences of each label, shuffled, to the folds in turn, copies or groups as one."""
    # returns int64 (n,)
    first: dict[str, int] = {}
    copies = np.array(
        [first.setdefault(text, len(first)) for text in sentences.groups or sentences.texts]
    )
    labels = np.array(sentences.labels, dtype=object)[np.unique(copies, return_index=True)[1]]
    _, kinds = np.unique(labels, return_inverse=True)
    shuffled = np.random.default_rng([seed, folds]).permutation(len(labels))
    dealt = shuffled[np.argsort(kinds[shuffled], kind="stable")]
    numbers = np.empty(len(labels), np.int64)
    numbers[dealt] = np.arange(len(labels)) % folds
    return numbers[copies]
