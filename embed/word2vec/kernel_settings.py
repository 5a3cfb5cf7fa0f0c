"""From options to what the kernels of word2vec take."""

from typing import TYPE_CHECKING

import numpy as np

from embed.word2vec.kernels.rounds import CBOW_MEAN, CBOW_SUM, SKIPGRAM, Plan
from embed.word2vec.kernels.windows import pair_labels
from embed.word2vec.noise import keep_limits, noise_table

if TYPE_CHECKING:
    from embed.word2vec.train import CbowConfig, SkipGramConfig


def make_plan(counts: np.ndarray, config: "SkipGramConfig | CbowConfig", method: str) -> Plan:
    """Say how windows are drawn and learnt from.

    Parameters
    ----------
    counts : int64 (V,)
        Of the words.
    config : SkipGramConfig or CbowConfig
        The options.
    method : {"skipgram", "cbow"}
        Which of them.

    Returns
    -------
    Plan

    Raises
    ------
    SettingError
        There are not two words to draw negatives from.
    """
    noise = noise_table(counts, config.unigram_exponent)
    kind = SKIPGRAM
    if method == "cbow":
        kind = CBOW_SUM if getattr(config, "sum", False) else CBOW_MEAN
    return Plan(
        method=kind,
        window=config.window,
        dynamic=config.window_weighting == "dynamic",
        negatives=config.negatives,
        keep_limits=keep_limits(counts, config.subsample),
        noise_limits=noise.limits,
        noise_others=noise.others,
        labels=pair_labels(config.negatives),
    )
