"""Chooses the held-out slice at the end of a build: units of text excluded from training.

Units are documents. Where they do not give a slice of the wanted size in enough units, because
they are few or large, units are paragraphs, and where these do not, sentences.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from firth.corpora.artifacts.arrays import array_path, open_array, write_array
from firth.corpora.artifacts.metrics import LEAST_UNITS
from firth.corpora.common.hashing import STRIDE, mix
from firth.corpora.encoding.encode import HELD_OUT_KEY
from firth.corpora.encoding.encode_kernels import take_units
from firth.corpora.encoding.shard_writer import DOCUMENT_KEYS
from firth.corpora.store.shards import UNITS, Shard

# By default 2 % of the tokens or 20,000, whichever is more, but at most 10 %.
_SHARE, _TOKENS, _MOST = 0.02, 20_000, 0.10
# Five or more units of like size fill at least so much of the most that may be held out.
_FILLED = 0.8


class _Slice(NamedTuple):
    """Units to hold out."""

    unit: str
    places: np.ndarray  # int64 (n,): numbers of the units in the whole text, ascending
    tokens: int
    n_distinct: int  # units with distinct keys


def unit_keys(numbers: np.ndarray) -> np.ndarray:
    """Return a key for each unit, uint64 (n,), by its number in the text."""
    # numbers: int64 (n,)
    return np.asarray(mix(np.uint64(HELD_OUT_KEY) + (numbers + 1).astype(np.uint64) * STRIDE))


def hold_out(shards: Sequence[Shard], share: float | None) -> dict[str, Any]:
    """Write ``held_out`` of every shard; return the manifest's entries about the slice.

    Documents are taken in the order of their keys, paragraphs and sentences in that of a hash of
    their number in the text, so that the choice depends on the text alone.
    """
    n_tokens = sum(len(shard.ids) for shard in shards)
    chosen, first = _choose(shards, n_tokens, *_goal(n_tokens, share)), 0
    for shard in shards:
        held_out = np.zeros(len(shard.offsets(chosen.unit)) - 1, dtype=bool)
        within = (chosen.places >= first) & (chosen.places < first + len(held_out))
        held_out[chosen.places[within] - first] = True
        write_array(shard.directory, "held_out", held_out)
        array_path(shard.directory, DOCUMENT_KEYS).unlink()
        first += len(held_out)
    n_units = len(chosen.places)
    return {
        "held_out_unit": chosen.unit,
        "held_out_units": n_units,
        "held_out_documents": n_units if chosen.unit == "document" else 0,
        "held_out_tokens": chosen.tokens,
    }


def _goal(n_tokens: int, share: float | None) -> tuple[int, int]:
    """Return how many tokens to hold out, and at most; ``share`` is None for the default."""
    if share is not None:
        return int(share * n_tokens), int(share * n_tokens)
    most = int(_MOST * n_tokens)
    return min(max(int(_SHARE * n_tokens), _TOKENS), most), most


def _choose(shards: Sequence[Shard], n_tokens: int, wanted: int, most: int) -> _Slice:
    """Choose units of the largest kind that is small enough, or else the slice of most units."""
    if not wanted:
        return _Slice(UNITS[0], np.empty(0, dtype=np.int64), 0, 0)
    found = []
    for unit in UNITS:
        found.append(_take(shards, unit, n_tokens, wanted, most))
        enough = found[-1].tokens >= min(wanted, _FILLED * most)
        if enough and found[-1].n_distinct >= LEAST_UNITS:
            return found[-1]
    return max(found, key=lambda choice: choice.n_distinct)


def _take(shards: Sequence[Shard], unit: str, n_tokens: int, wanted: int, most: int) -> _Slice:
    """Take units of one kind in the order of their keys."""
    n_units = sum(int(np.count_nonzero(np.diff(shard.offsets(unit)))) for shard in shards)
    # less than one average unit may be missing: to fill the rest would favor the smallest units
    goal = min(wanted, most - n_tokens // n_units + 1)
    # four times the expected number of units suffice in most texts, and save memory in huge ones
    for share in (4 * wanted / n_tokens, 1.0):
        places, keys, sizes = _candidates(shards, unit, share)
        # units with one key, such as documents that begin alike, are taken together
        _, groups = np.unique(keys, return_inverse=True)
        totals = np.bincount(groups, weights=sizes).astype(np.int64)
        taken = np.zeros(len(totals), dtype=bool)
        tokens, n_taken = take_units(totals, goal, LEAST_UNITS, most, taken)
        if tokens >= goal and n_taken >= LEAST_UNITS:
            break
    return _Slice(unit, places[taken[groups] & (sizes > 0)], int(tokens), int(n_taken))


def _candidates(shards: Sequence[Shard], unit: str, share: float) -> Sequence[np.ndarray]:
    """Return numbers, keys and tokens of the units that have a share of the smallest keys."""
    # returns int64 (n,), ascending; uint64 (n,); int64 (n,)
    limit = np.uint64(min(int(share * 2.0**64), 2**64 - 1))
    parts, first = [], 0
    for shard in shards:
        sizes = np.diff(shard.offsets(unit))
        numbers = np.arange(first, first + len(sizes))
        if unit == "document":
            keys = open_array(shard.directory, DOCUMENT_KEYS)  # not kept: it is removed
        else:
            keys = unit_keys(numbers)
        some = keys <= limit
        parts.append((numbers[some], keys[some], sizes[some]))
        first += len(sizes)
    return [np.concatenate(part) for part in zip(*parts, strict=True)]
