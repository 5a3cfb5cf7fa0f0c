"""Read pairs of sentences of which one is right, in the form of BLiMP; take some of each kind."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.common.errors import SourceError
from corpora.text.segment import LONE_SURROGATE
from embed.compare.datasets.fields import Row, read_rows

_FIELDS = ("sentence_good", "sentence_bad")
PAIR_FILES = "*.jsonl*"  # of a folder; perhaps compressed


@dataclass(frozen=True)
class MinimalPair:
    """Two sentences that differ as little as can be, one of which is right."""

    paradigm: str  # what is wrong with the other one: pairs of a paradigm are made by one template
    # the sentences as the file writes them. The same in seven of the 67,000 pairs of BLiMP
    good: str
    # the sentences as the file writes them. The same in seven of the 67,000 pairs of BLiMP
    bad: str


def read_minimal_pairs(path: Path) -> list[MinimalPair]:
    """Read pairs of sentences.

    Warstadt et al. 2020, "BLiMP: The Benchmark of Linguistic Minimal Pairs for English"
    (arXiv:1912.00582), whose form other sets and languages share.
    """
    files = _files(path) if path.is_dir() else [path]
    return [pair for file in files for pair in _pairs(file)]


def sample_pairs(pairs: Sequence[MinimalPair], limit: int, seed: int) -> list[MinimalPair]:
    """Take some pairs of each paradigm.

    Every pair has a key that depends on its sentences and the seed alone, and those of least key
    are taken: the same ones in whatever order or company the pairs come, and among them all that
    a lower limit takes.
    """
    if limit == 0:
        return list(pairs)
    taken: Counter[str] = Counter()
    chosen = []
    for place in sorted(range(len(pairs)), key=lambda place: _key(pairs[place], seed)):
        taken[pairs[place].paradigm] += 1
        if taken[pairs[place].paradigm] <= limit:
            chosen.append(place)
    return [pairs[place] for place in sorted(chosen)]


def _key(pair: MinimalPair, seed: int) -> bytes:
    """What decides whether a pair is taken; equal for equal pairs, of which the first is."""
    text = f"{pair.good}\n{pair.bad}"
    return hashlib.blake2b(text.encode(), digest_size=16, key=seed.to_bytes(8, "little")).digest()


def _files(folder: Path) -> list[Path]:
    """The files of a set that is a folder."""
    files = sorted(path for path in folder.glob(PAIR_FILES) if path.is_file())
    if not files:
        raise SourceError(f"{folder}: holds no .jsonl file; expected one for each paradigm")
    return files


def _pairs(path: Path) -> list[MinimalPair]:
    """The pairs of one file."""
    nothing = "no pair; expected a JSON object on each line"
    return [_pair(row) for row in read_rows(path, nothing=nothing)]


def _pair(row: Row) -> MinimalPair:
    """One line as a pair, or an error that quotes it."""
    record = row.record()
    if record is None:
        raise row.wrong("is not a JSON object with sentence_good, sentence_bad and UID; correct it")
    good, bad = (_text(row, record, field) for field in _FIELDS)
    paradigm = record.get("UID", row.path.name.split(".")[0])
    if not isinstance(paradigm, str) or not paradigm.strip():
        raise row.error(f"the UID {paradigm!r} is no name of a paradigm; correct it")
    return MinimalPair(paradigm.strip(), good, bad)


def _text(row: Row, record: dict[str, object], field: str) -> str:
    """A sentence of a record."""
    text = record.get(field)
    if not isinstance(text, str) or not text.strip():
        raise row.wrong(f"has no sentence as {field}; add it")
    if LONE_SURROGATE.search(text):
        raise row.error(f"{field} holds half a surrogate pair, which is no character; correct it")
    return text.strip()
