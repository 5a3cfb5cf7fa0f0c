"""Inner loops of skip-gram and CBOW: draw windows from the text, then learn from them.

Every word of a window shares its negatives (Ji, Satish, Li and Dubey 2016, arXiv:1604.04661), so
that scores and gradients are small dense products. Tables are flat float32 arrays, a row every
``width`` floats, with one row of zeros last, which fills a block up.
"""

from typing import Any, NamedTuple

import numpy as np

from corpora.common.hashing import STRIDE
from corpora.common.hashing_kernels import mix
from corpora.common.jit import compiled
from embed.word2vec.kernels.simd import (
    add_to_rows,
    prefetch_row,
    score_one,
    score_pair,
    score_to_step,
    step_block,
    step_one,
    sum_rows,
)
from embed.word2vec.kernels.simd_ir import BLOCK, LANES, SLOT

_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)

_AHEAD = 2  # windows between prefetch and use
_FACTORS = 16  # between looks at the chances: none is below e^-30, so no product vanishes
_SMALL_CHANCE = 1e-100  # products of probabilities are taken to logarithms before they vanish


class Windows(NamedTuple):
    """Windows drawn; of n centers, int32 (n, 2 * window), int64 (n,), int32 (n, 1 + negatives).

    Window w holds the words ``contexts[w, :sizes[w]]``, from left to right; its targets are the
    center and its negatives.
    """

    contexts: Any
    sizes: Any
    targets: Any


class Places(NamedTuple):
    """Where moved outputs go; both (n, 1 + negatives).

    To ``rows`` int32 goes what a target gains, and ``shares`` float32 (1 or 0) times itself. A
    target is moved where it is if its row is itself and its share 1.
    """

    rows: Any
    shares: Any


@compiled(inline="always")
def next_random(state: Any) -> Any:
    """Draw 64 random bits by splitmix64."""
    # state: uint64 (1,); returns uint64
    state[0] += STRIDE
    return mix(state[0])


@compiled
def subsample(
    rows: Any, offsets: Any, limits: Any, state: Any, kept: Any, kept_offsets: Any
) -> Any:
    """Drop frequent words at random; units that lose all their words go."""
    # rows: int32 (n,); offsets: int64 (m + 1,); limits: uint64 (V,); state: uint64 (1,); kept:
    # int32 (n,); kept_offsets: int64 (m + 1,)
    n = 0
    units = 0
    kept_offsets[0] = 0
    for u in range(len(offsets) - 1):
        for i in range(offsets[u] - offsets[0], offsets[u + 1] - offsets[0]):
            if (next_random(state) >> _32) < limits[rows[i]]:
                kept[n] = rows[i]
                n += 1
        if n > kept_offsets[units]:
            units += 1
            kept_offsets[units] = n
    return n, units


@compiled
def draw_windows(
    kept: Any,
    kept_offsets: Any,
    first: Any,
    last: Any,
    window: Any,
    dynamic: Any,
    noise_limits: Any,
    noise_others: Any,
    state: Any,
    windows: Any,
) -> Any:
    """Draw the windows of some centers, and their negatives.

    A negative that is the center itself is drawn again. A center alone in its
    unit has a window of size 0 and no negatives.
    """
    # kept: int32 (n,); kept_offsets: int64 (m + 1,); noise_limits, noise_others: uint32 (V,),
    # int32 (V,); state: uint64 (1,)
    contexts, sizes, targets = windows
    n_words = np.uint64(len(noise_limits))
    unit = np.searchsorted(kept_offsets, first, side="right") - 1
    for i in range(first, last):
        while kept_offsets[unit + 1] <= i:
            unit += 1
        random = next_random(state)
        reach = window
        if dynamic:
            reach = 1 + np.int64(((random >> _32) * np.uint64(window)) >> _32)
        center = kept[i]
        size = 0
        start = max(kept_offsets[unit], i - reach)
        for j in range(start, min(kept_offsets[unit + 1], i + reach + 1)):
            if j != i:
                contexts[i - first, size] = kept[j]
                size += 1
        sizes[i - first] = size
        if size == 0:
            continue
        targets[i - first, 0] = center
        for m in range(1, targets.shape[1]):
            word = center
            while word == center:
                random = next_random(state)
                column = np.int64(((random >> _32) * n_words) >> _32)
                word = np.int32(column)
                if (random & _LOW) >= np.uint64(noise_limits[column]):
                    word = noise_others[column]
            targets[i - first, m] = word
    return Windows(contexts, sizes[: last - first], targets)


@compiled
def learn_skipgram(
    inputs: Any, outputs: Any, width: Any, drawn: Any, places: Any, rate: Any, labels: Any,
    loss: Any,
) -> Any:  # fmt: skip
    """Skip-gram: each context word predicts the center (Mikolov et al. 2013, arXiv:1310.4546).

    Outputs are taken BLOCK at a time; those of one block are scored, and both
    tables moved, before the next.
    """
    # inputs, outputs: float32 ((R + 1) * width,); rate: float32; labels: float32 (blocks * 2 *
    # LANES,); loss: float64 (1,)
    null = inputs.shape[0] - width
    blocks = len(labels) // (2 * LANES)
    before = np.full(drawn.contexts.shape[1] + 1, null)
    after, into, shares = _output_room(blocks, outputs.shape[0] - width)
    steps = np.empty((drawn.contexts.shape[1] + 1) * SLOT, dtype=np.float32)
    chances = np.ones(LANES)
    pairs = 0
    factors = 0
    for w in range(len(drawn.sizes)):
        _fetch(outputs, width, drawn, w + _AHEAD)
        n = drawn.sizes[w]
        if n == 0:
            continue
        pairs += n
        for k in range(n):
            before[k] = np.int64(drawn.contexts[w, k]) * width
        before[n] = null
        _place_outputs(width, drawn.targets, places, w, after, into, shares)
        for b in range(blocks):
            m = b * BLOCK
            for k in range(0, n, 2):
                row, other = before[k], before[k + 1]
                score_pair(inputs, row, other, outputs, after, m, width, steps, k * SLOT)
            for k in range(0, n, 2):
                place = (2 * b + int(k + 1 == n)) * LANES
                score_to_step(steps, k * SLOT, labels, place, rate, chances)
                factors += 1
                if factors == _FACTORS:
                    _settle(chances, _SMALL_CHANCE, loss)
                    factors = 0
            step_block(inputs, before, n, outputs, after, m, into, shares, width, steps)
    _settle(chances, 2.0, loss)
    return pairs


@compiled
def learn_cbow(
    inputs: Any, outputs: Any, width: Any, drawn: Any, places: Any, rate: Any, labels: Any,
    loss: Any, mean: Any,
) -> Any:  # fmt: skip
    """CBOW: the context words predict the center word (Mikolov et al. 2013, arXiv:1301.3781)."""
    blocks = len(labels) // (2 * LANES)
    before = np.empty(drawn.contexts.shape[1], dtype=np.int64)
    after, into, shares = _output_room(blocks, outputs.shape[0] - width)
    steps = np.empty(LANES, dtype=np.float32)
    middle = np.empty(width, dtype=np.float32)
    gain = np.empty(width, dtype=np.float32)
    chances = np.ones(LANES)
    windows = 0
    factors = 0
    for w in range(len(drawn.sizes)):
        _fetch(outputs, width, drawn, w + _AHEAD)
        n = drawn.sizes[w]
        if n == 0:
            continue
        windows += 1
        for k in range(n):
            before[k] = np.int64(drawn.contexts[w, k]) * width
        _place_outputs(width, drawn.targets, places, w, after, into, shares)
        sum_rows(inputs, before, n, width, np.float32(1 / n if mean else 1), middle, 0)
        gain[:] = 0
        for b in range(blocks):
            m = b * BLOCK
            score_one(middle, outputs, after, m, width, steps)
            score_to_step(steps, 0, labels, (2 * b + 1) * LANES, rate, chances)
            factors += 1
            if factors == _FACTORS:
                _settle(chances, _SMALL_CHANCE, loss)
                factors = 0
            step_one(middle, gain, outputs, after, m, into, shares, width, steps)
        add_to_rows(inputs, before, n, width, gain, 0)
    _settle(chances, 2.0, loss)
    return windows


@compiled(inline="always")
def _output_room(blocks: Any, null: Any) -> Any:
    """Offsets and shares of whole blocks; what no output fills up is the row of zeros."""
    return (
        np.full(blocks * BLOCK, null),
        np.full(blocks * BLOCK, null),
        np.zeros(blocks * BLOCK, dtype=np.float32),
    )


@compiled(inline="always")
def _place_outputs(
    width: Any, targets: Any, places: Any, w: Any, after: Any, into: Any, shares: Any
) -> None:
    """Where the outputs of a window are, and where they go."""
    for m in range(targets.shape[1]):
        after[m] = np.int64(targets[w, m]) * width
        into[m] = np.int64(places.rows[w, m]) * width
        shares[m] = places.shares[w, m]


def pair_labels(negatives: int) -> np.ndarray:
    """Say which of the scores belong to the text, and which are there to fill a block up."""
    # returns float32 (blocks * 2 * LANES,)
    blocks = -(-(1 + negatives) // BLOCK)
    labels = np.full((blocks, 2, 2, SLOT), -1, dtype=np.float32)
    for m in range(1 + negatives):
        labels[m // BLOCK, :, :, m % BLOCK] = m == 0
    labels[:, 1, 1] = -1
    return labels.reshape(-1)


@compiled(inline="always")
def _fetch(outputs: Any, width: Any, drawn: Any, w: Any) -> None:
    """Ask for the outputs of a window to come; its inputs are those of its neighbors."""
    if w < len(drawn.sizes) and drawn.sizes[w]:
        for m in range(drawn.targets.shape[1]):
            prefetch_row(outputs, np.int64(drawn.targets[w, m]) * width, width)


@compiled(inline="always")
def _settle(chances: Any, limit: Any, loss: Any) -> None:
    """Take products of probabilities to logarithms where they are below a limit."""
    smallest = chances[0]
    for lane in range(1, LANES):
        smallest = min(smallest, chances[lane])
    if not smallest > limit:  # NaN is settled, too
        for lane in range(LANES):
            loss[0] -= np.log(chances[lane])
            chances[lane] = 1
