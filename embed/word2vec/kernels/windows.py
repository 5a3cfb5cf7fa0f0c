"""Inner loops of skip-gram and CBOW: draw windows from the text, then learn from them.

All words of a window share its negatives (Ji, Satish, Li and Dubey 2016, arXiv:1604.04661), so
scores and gradients are small dense products. Tables are flat float32 arrays, a row every
``width`` floats, with a zero row last, which pads blocks.
"""

from typing import Any, NamedTuple

import numpy as np

from firth.corpora.common.hashing import STRIDE
from firth.corpora.common.hashing_kernels import mix
from firth.corpora.common.jit import compiled
from firth.embed.word2vec.kernels.simd import (
    add_to_rows,
    prefetch_row,
    score_one,
    score_pair,
    score_to_step,
    step_block,
    step_one,
    sum_rows,
)
from firth.embed.word2vec.kernels.simd_ir import BLOCK, LANES, SLOT

_LOW_MASK = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)

_AHEAD = 2  # windows between prefetch and use
_FACTORS = 16  # multiplied between checks: none is below e^-30, so the product cannot underflow
_MIN_LIKELIHOOD = 1e-100  # below this, a product is added to the loss before it can underflow


class WindowBatch(NamedTuple):
    """The windows of n centers: int32 (n, 2 * window), int64 (n,), int32 (n, 1 + negatives).

    Window w has the context words ``contexts[w, :sizes[w]]``, from left to right; its targets are
    the center and its negatives.
    """

    contexts: Any
    sizes: Any
    targets: Any


class OutputPlaces(NamedTuple):
    """Where updated outputs are written; both (n, 1 + negatives).

    The update of a target, plus ``shares`` float32 (1 or 0) times the target itself, is written to
    the row in ``rows`` int32. A target is updated in place if that is its own row and its share 1.
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
    """Drop frequent words at random, and empty units; return the words and units kept."""
    # rows: int32 (n,); offsets: int64 (m + 1,), which may start above 0; limits: uint64 (V,)
    # state: uint64 (1,), advanced; kept: int32 (n,) and kept_offsets: int64 (m + 1,), output
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
def shuffle(kept: Any, kept_offsets: Any, state: Any) -> None:
    """Put the words of each unit in random order, by the method of Fisher and Yates."""
    # kept: int32 (n,), in place; kept_offsets: int64 (m + 1,); state: uint64 (1,), advanced
    for u in range(len(kept_offsets) - 1):
        first = kept_offsets[u]
        for last in range(kept_offsets[u + 1] - 1, first, -1):
            n_left = np.uint64(last - first + 1)
            other = first + np.int64(((next_random(state) >> _32) * n_left) >> _32)
            kept[last], kept[other] = kept[other], kept[last]


@compiled
def draw_windows(
    plan: Any, kept: Any, kept_offsets: Any, first: Any, last: Any, state: Any, windows: Any
) -> Any:
    """Draw the windows and negatives of centers ``first`` to ``last - 1``, into ``windows``.

    A negative that is the center itself is drawn again. A center alone in its
    unit has a window of size 0 and no negatives.
    """
    # kept: int32 (n,); kept_offsets: int64 (m + 1,); state: uint64 (1,), advanced
    # of the plan: noise_limits uint32 (V,), noise_others int32 (V,), see firth.embed.word2vec.noise
    contexts, sizes, targets = windows
    noise_limits, noise_others = plan.noise_limits, plan.noise_others
    n_words = np.uint64(len(noise_limits))
    unit = np.searchsorted(kept_offsets, first, side="right") - 1
    for i in range(first, last):
        while kept_offsets[unit + 1] <= i:
            unit += 1
        random = next_random(state)
        reach = plan.window
        if plan.dynamic:
            reach = 1 + np.int64(((random >> _32) * np.uint64(plan.window)) >> _32)
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
                if (random & _LOW_MASK) >= np.uint64(noise_limits[column]):
                    word = noise_others[column]
            targets[i - first, m] = word
    return WindowBatch(contexts, sizes[: last - first], targets)


@compiled
def learn_skipgram(
    inputs: Any, outputs: Any, width: Any, drawn: Any, places: Any, rate: Any, labels: Any,
    loss: Any,
) -> Any:  # fmt: skip
    """Train skip-gram: each context word predicts the center; return the number of pairs.

    Mikolov et al. 2013, arXiv:1310.4546. Outputs are processed BLOCK at a time; one
    block is scored, and both tables updated, before the next.
    """
    # inputs, outputs: float32 ((R + 1) * width,); rate: float32; labels: from pair_labels
    # loss: float64 (1,), the negative log-likelihood is added
    null = inputs.shape[0] - width
    blocks = len(labels) // (2 * LANES)
    input_offsets = np.full(drawn.contexts.shape[1] + 1, null)
    output_offsets, result_offsets, shares = _allocate_outputs(blocks, outputs.shape[0] - width)
    steps = np.empty((drawn.contexts.shape[1] + 1) * SLOT, dtype=np.float32)
    likelihoods = np.ones(LANES)
    pairs = 0
    factors = 0
    for w in range(len(drawn.sizes)):
        _prefetch_outputs(outputs, width, drawn, w + _AHEAD)
        n = drawn.sizes[w]
        if n == 0:
            continue
        pairs += n
        for k in range(n):
            input_offsets[k] = np.int64(drawn.contexts[w, k]) * width
        input_offsets[n] = null
        _place_outputs(width, drawn.targets, places, w, output_offsets, result_offsets, shares)
        for b in range(blocks):
            m = b * BLOCK
            for k in range(0, n, 2):
                row, other = input_offsets[k], input_offsets[k + 1]
                score_pair(inputs, row, other, outputs, output_offsets, m, width, steps, k * SLOT)
            for k in range(0, n, 2):
                place = (2 * b + int(k + 1 == n)) * LANES
                score_to_step(steps, k * SLOT, labels, place, rate, likelihoods)
                factors += 1
                if factors == _FACTORS:
                    _add_to_loss(likelihoods, _MIN_LIKELIHOOD, loss)
                    factors = 0
            step_block(
                inputs,
                input_offsets,
                n,
                outputs,
                output_offsets,
                m,
                result_offsets,
                shares,
                width,
                steps,
            )
    _add_to_loss(likelihoods, 2.0, loss)
    return pairs


@compiled
def learn_cbow(
    inputs: Any, outputs: Any, width: Any, drawn: Any, places: Any, rate: Any, labels: Any,
    loss: Any, mean: Any, corrected: Any,
) -> Any:  # fmt: skip
    """Train CBOW: the context words predict the center; return the number of windows.

    Mikolov et al. 2013, arXiv:1301.3781. Arguments are those of :func:`learn_skipgram`. If
    ``corrected``, context words get the gradient of their mean (Irsoy, Benton and Stratos 2021,
    arXiv:2012.15332), else the gradient with respect to the mean itself.
    """
    blocks = len(labels) // (2 * LANES)
    input_offsets = np.empty(drawn.contexts.shape[1], dtype=np.int64)
    output_offsets, result_offsets, shares = _allocate_outputs(blocks, outputs.shape[0] - width)
    steps = np.empty(LANES, dtype=np.float32)
    hidden = np.empty(width, dtype=np.float32)
    gain = np.empty(width, dtype=np.float32)
    likelihoods = np.ones(LANES)
    windows = 0
    factors = 0
    for w in range(len(drawn.sizes)):
        _prefetch_outputs(outputs, width, drawn, w + _AHEAD)
        n = drawn.sizes[w]
        if n == 0:
            continue
        windows += 1
        for k in range(n):
            input_offsets[k] = np.int64(drawn.contexts[w, k]) * width
        _place_outputs(width, drawn.targets, places, w, output_offsets, result_offsets, shares)
        sum_rows(inputs, input_offsets, n, width, np.float32(1 / n if mean else 1), hidden, 0)
        gain[:] = 0
        for b in range(blocks):
            m = b * BLOCK
            score_one(hidden, outputs, output_offsets, m, width, steps)
            score_to_step(steps, 0, labels, (2 * b + 1) * LANES, rate, likelihoods)
            factors += 1
            if factors == _FACTORS:
                _add_to_loss(likelihoods, _MIN_LIKELIHOOD, loss)
                factors = 0
            step_one(hidden, gain, outputs, output_offsets, m, result_offsets, shares, width, steps)
        if corrected:
            share = np.float32(1 / n)
            for d in range(width):
                gain[d] *= share
        add_to_rows(inputs, input_offsets, n, width, gain, 0)
    _add_to_loss(likelihoods, 2.0, loss)
    return windows


@compiled(inline="always")
def _allocate_outputs(blocks: Any, null: Any) -> Any:
    """Allocate offsets, result offsets and shares of whole blocks, padded with the zero row."""
    return (
        np.full(blocks * BLOCK, null),
        np.full(blocks * BLOCK, null),
        np.zeros(blocks * BLOCK, dtype=np.float32),
    )


@compiled(inline="always")
def _place_outputs(
    width: Any,
    targets: Any,
    places: Any,
    w: Any,
    output_offsets: Any,
    result_offsets: Any,
    shares: Any,
) -> None:
    """Set the offsets at which the outputs of a window are read and written."""
    for m in range(targets.shape[1]):
        output_offsets[m] = np.int64(targets[w, m]) * width
        result_offsets[m] = np.int64(places.rows[w, m]) * width
        shares[m] = places.shares[w, m]


def pair_labels(negatives: int) -> np.ndarray:
    """Return the label of each score: 1 for the center, 0 for a negative, -1 for padding.

    For each block of outputs: first the labels for two inputs, then those for a single one.
    """
    # returns float32 (blocks * 2 * LANES,)
    blocks = -(-(1 + negatives) // BLOCK)
    labels = np.full((blocks, 2, 2, SLOT), -1, dtype=np.float32)
    for m in range(1 + negatives):
        labels[m // BLOCK, :, :, m % BLOCK] = m == 0
    labels[:, 1, 1] = -1
    return labels.reshape(-1)


@compiled(inline="always")
def _prefetch_outputs(outputs: Any, width: Any, drawn: Any, w: Any) -> None:
    """Prefetch the outputs of a window; its inputs are those of neighboring windows."""
    if w < len(drawn.sizes) and drawn.sizes[w]:
        for m in range(drawn.targets.shape[1]):
            prefetch_row(outputs, np.int64(drawn.targets[w, m]) * width, width)


@compiled(inline="always")
def _add_to_loss(likelihoods: Any, limit: Any, loss: Any) -> None:
    """Add the likelihoods to the loss and reset them, if the smallest is below a limit."""
    smallest = likelihoods[0]
    for lane in range(1, LANES):
        smallest = min(smallest, likelihoods[lane])
    if not smallest > limit:  # also true for NaN
        for lane in range(LANES):
            loss[0] -= np.log(likelihoods[lane])
            likelihoods[lane] = 1
