"""Floating-point operations of a row, for model FLOPs utilization (MFU)."""

from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.layers import Block
from firth.pretrain.model.mixers.base import n_matrix_weights

# a multiplication and an addition, once forward and twice backward
_PER_PRODUCT = 6


def row_flops(model: MaskedLanguageModel, capacity: int) -> float:
    """Count the floating-point operations of one row in training, forward and backward.

    Matrix products only, as is usual. The last block mixes all slots into the ``capacity``
    predicted ones; what follows, and the head, computes only these. Masked keys count,
    although the varlen kernel skips most of them, so its utilization comes out a little too high.
    """
    length, decoder = model.config.max_length, model.core.decoder
    last = -1 if decoder else len(model.core.blocks) - 1  # a decoder reads all slots
    products = capacity * (n_matrix_weights(model.core.head) + model.table.numel())
    if model.core.pointer is not None:
        products = model.core.pointer.products(length, capacity)
    products += decoder.products(length, capacity) if decoder else 0
    for layer, block in enumerate(model.core.blocks):
        assert isinstance(block, Block)
        n_out = capacity if layer == last else length
        products += block.mixer.products(length, n_out)
        products += n_out * n_matrix_weights(block.feed_forward)
    return float(_PER_PRODUCT * products)
