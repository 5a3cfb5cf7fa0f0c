"""How much arithmetic a row costs, for the share of the device's peak that a training reaches."""

from torch import nn

from pretrain.config import EncoderConfig
from pretrain.model.attention import block_size
from pretrain.model.encoder import MaskedLanguageModel

# A product of a state with a matrix: a multiplication and an addition for each weight, once
# forward and twice backward.
_PER_WEIGHT = 6


def row_flops(model: MaskedLanguageModel, capacity: int) -> float:
    """Count the floating-point operations of one row in training, forward and backward.

    Products with matrices only: norms, activations, softmax and lookups are left out, as is
    usual. The last block makes queries, keys and values of all slots, and goes on with those that
    are predicted; so does the head. Attention counts the keys of the row that a mask hides,
    too; the kernel for segments of any length leaves most of those out, so that a share of the
    peak that was reached with it is a little too high.
    """
    config = model.config
    *whole, last = model.core.blocks
    length = config.max_length
    n_projected = _n_matrix_weights(last.mixer.qkv)  # type: ignore[union-attr, arg-type]
    weights = length * sum(map(_n_matrix_weights, whole))
    weights += length * n_projected + capacity * (_n_matrix_weights(last) - n_projected)
    weights += capacity * (_n_matrix_weights(model.core.head) + model.pieces.weight.numel())
    keys = [_keys(config, layer) for layer in range(config.layers)]
    products = length * sum(keys[:-1]) + capacity * keys[-1]  # of a query and a key
    # as many again for the sum of the values
    return float(_PER_WEIGHT * (weights + 2 * config.dim * products))


def _n_matrix_weights(part: nn.Module) -> int:
    """Weights of all matrices."""
    return sum(weight.numel() for weight in part.parameters() if weight.ndim >= 2)


def _keys(config: EncoderConfig, layer: int) -> int:
    """Keys that are computed for each query of a layer."""
    span = config.span_of(layer)
    near = config.max_length if span is None else block_size(span) + 2 * span
    return min(config.max_length, near)
