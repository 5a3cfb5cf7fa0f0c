"""Read sentences with a label each, and refuse what nothing can be learnt from."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.common.errors import SourceError
from corpora.text.segment import LONE_SURROGATE
from embed.compare.datasets.fields import quoted
from embed.compare.datasets.parts import Parts, part_paths, set_name
from embed.compare.datasets.sentence_records import labeled_records

_EXPECTED = "expected lines of a label and a sentence, a table with a header, or JSON lines"
_FINER = re.compile(r"([A-Z]+):\w+")  # TREC: a kind of question, and what kind of that
_MOST_LABELS = 1_000  # more are no labels, but words or numbers; probes would learn for days


@dataclass(frozen=True)
class LabeledSentences:
    """Sentences, each with a label."""

    texts: tuple[str, ...]  # in the order of the file; none is empty
    labels: tuple[str, ...]  # in the order of the file; none is empty

    @property
    def n_sentences(self) -> int:
        """How many sentences there are."""
        return len(self.texts)


def read_sentence_parts(files: str) -> Parts[LabeledSentences]:
    """Read the parts of a set."""
    paths = part_paths(files)
    train, dev = read_training_parts(paths[:-1])
    test = read_sentences(paths[-1])
    _refuse_other(paths[0], train, paths[-1], test)
    return Parts(set_name(paths[-1]), train, test, dev)


def read_training_parts(paths: Sequence[Path]) -> tuple[LabeledSentences, LabeledSentences | None]:
    """Read what probes learn from."""
    train, *dev = (read_sentences(path) for path in paths)
    n_labels, first = len(set(train.labels)), train.labels[0]
    if n_labels == 1:
        raise SourceError(
            f"{paths[0]}: all {train.n_sentences:,} sentences have the label {quoted(first)}; "
            "nothing can be learnt from one label"
        )
    if 2 * n_labels > train.n_sentences or n_labels > _MOST_LABELS:
        raise SourceError(
            f"{paths[0]}: holds {n_labels:,} labels of {train.n_sentences:,} sentences, such as "
            f"{quoted(first)}; {_EXPECTED}"
        )
    single = [label for label, n in Counter(train.labels).items() if n == 1]
    if 2 * len(single) > n_labels:  # first words of sentences, rather
        raise SourceError(
            f"{paths[0]}: of its {n_labels:,} labels {len(single):,} have one sentence only, such "
            f"as {quoted(single[0])}; {_EXPECTED}"
        )
    for part in dev:
        _refuse_other(paths[0], train, paths[1], part)
    return train, dev[0] if dev else None


def _refuse_other(
    train_path: Path, train: LabeledSentences, path: Path, part: LabeledSentences
) -> None:
    """Refuse a part of which no label can be answered."""
    if not set(train.labels) & set(part.labels):
        raise SourceError(
            f"{path}: has no label that {train_path} has ({quoted(part.labels[0])}, there "
            f"{quoted(train.labels[0])}); give parts of one set"
        )


def read_sentences(path: Path) -> LabeledSentences:
    """Read one file of labeled sentences.

    JSON lines have one of ``label``, ``labels``, ``class``, ``category`` and ``sentiment``, and
    one of ``text``, ``sentence``, ``question`` and ``review``, in any case. A table has such
    names in its first line, with tabs or commas between; the latter may be quoted. Two columns
    between tabs without a header: the label is the one that has fewer different values. In any
    other file a line is the label, white space, the sentence. Of labels as ``DESC:manner``
    (TREC) the part before the colon counts. Comments, ``#`` and a space, are left out ahead of
    the first sentence, and everywhere where lines begin with the label; unless all lines begin so.
    """
    texts, labels = [], []
    for row, label, text in labeled_records(path, f"no sentence; {_EXPECTED}"):
        label, text = label.strip(), " ".join(text.split())
        if not label or not text:
            missing = "text" if label else "label"
            raise row.error(
                f"{quoted(label or text)} stands there without a {missing}; give both, or leave "
                "the line out"
            )
        for part in (label, text):
            if LONE_SURROGATE.search(part):
                raise row.error(f"{quoted(part)} holds half a character; correct it")
        finer = _FINER.fullmatch(label)
        labels.append(finer[1] if finer else label)
        texts.append(text)
    if not texts:
        raise SourceError(f"{path}: holds no sentence below its first line; {_EXPECTED}")
    return LabeledSentences(tuple(texts), tuple(labels))
