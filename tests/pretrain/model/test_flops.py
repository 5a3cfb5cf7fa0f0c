"""FLOPs of a row, against a count of torch's multiplications."""

import dataclasses

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from firth.pretrain.attention_scores import SCORES
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.flops import row_flops
from firth.pretrain.shape import EncoderConfig
from tests.pretrain.training.test_evaluation import batch_of


@pytest.mark.slow
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"feed_forward": "gelu", "norm": "post", "positions": "learned"},
        *({"attention_score": score} for score in SCORES),
        {"positions": "relative"},
    ],
)
def test_the_count_is_that_of_the_products_that_are_computed(layers, options):
    config = EncoderConfig(
        n_pieces=50, layers=layers, heads=2, dim=16, feed_forward_dim=24, max_length=32, **options
    )
    model = MaskedLanguageModel(config)
    batch = batch_of([[5, 6, 7]] * 4, [[1, 1, 1]] * 4, n_slots=32)
    plain = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)
    with plain, FlopCounterMode(display=False) as counter:
        model.loss(batch)[0].backward()
    # the gradient of what went into the first products is wanted, too: embeddings are weights
    assert counter.get_total_flops() == pytest.approx(4 * row_flops(model, 3), rel=1e-9)


def test_truncated_attention_counts_the_keys_of_its_blocks():
    shape = {"n_pieces": 50, "layers": 1, "heads": 2, "dim": 16, "feed_forward_dim": 24}
    far = MaskedLanguageModel(EncoderConfig(max_length=64, **shape))
    near = [
        MaskedLanguageModel(EncoderConfig(max_length=64, attention_span=span, **shape))
        for span in (4, 20)
    ]
    fewer = [row_flops(far, 3) - row_flops(model, 3) for model in near]
    assert fewer == [6 * 2 * 16 * 3 * (64 - keys) for keys in (16 + 2 * 4, 20 + 2 * 20)]


def test_a_decoder_counts_its_own_products():
    shape = {"n_pieces": 50, "layers": 2, "heads": 2, "dim": 16, "feed_forward_dim": 24}
    model = MaskedLanguageModel(EncoderConfig(max_length=32, decoder_layers=2, **shape))
    batch = batch_of([[5, 6, 7]] * 4, [[1, 1, 1]] * 4, n_slots=32)
    batch = dataclasses.replace(batch, decoder=torch.zeros(4, 3, 3, dtype=torch.int64))
    plain = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)
    with plain, FlopCounterMode(display=False) as counter:
        model.loss(batch)[0].backward()
    assert counter.get_total_flops() == pytest.approx(4 * row_flops(model, 3), rel=1e-9)
