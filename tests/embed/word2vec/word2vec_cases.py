"""Text, tables and plans shared by the tests of word2vec."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from firth.embed.word2vec.config import CbowConfig, SkipGramConfig
from firth.embed.word2vec.initial import fill_tables
from firth.embed.word2vec.kernel_settings import make_plan
from firth.embed.word2vec.kernels.rounds import CBOW_CORRECTED, CBOW_SUM, SKIPGRAM
from firth.embed.word2vec.kernels.simd_ir import BLOCK, LANES
from firth.embed.word2vec.kernels.windows import (
    OutputPlaces,
    WindowBatch,
    learn_cbow,
    learn_skipgram,
)
from tests.corpora.small_corpora import build
from tests.embed.word2vec import naive_word2vec as naive

METHODS = {
    "skipgram": SkipGramConfig,
    "mean": CbowConfig,
    "corrected": partial(CbowConfig, combine="corrected"),
    "sum": partial(CbowConfig, combine="sum"),
}
LENGTHS = (1, 30, 2, 1, 90, 57, 7)
U = 2.0**-24  # unit roundoff of float32
# The kernels compute the probability of a label to a relative 5e-7 (test_simd.py), and the loss of
# a label is about log 2 while vectors are short.
LOSS_SHARE = 1e-6


def initial_tables(words, dim, seed, init, buckets):
    """Initial input and context tables without padding, float32 (V + B, D) and (V, D)."""
    inputs = np.zeros((len(words) + len(buckets), dim), np.float32)
    contexts = np.zeros((len(words), dim), np.float32)
    fill_tables(inputs, contexts, words, seed, init, buckets)
    return inputs, contexts


class ViewedCorpus:
    """A corpus with a single view, for all options."""

    path, fingerprint = Path("small"), "0123456789abcdef"
    trained_on: ClassVar = {"corpus": fingerprint}
    default_min_count = 5

    def __init__(self, view):
        self._view = view

    def view(self, **_):
        """The view."""
        return self._view


def corpus_of(folder, lines, **options):
    """Build a corpus whose documents are lines."""
    usual = {"documents": "line", "held_out": 0.0, "threads": 1}
    return build(folder, "\n".join(lines), **{**usual, **options})


def zipf_units(seed, lengths=LENGTHS, n_words=40):
    """Return units of Zipf-distributed words; many occur near themselves."""
    rng = np.random.default_rng(seed)
    return [(rng.zipf(1.4, size=n) - 1).clip(0, n_words - 1).tolist() for n in lengths]


def counts_of(units, n_words=40):
    """Count each word, at least 1."""
    tokens = [word for unit in units for word in unit]
    return np.maximum(1, np.bincount(tokens, minlength=n_words))


def concatenated(units):
    """Return rows and offsets of the units."""
    rows = np.array([word for unit in units for word in unit], dtype=np.int32)
    return rows, np.cumsum([0] + [len(unit) for unit in units])


def plan_of(counts, method="skipgram", *, dynamic=True, **options):
    """Return the training plan for some options."""
    options = {"window": 5, "subsample": 0.1, **options}
    options["window_weighting"] = "dynamic" if dynamic else "flat"
    return make_plan(counts, METHODS[method](**options))


def allocate_windows(n, window, negatives):
    """Allocate n windows."""
    return WindowBatch(
        np.empty((n, 2 * window), dtype=np.int32),
        np.empty(n, dtype=np.int64),
        np.empty((n, 1 + negatives), dtype=np.int32),
    )


def in_place(windows):
    """Return the places for updating every target in place."""
    return OutputPlaces(windows.targets, np.ones(windows.targets.shape, dtype=np.float32))


def learn(tables, plan, windows, rate, places=None, loss=None):
    """Update the tables with the kernel; return the loss, added to an earlier one, and pairs."""
    loss = np.zeros(1) if loss is None else loss
    inputs, outputs = (table.reshape(-1) for table in tables)
    places = places or in_place(windows)
    about = (tables[0].shape[1], windows, places, np.float32(rate), plan.labels, loss)
    if plan.method == SKIPGRAM:
        pairs = learn_skipgram(inputs, outputs, *about)
    else:
        mean, corrected = plan.method != CBOW_SUM, plan.method == CBOW_CORRECTED
        pairs = learn_cbow(inputs, outputs, *about, mean, corrected)
    return loss[0], pairs


def twin_windows(units, plan, stream, *, empty=False):
    """Return the windows of the naive twin, from a stream or its initial state."""
    return naive.windows(
        units,
        stream if isinstance(stream, naive.Stream) else naive.Stream(stream),
        keep_limits=plan.keep_limits,
        noise=naive.NoiseTable(plan.noise_limits, plan.noise_others),
        window=plan.window,
        dynamic=plan.dynamic,
        shuffled=plan.shuffled,
        negatives=plan.negatives,
        empty=empty,
    )


def twin_learner(plan, rate):
    """Return the naive twin's function of tables and windows."""

    def learn(words, contexts, chunk):
        if plan.method == SKIPGRAM:
            return naive.skipgram(words, contexts, chunk, rate, block=BLOCK)
        divided = plan.method == CBOW_CORRECTED
        return naive.cbow(
            words, contexts, chunk, rate,
            mean=plan.method != CBOW_SUM,
            input_share=lambda n: 1 / n if divided else 1,
            block=BLOCK,
        )  # fmt: skip

    return learn


def random_tables(n_inputs, n_outputs, dim, seed=0, scale=0.1, *, spare=0):
    """Return random tables in the form of the kernels: padded columns, a zero row last.

    The ``spare`` rows behind the outputs are NaN, to detect reads before writes.
    """
    rng = np.random.default_rng(seed)
    width = -(-dim // LANES) * LANES
    tables = []
    for n, more in ((n_inputs, 0), (n_outputs, spare)):
        table = np.zeros((n + more + 1, width), dtype=np.float32)
        table[:n, :dim] = rng.normal(0, scale, (n, dim))
        table[n:-1] = np.nan
        tables.append(table)
    return tables


def as_float64(tables, dim, n_outputs=None):
    """Return the tables in the form of the twin: float64, without padding and spare rows."""
    inputs, outputs = (table[:-1, :dim].astype(np.float64) for table in tables)
    return [inputs, outputs[:n_outputs]]


def rounding(expected, windows):
    """Return how far tables in float32 may be from the expected ones after learning from windows.

    An update rounds an entry by a relative u, and its step by a few u more: after n updates of a
    row about sqrt(n) u of its largest entry, times eight for the "few" and the tail of the walk.
    """
    updates = Counter()
    for window in windows:
        targets = (window.center, *window.negatives)
        updates.update({("output", row): len(window.contexts) for row in targets})
        updates.update(("input", row) for row in window.contexts for _ in targets)
    largest = max(np.abs(table).max() for table in expected)
    return 8 * U * largest * np.sqrt(max(updates.values(), default=0))


def assert_tables_near(tables, expected, dim, atol):
    """Compare tables; the padding must still be zero, spare rows may have any values."""
    for table, wanted in zip(tables, expected, strict=True):
        np.testing.assert_allclose(table[: len(wanted), :dim], wanted, rtol=0, atol=atol)
        assert not table[-1].any()
        assert not table[: len(wanted), dim:].any()
