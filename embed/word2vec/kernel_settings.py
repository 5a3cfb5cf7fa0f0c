"""Turn options into kernel arguments: the training plan, round sizes and buffers."""

from typing import NamedTuple

import numpy as np

from firth.corpora.common.options import ALL
from firth.embed.word2vec.config import CbowConfig, Tuning, Word2VecConfig
from firth.embed.word2vec.kernels.rounds import (
    CBOW_CORRECTED,
    CBOW_MEAN,
    CBOW_SUM,
    DRAWN,
    SKIPGRAM,
    Copies,
    LockstepChunks,
    Plan,
)
from firth.embed.word2vec.kernels.windows import pair_labels
from firth.embed.word2vec.noise import keep_limits, noise_table

_CBOW = {"mean": CBOW_MEAN, "sum": CBOW_SUM, "corrected": CBOW_CORRECTED}
_SET_WINDOW = 10  # in a shuffled unit: a sample of its pairs, all if it has at most 11 words
_LOCKSTEP_CHUNKS = 8
_TYPICAL_PAIRS = 30  # window times outputs, for a window of 5 with 5 negatives
_MAX_OUTPUTS = 16_384  # per chunk and round: each takes a work row and a 16-bit slot number


def make_plan(counts: np.ndarray, config: Word2VecConfig) -> Plan:
    """Return how windows are drawn and trained on; ``config.subsample`` is a number."""
    # counts: int64 (V,)
    assert config.subsample is not None
    noise = noise_table(counts, config.unigram_exponent)
    return Plan(
        method=_CBOW[config.combine] if isinstance(config, CbowConfig) else SKIPGRAM,
        window=_SET_WINDOW if config.window == ALL else config.window,
        shuffled=config.window == ALL,
        dynamic=config.window_weighting == "dynamic",
        negatives=config.negatives,
        keep_limits=keep_limits(counts, config.subsample),
        noise_limits=noise.limits,
        noise_others=noise.others,
        labels=pair_labels(config.negatives),
    )


class Rounds(NamedTuple):
    """Round sizes of the deterministic mode; the same at any number of threads."""

    chunks: int  # chunks trained in lockstep
    words: int  # words per chunk and round, after which the updates of all chunks are added up


def choose_rounds(counts: np.ndarray, plan: Plan, tuning: Tuning) -> Rounds:
    """Return the longest rounds that train well: short if one word is a large share of the text."""
    # counts: int64 (V,)
    kept = counts * plan.keep_limits.astype(np.float64)
    outputs = 1 + plan.negatives
    scale = min(1.0, _TYPICAL_PAIRS / (plan.window * outputs))
    limit = tuning.max_expected_count * kept.sum() / kept.max() * scale
    words = int(min(limit, tuning.round_words, _MAX_OUTPUTS // outputs))
    if words > 1:
        return Rounds(_LOCKSTEP_CHUNKS, words)
    return Rounds(1, min(16, _MAX_OUTPUTS // outputs))


def spare_rows(plan: Plan, rounds: Rounds | None) -> int:
    """Return how many work rows the deterministic mode needs behind the outputs."""
    return rounds.chunks * _max_words(plan, rounds) if rounds else 0


def _max_words(plan: Plan, rounds: Rounds) -> int:
    """Return the most inputs, or outputs, that a chunk can touch in a round."""
    return max(rounds.words + 2 * plan.window, rounds.words * (1 + plan.negatives))


def allocate_copies(plan: Plan, n_words: int, width: int) -> Copies:
    """Allocate one thread's copies of composed inputs; none if ``n_words`` is 0."""
    size = DRAWN + 2 * plan.window if n_words else 0
    return Copies(
        np.zeros((n_words, 1), dtype=np.int32),
        np.empty(size, dtype=np.int32),
        np.zeros((size + 1) * width, dtype=np.float32),
        np.empty(size * width, dtype=np.float32),
    )


def allocate_chunks(plan: Plan, rounds: Rounds, n_words: int, width: int) -> LockstepChunks:
    """Allocate the private rows of all chunks; their text is set for each batch."""
    n_chunks, max_words = rounds.chunks, _max_words(plan, rounds)
    assert max_words < np.iinfo(np.uint16).max  # slot numbers are uint16
    n_inputs = rounds.words + 2 * plan.window
    return LockstepChunks(
        bounds=np.empty(0, dtype=np.int64),
        kept=np.empty(0, dtype=np.int32),
        kept_offsets=np.empty(0, dtype=np.int64),
        n_kept=np.zeros((n_chunks, 2), dtype=np.int64),
        words=np.empty((n_chunks, 2, max_words), dtype=np.int32),
        n_words=np.zeros((n_chunks, 2), dtype=np.int64),
        inputs=np.zeros((n_chunks, (n_inputs + 1) * width), dtype=np.float32),
        originals=np.empty((n_chunks, n_inputs * width), dtype=np.float32),
        first_row=n_words,
        slots=np.zeros((2, n_words, n_chunks), dtype=np.uint16),
    )
