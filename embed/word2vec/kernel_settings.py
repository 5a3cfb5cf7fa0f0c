"""From options to what the kernels take: how to learn, how long rounds are, room for them."""

from typing import NamedTuple

import numpy as np

from embed.word2vec.config import CbowConfig, Tuning, Word2VecConfig
from embed.word2vec.kernels.rounds import CBOW_MEAN, CBOW_SUM, DRAWN, SKIPGRAM, Copies, Plan, Shards
from embed.word2vec.kernels.windows import pair_labels
from embed.word2vec.noise import keep_limits, noise_table

_SHARDS = 8
_USUAL = 30  # window times outputs, of a window of 5 with 5 negatives
_MOST_OUTPUTS = 16_384  # of a shard's round: they are rows to work with, and numbers of 16 bits


def make_plan(counts: np.ndarray, config: Word2VecConfig) -> Plan:
    """Say how windows are drawn and learnt from."""
    # counts: int64 (V,)
    noise = noise_table(counts, config.unigram_exponent)
    method = SKIPGRAM
    if isinstance(config, CbowConfig):
        method = CBOW_SUM if config.sum else CBOW_MEAN
    return Plan(
        method=method,
        window=config.window,
        dynamic=config.window_weighting == "dynamic",
        negatives=config.negatives,
        keep_limits=keep_limits(counts, config.subsample),
        noise_limits=noise.limits,
        noise_others=noise.others,
        labels=pair_labels(config.negatives),
    )


class Rounds(NamedTuple):
    """How the deterministic mode divides the text; the same at any number of threads."""

    shards: int  # chunks of text at the same time
    words: int  # of each, before the gains of all are added up


def choose_rounds(counts: np.ndarray, plan: Plan, tuning: Tuning) -> Rounds:
    """Make rounds as long as they may be, and short where one word is much of the text."""
    # counts: int64 (V,)
    kept = counts * plan.keep_limits.astype(np.float64)
    outputs = 1 + plan.negatives
    most = tuning.most_often * kept.sum() / kept.max() * min(1.0, _USUAL / (plan.window * outputs))
    words = int(min(most, tuning.round_words, _MOST_OUTPUTS // outputs))
    return Rounds(_SHARDS, words) if words > 1 else Rounds(1, min(16, _MOST_OUTPUTS // outputs))


def spare_rows(plan: Plan, rounds: Rounds | None) -> int:
    """Say how many rows the deterministic mode needs to work with behind the outputs."""
    return rounds.shards * _most_words(plan, rounds) if rounds else 0


def _most_words(plan: Plan, rounds: Rounds) -> int:
    """How many inputs, or outputs, a shard can touch in a round."""
    return max(rounds.words + 2 * plan.window, rounds.words * (1 + plan.negatives))


def room_for_inputs(plan: Plan, n_words: int, width: int) -> Copies:
    """Make one thread's room for composed inputs."""
    size = DRAWN + 2 * plan.window if n_words else 0
    return Copies(
        np.zeros((n_words, 1), dtype=np.int32),
        np.empty(size, dtype=np.int32),
        np.zeros((size + 1) * width, dtype=np.float32),
        np.empty(size * width, dtype=np.float32),
    )


def room_for_rounds(plan: Plan, rounds: Rounds, n_words: int, width: int) -> Shards:
    """Make room for the private rows of all shards; their text comes with each batch."""
    n_shards, most = rounds.shards, _most_words(plan, rounds)
    assert most < np.iinfo(np.uint16).max  # a slot's number
    n_inputs = rounds.words + 2 * plan.window
    return Shards(
        bounds=np.empty(0, dtype=np.int64),
        kept=np.empty(0, dtype=np.int32),
        kept_offsets=np.empty(0, dtype=np.int64),
        n_kept=np.zeros((n_shards, 2), dtype=np.int64),
        words=np.empty((n_shards, 2, most), dtype=np.int32),
        n_words=np.zeros((n_shards, 2), dtype=np.int64),
        inputs=np.zeros((n_shards, (n_inputs + 1) * width), dtype=np.float32),
        before=np.empty((n_shards, n_inputs * width), dtype=np.float32),
        first_row=n_words,
        slots=np.zeros((2, n_words, n_shards), dtype=np.uint16),
    )
