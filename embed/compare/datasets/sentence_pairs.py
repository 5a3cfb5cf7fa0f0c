"""Read minimal pairs of sentences in the form of BLiMP, and draw samples of them."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from firth.corpora.text.segment import LONE_SURROGATE
from firth.embed.compare.datasets.fields import Row, files_of, read_rows

FIELDS = ("sentence_good", "sentence_bad")
PAIR_FILES = "*.jsonl*"  # in a folder; possibly compressed


@dataclass(frozen=True)
class MinimalPair:
    """A grammatical sentence and a minimally different ungrammatical one."""

    paradigm: str  # the phenomenon; one template generated all pairs of a paradigm
    good: str  # both as the file writes them; identical in seven of the 67,000 pairs of BLiMP
    bad: str


def read_minimal_pairs(path: Path) -> list[MinimalPair]:
    """Read a file, or a folder with one file per paradigm, as BLiMP (arXiv:1912.00582)."""
    files = files_of(path, PAIR_FILES) if path.is_dir() else [path]
    nothing = "no pairs; expected a JSON object on each line"
    return [_pair(row) for file in files for row in read_rows(file, nothing=nothing)]


def sample_pairs(pairs: Sequence[MinimalPair], limit: int, seed: int) -> list[MinimalPair]:
    """Draw ``limit`` pairs of each paradigm by keyed hashes, whatever their order; 0 for all."""
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
    """Return the key that pairs are drawn by; the first of equal pairs goes first."""
    text = f"{pair.good}\n{pair.bad}"
    return hashlib.blake2b(text.encode(), digest_size=16, key=seed.to_bytes(8, "little")).digest()


def _pair(row: Row) -> MinimalPair:
    """Parse one line."""
    record = row.record()
    if record is None:
        raise row.wrong("is not a JSON object with sentence_good, sentence_bad and UID; correct it")
    good, bad = (_text(row, record, field) for field in FIELDS)
    paradigm = record.get("UID", row.path.name.split(".")[0])
    if not isinstance(paradigm, str) or not paradigm.strip():
        raise row.error(f"the UID {paradigm!r} is not a paradigm name; correct it")
    return MinimalPair(paradigm.strip(), good, bad)


def _text(row: Row, record: dict[str, object], field: str) -> str:
    """Return a sentence of a record, stripped."""
    text = record.get(field)
    if not isinstance(text, str) or not text.strip():
        raise row.wrong(f"has no {field}; add it")
    if LONE_SURROGATE.search(text):
        raise row.error(f"{field} contains half a surrogate pair; correct it")
    return text.strip()
