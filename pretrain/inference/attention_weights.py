"""Attention weights of an encoder on one sentence, by layer and head."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from firth.corpora.common.errors import SettingError
from firth.pretrain.inference.mlm_encoder import open_run
from firth.pretrain.inference.transducer import Transducer

_DIGITS = 6  # of a weight, in JSON


@dataclass(frozen=True)
class SentenceAttention:
    """The attention weights of one sentence."""

    text: str  # the sentence
    pieces: tuple[str, ...]  # T pieces, [CLS] first and [SEP] last
    layers: tuple[int, ...]  # numbers of the layers, from 0
    heads: tuple[int, ...]  # numbers of the heads, from 0
    weights: np.ndarray  # float32 (L, H, T, S): by layer, head, query, key; rows sum to 1
    # S pieces that these read, if they are others: a source, for the pieces of its target
    read: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The pieces that are read."""
        return self.read or self.pieces

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON."""
        rounded = np.round(self.weights.astype(np.float64), _DIGITS).tolist()
        return {
            "text": self.text,
            "pieces": list(self.pieces),
            **({"read": list(self.read)} if self.read else {}),
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
        """Return, by piece and layer, the piece it attends to most, with the mean over heads."""
        mean = self.weights.mean(axis=1)
        best = mean.argmax(-1)  # (L, T)
        return [
            [(self.keys[best[i, q]], float(mean[i, q, best[i, q]])) for i in range(len(mean))]
            for q in range(len(self.pieces))
        ]


def attend(
    run: str | os.PathLike[str], sentence: str, *, layer: int | None = None, head: int | None = None
) -> SentenceAttention:
    """Compute the attention weights of a run's encoder on a sentence.

    Parameters
    ----------
    run : str or Path
        A run of ``train-mlm``.
    sentence : str
        Raw text, segmented like the run's corpus; ``[MASK]`` is a mask. For a run of
        ``objective="transduce"`` a source, with its tags behind a tab: the weights are then those
        of the pieces of its target, and its end, on the pieces of the source.
    layer, head : int, optional
        Return only this layer or head, from 0; by default all that have attention.

    Returns
    -------
    SentenceAttention
        Weights float32 (L, H, T, S), computed on the CPU, with the names of the T pieces, which
        read themselves, so that S is T, or S pieces of a source.

    Raises
    ------
    ArtifactError
        The run is damaged or not a masked language model.
    SettingError
        The sentence has no words or too many pieces, or there is no such layer or head, or the
        layer has no attention.
    """
    encoder = open_run(run, "cpu")
    config = encoder.model.config
    layers = None if layer is None else _selected("layer", layer, "layers", config.layers)
    heads = _selected("head", head, "heads", config.heads)
    if isinstance(encoder, Transducer):
        pieces, read, weights = encoder.alignment(sentence)
        layers = layers or tuple(range(config.layers))
        chosen = weights[list(layers)][:, heads]
        return SentenceAttention(sentence, tuple(pieces), layers, heads, chosen, tuple(read))
    pieces, weights = encoder.attention(encoder.words_and_masks(sentence), layers)
    layers = layers or tuple(encoder.attention_layers)
    return SentenceAttention(sentence, tuple(pieces), layers, heads, weights[:, heads])


def _selected(setting: str, number: int | None, what: str, n: int) -> tuple[int, ...]:
    """Return all numbers below ``n``, or only the selected one."""
    if number is None:
        return tuple(range(n))
    if not 0 <= number < n:
        raise SettingError(f"`{setting}={number}`: the encoder has {what} 0 to {n - 1}")
    return (number,)
