"""Read labeled sentences, and refuse sets that no probe can be trained on."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from firth.corpora.common.errors import SourceError
from firth.corpora.text.segment import LONE_SURROGATE
from firth.embed.compare.datasets.fields import quoted
from firth.embed.compare.datasets.head import Head, Match
from firth.embed.compare.datasets.parts import Parts, part_paths, refuse_disjoint, set_name
from firth.embed.compare.datasets.sentence_records import labeled_records, records_of

_EXPECTED = "expected lines of a label and a sentence, a table with a header, or JSON lines"
_FINER = re.compile(r"([A-Z]+):\w+")  # TREC: coarse and fine question type
_MAX_LABELS = 1_000  # more would be words or numbers, and probes would train for days


@dataclass(frozen=True)
class LabeledSentences:
    """Sentences, each with a label."""

    texts: tuple[str, ...]  # in file order; none is empty
    labels: tuple[str, ...]  # one per text; none is empty
    n_finer: int = 0  # labels that were cut to their coarse part
    groups: tuple[str, ...] = ()  # one per text, if there are groups

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return len(self.texts)


def read_sentence_parts(
    files: str, *, fine: bool = False, groups: str = ""
) -> Parts[LabeledSentences]:
    """Read the files of a set: ``TRAIN,TEST`` or ``TRAIN,DEV,TEST``."""
    paths = part_paths(files)
    train, dev = read_training_parts(paths[:-1], fine=fine, groups=groups)
    test = read_sentences(paths[-1], fine=fine, groups=groups)
    refuse_disjoint(paths[0], train, paths[-1], test)
    return Parts(set_name(paths[-1]), train, test, dev)


def read_training_parts(
    paths: Sequence[Path], *, fine: bool = False, groups: str = ""
) -> tuple[LabeledSentences, LabeledSentences | None]:
    """Read the training part and, if given, the development part."""
    train, *dev = (read_sentences(path, fine=fine, groups=groups) for path in paths)
    n_labels, first = len(set(train.labels)), train.labels[0]
    if n_labels == 1:
        raise SourceError(
            f"{paths[0]}: all {train.n_sentences:,} sentences have the label {quoted(first)}; "
            "a probe needs at least two labels"
        )
    if 2 * n_labels > train.n_sentences or n_labels > _MAX_LABELS:
        raise SourceError(
            f"{paths[0]}: contains {n_labels:,} labels for {train.n_sentences:,} sentences, such "
            f"as {quoted(first)}; {_EXPECTED}"
        )
    single = [label for label, n in Counter(train.labels).items() if n == 1]
    if 2 * len(single) > n_labels:  # more likely the first words of sentences
        raise SourceError(
            f"{paths[0]}: {len(single):,} of its {n_labels:,} labels have only one sentence, such "
            f"as {quoted(single[0])}; {_EXPECTED}"
        )
    for part in dev:
        refuse_disjoint(paths[0], train, paths[1], part)
    return train, dev[0] if dev else None


def recognize_sentences(head: Head) -> Match:
    """Return whether columns or JSON keys are named as labels and texts, or lines start so."""
    if not head.rows or head.n_files > 3:
        return Match.NO
    try:
        records = list(records_of(head.path, head.rows))
    except SourceError:
        return Match.NO
    first = head.rows[0].text
    if first.startswith("{") or len(records) < len(head.rows):  # by keys or below a header
        return Match.CERTAIN
    labels, lengths = (
        Counter(column)
        for column in zip(*((label, len(text.split())) for _, label, text in records), strict=True)
    )
    repeated = 2 * len(labels) <= len(records) and 2 * list(labels.values()).count(1) <= len(labels)
    # lists of word pairs and of questions have as many words in each line
    varied = 5 * lengths.most_common(1)[0][1] < 4 * len(records)
    long = sum(n * times for n, times in lengths.items()) >= 3 * len(records)
    return Match.LIKELY if repeated and varied and long else Match.NO


def read_sentences(path: Path, *, fine: bool = False, groups: str = "") -> LabeledSentences:
    """Read one file of labeled sentences.

    A table or JSON lines by the names of columns or keys, else a label and a sentence by line. A
    label such as ``DESC:manner`` (TREC) is cut at the colon, unless ``fine``. Comments (``# ``)
    before the first sentence are skipped, and all if lines start with the label.
    """
    texts, labels, of_texts, n_finer = [], [], [], 0
    for row, label, text in labeled_records(path, f"no sentences; {_EXPECTED}", groups):
        label, text = label.strip(), " ".join(text.split())
        if not label or not text:
            missing = "text" if label else "label"
            raise row.error(
                f"{quoted(label or text)} has no {missing}; give both, or remove the line"
            )
        for part in (label, text):
            if LONE_SURROGATE.search(part):
                raise row.error(f"{quoted(part)} contains half a surrogate pair; correct it")
        finer = None if fine else _FINER.fullmatch(label)
        n_finer += finer is not None
        labels.append(finer[1] if finer else label)
        texts.append(text)
        of_texts.append(row.section or text)
    if not texts:
        raise SourceError(f"{path}: contains no sentences below its header; {_EXPECTED}")
    by = tuple(of_texts) if groups else ()
    return LabeledSentences(tuple(texts), tuple(labels), n_finer, by)
