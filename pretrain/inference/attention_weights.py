"""Where an encoder looks while it reads one sentence, layer by layer and head by head."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpora.common.errors import SettingError
from pretrain.inference.mlm_encoder import open_run

_DIGITS = 6  # of a weight in JSON


@dataclass(frozen=True)
class SentenceAttention:
    """The attention weights of one sentence."""

    text: str  # as it was given
    pieces: tuple[str, ...]  # T pieces, [CLS] first and [SEP] last
    layers: tuple[int, ...]  # which layers and heads, from 0
    heads: tuple[int, ...]  # which layers and heads, from 0
    # float32 (L, H, T, T): how much each piece (third axis) takes from each (fourth); rows sum to
    # 1
    weights: np.ndarray

    def to_json(self) -> dict[str, Any]:
        """Give everything as JSON."""
        rounded = np.round(self.weights.astype(np.float64), _DIGITS).tolist()
        return {
            "text": self.text,
            "pieces": list(self.pieces),
            "layers": [
                {
                    "layer": layer,
                    "heads": [
                        {"head": head, "weights": rows}
                        for head, rows in zip(self.heads, of_layer, strict=True)
                    ],
                }
                for layer, of_layer in zip(self.layers, rounded, strict=True)
            ],
        }

    def strongest(self) -> list[list[tuple[str, float]]]:
        """Find what each piece attends to most."""
        mean = self.weights.mean(axis=1)
        best = mean.argmax(-1)  # (L, T)
        return [
            [(self.pieces[best[i, q]], float(mean[i, q, best[i, q]])) for i in range(len(mean))]
            for q in range(len(self.pieces))
        ]


def attend(
    run: str | os.PathLike[str], sentence: str, *, layer: int | None = None, head: int | None = None
) -> SentenceAttention:
    """Let a run's encoder read a sentence.

    Parameters
    ----------
    run : str or Path
        A run of ``train-mlm``.
    sentence : str
        Raw text, segmented as the run's corpus was.
    layer, head : int, optional
        The only ones wanted, from 0.

    Returns
    -------
    SentenceAttention
        In float32, on the CPU.

    Raises
    ------
    ArtifactError
        The run is damaged, or no masked language model.
    SettingError
        The sentence has no words or too many pieces, or there is no such layer or head.
    """
    encoder = open_run(run, "cpu")
    config = encoder.model.config
    layers = _chosen("layer", layer, "layers", config.layers)
    heads = _chosen("head", head, "heads", config.heads)
    pieces, weights = encoder.attention(encoder.words(sentence))
    return SentenceAttention(sentence, tuple(pieces), layers, heads, weights[np.ix_(layers, heads)])


def _chosen(setting: str, number: int | None, what: str, n: int) -> tuple[int, ...]:
    """All of them, or the one that was asked for."""
    if number is None:
        return tuple(range(n))
    if not 0 <= number < n:
        raise SettingError(f"`{setting}={number}`: the encoder has {what} 0 to {n - 1}")
    return (number,)
