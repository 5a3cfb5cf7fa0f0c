"""Chooses the held-out slice at the end of a build: units of text excluded from training.

Units are documents. Where they do not give a slice of the wanted size in enough units, because
they are few or large, units are paragraphs, and where these do not, sentences.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from corpora.artifacts.arrays import array_path, write_array
from corpora.artifacts.metrics import LEAST_UNITS
from corpora.build.encode import HELD_OUT_KEY
from corpora.build.encode_kernels import take_units
from corpora.build.shard_writer import DOCUMENT_KEYS
from corpora.common.hashing import STRIDE, mix
from corpora.store.shards import UNITS, Shard

# By default 2 % of the tokens or 20,000, whichever is more, but at most 10 %.
_SHARE, _TOKENS, _MOST = 0.02, 20_000, 0.10
# Five or more units of like size fill at least so much of the most that may be held out.
_FILLED = 0.8


class _Size(NamedTuple):
    """How much to hold out, in tokens."""

    wanted: int
    most: int


class _Slice(NamedTuple):
    """Units to hold out."""

    unit: str
    places: np.ndarray  # int64 (n,): numbers of the units in the whole text, ascending
    tokens: int
    n_distinct: int  # units with distinct keys


class _Candidates(NamedTuple):
    """The units whose keys are below a limit: the first ones in the order of keys."""

    places: np.ndarray  # int64 (n,): numbers in the whole text, ascending
    keys: np.ndarray  # uint64 (n,)
    sizes: np.ndarray  # int64 (n,): tokens


def hold_out(shards: Sequence[Shard], share: float | None) -> dict[str, Any]:
    """Write ``held_out`` of every shard; return the manifest's entries about the slice.

    Documents are taken in the order of their keys, paragraphs and sentences in that of a hash of
    their number in the text, so that the choice depends on the text alone.
    """
    size = _size(sum(len(shard.ids) for shard in shards), share)
    chosen = _choose(shards, size)
    first = 0
    for shard in shards:
        held_out = np.zeros(len(shard.offsets(chosen.unit)) - 1, dtype=bool)
        here = (chosen.places >= first) & (chosen.places < first + len(held_out))
        held_out[chosen.places[here] - first] = True
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


def _size(n_tokens: int, share: float | None) -> _Size:
    """Return how much to hold out of a text; ``share`` is None for the default."""
    if share is not None:
        return _Size(int(share * n_tokens), int(share * n_tokens))
    most = int(_MOST * n_tokens)
    return _Size(min(max(int(_SHARE * n_tokens), _TOKENS), most), most)


def _choose(shards: Sequence[Shard], size: _Size) -> _Slice:
    """Choose units of the largest kind that is small enough, or else the slice of most units."""
    if not size.wanted:
        return _Slice(UNITS[0], np.empty(0, dtype=np.int64), 0, 0)
    found = []
    for unit in UNITS:
        found.append(_take(shards, unit, size))
        enough = found[-1].tokens >= min(size.wanted, _FILLED * size.most)
        if enough and found[-1].n_distinct >= LEAST_UNITS:
            return found[-1]
    return max(found, key=lambda choice: choice.n_distinct)


def _take(shards: Sequence[Shard], unit: str, size: _Size) -> _Slice:
    """Take units of one kind in the order of their keys."""
    n_tokens = sum(len(shard.ids) for shard in shards)
    n_units = sum(int(np.count_nonzero(np.diff(shard.offsets(unit)))) for shard in shards)
    # less than one average unit may be missing: to fill the rest would favor the smallest units
    goal = min(size.wanted, size.most - n_tokens // n_units + 1)
    # four times the expected number of units suffice in most texts, and save memory in huge ones
    for share in (4 * size.wanted / n_tokens, 1.0):
        found = _candidates(shards, unit, share)
        # units with one key, such as documents that begin alike, are taken together
        _, groups = np.unique(found.keys, return_inverse=True)
        sizes = np.bincount(groups, weights=found.sizes).astype(np.int64)
        taken = np.zeros(len(sizes), dtype=bool)
        tokens, n_taken = take_units(sizes, goal, LEAST_UNITS, size.most, taken)
        if tokens >= goal and n_taken >= LEAST_UNITS:
            break
    places = found.places[taken[groups] & (found.sizes > 0)]
    return _Slice(unit, places, int(tokens), int(n_taken))


def _candidates(shards: Sequence[Shard], unit: str, share: float) -> _Candidates:
    """Return the units among a share of the smallest keys."""
    limit = np.uint64(min(int(share * 2.0**64), 2**64 - 1))
    parts: list[list[np.ndarray]] = [[], [], []]
    for first, shard, keys in _keys(shards, unit):
        places = np.flatnonzero(keys <= limit)
        sizes = np.diff(shard.offsets(unit))[places]
        for part, values in zip(parts, (places + first, keys[places], sizes), strict=True):
            part.append(values)
    return _Candidates(*map(np.concatenate, parts))


def _keys(shards: Sequence[Shard], unit: str) -> Iterator[tuple[int, Shard, np.ndarray]]:
    """Yield, for each shard, the number of its first unit, and the keys of all."""
    first = 0
    for shard in shards:
        stop = first + len(shard.offsets(unit)) - 1
        if unit == "document":
            yield first, shard, shard.array(DOCUMENT_KEYS)
        else:
            numbers = np.arange(first + 1, stop + 1, dtype=np.uint64)
            yield first, shard, mix(np.uint64(HELD_OUT_KEY) + numbers * STRIDE)
        first = stop
