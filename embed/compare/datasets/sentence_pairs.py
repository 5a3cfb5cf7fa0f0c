"""Read minimal pairs of sentences in the form of BLiMP or EWoK, and draw samples of them."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from firth.corpora.text.segment import LONE_SURROGATE
from firth.embed.compare.datasets.fields import Row, files_of, read_rows

FIELDS = ("sentence_good", "sentence_bad")
# of EWoK (Ivanova et al. 2024, arXiv:2405.09605): each target fits the context of its number
EWOK_FIELDS = ("Context1", "Context2", "Target1", "Target2")
PAIR_FILES = "*.jsonl*"  # in a folder; possibly compressed


@dataclass(frozen=True)
class MinimalPair:
    """A grammatical sentence, or one that fits its context, and a minimally different other."""

    paradigm: str  # the phenomenon; one template generated all pairs of a paradigm
    good: str  # both as the file writes them; identical in seven of the 67,000 pairs of BLiMP
    bad: str
    contexts: tuple[str, str] = ("", "")  # that each is scored after; empty to score all


def read_minimal_pairs(path: Path) -> list[MinimalPair]:
    """Read a file, or a folder with one file per paradigm, as BLiMP (arXiv:1912.00582)."""
    files = files_of(path, PAIR_FILES) if path.is_dir() else [path]
    nothing = "no pairs; expected a JSON object on each line"
    return [pair for file in files for row in read_rows(file, nothing=nothing) for pair in _of(row)]


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
    text = "\n".join([pair.good, pair.bad, *filter(None, pair.contexts)])
    return hashlib.blake2b(text.encode(), digest_size=16, key=seed.to_bytes(8, "little")).digest()


def _of(row: Row) -> list[MinimalPair]:
    """Parse one line: a pair or, of EWoK, a pair of contexts for each target."""
    record = row.record()
    if record is None:
        raise row.wrong("is not a JSON object with sentence_good, sentence_bad and UID; correct it")
    is_ewok = EWOK_FIELDS[0] in record
    field = "Domain" if is_ewok else "UID"
    paradigm = record.get(field, row.path.name.split(".")[0])
    if not isinstance(paradigm, str) or not paradigm.strip():
        raise row.error(f"the {field} {paradigm!r} is not a paradigm name; correct it")
    texts = [_text(row, record, name) for name in (EWOK_FIELDS if is_ewok else FIELDS)]
    if not is_ewok:
        return [MinimalPair(paradigm.strip(), texts[0], texts[1])]
    first, second, *targets = texts
    contexts = (first, second), (second, first)
    return [
        MinimalPair(paradigm.strip(), target, target, pair)
        for target, pair in zip(targets, contexts, strict=True)
    ]


def _text(row: Row, record: dict[str, object], field: str) -> str:
    """Return a sentence of a record, stripped."""
    text = record.get(field)
    if not isinstance(text, str) or not text.strip():
        raise row.wrong(f"has no {field}; add it")
    if LONE_SURROGATE.search(text):
        raise row.error(f"{field} contains half a surrogate pair; correct it")
    return text.strip()
