"""Floating-point operations of a row, for model FLOPs utilization (MFU)."""

from torch import nn

from pretrain.config import EncoderConfig
from pretrain.model.attention import block_size
from pretrain.model.encoder import MaskedLanguageModel

# a multiplication and an addition per weight, once forward and twice backward
_PER_WEIGHT = 6


def row_flops(model: MaskedLanguageModel, capacity: int) -> float:
    """Count the floating-point operations of one row in training, forward and backward.

    Matrix products only, as is usual. The last block computes queries, keys and values of all
    slots; what follows, and the head, only the ``capacity`` predicted slots. Masked keys count,
    although the varlen kernel skips most of them, so its utilization comes out a little too high.
    """
    config = model.config
    *full, last = model.core.blocks
    length = config.max_length
    n_projected = _n_matrix_weights(last.mixer.qkv)  # type: ignore[union-attr, arg-type]
    weights = length * sum(map(_n_matrix_weights, full))
    weights += length * n_projected + capacity * (_n_matrix_weights(last) - n_projected)
    weights += capacity * (_n_matrix_weights(model.core.head) + model.pieces.weight.numel())
    keys = [_keys(config, layer) for layer in range(config.layers)]
    products = length * sum(keys[:-1]) + capacity * keys[-1]  # pairs of query and key
    # times 2: scores, and the weighted sum of the values
    return float(_PER_WEIGHT * (weights + 2 * config.dim * products))


def _n_matrix_weights(part: nn.Module) -> int:
    """Count the weights of all matrices."""
    return sum(weight.numel() for weight in part.parameters() if weight.ndim >= 2)


def _keys(config: EncoderConfig, layer: int) -> int:
    """Return how many keys a layer scores for each query."""
    span = config.span_of(layer)
    window = config.max_length if span is None else block_size(span) + 2 * span
    return min(config.max_length, window)
