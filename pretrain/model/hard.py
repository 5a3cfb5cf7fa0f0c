"""Attention that leaves slots out: hard, which reads one, and sparsemax, which reads a few.

One slot instead of a mean is hard attention of Xu et al. 2015 (arXiv:1502.03044); its gradient
here is the straight-through estimate of Jang et al. 2017 (arXiv:1611.01144), temperature 1.
Sparsemax is Martins and Astudillo 2016 (arXiv:1602.02068).
"""

import torch
from torch import Tensor

from firth.pretrain.data.stateless_random import row_uniform

_LEAST = 2.0**-25  # instead of 0, whose logarithm is infinite


def choose_one(scores: Tensor, noise: Tensor | None, layer: int) -> Tensor:
    """Return weights that are 1 for one key and 0 for all others, with the gradient of a softmax.

    With ``noise`` key j is chosen with probability softmax(scores)_j, else the best one is.
    """
    # scores: float32 (B or B * blocks, heads, n_queries, n_keys), -inf where masked
    # noise: int64 (B,), a key per row; returns float32 like the scores
    if noise is not None:
        scores = scores + gumbel(noise, layer, scores.shape)
    soft = torch.softmax(scores, -1)
    hard = torch.zeros_like(soft).scatter_(-1, scores.argmax(-1, keepdim=True), 1.0)
    # the difference is exactly 0, so that the result is exactly 0 and 1
    return hard + (soft - soft.detach())


def sparsemax(scores: Tensor) -> Tensor:
    """Return the weights nearest to the scores: max(0, score - threshold), which sum to 1."""
    # scores: float32 (..., n_keys), -inf where masked; returns float32 like the scores
    ordered = scores.sort(-1, descending=True).values
    sums = ordered.cumsum(-1)
    numbers = torch.arange(1, scores.shape[-1] + 1, device=scores.device)
    n_read = (1 + numbers * ordered > sums).sum(-1, keepdim=True)
    threshold = (sums.gather(-1, n_read - 1) - 1) / n_read
    return (scores - threshold).relu()


def gumbel(keys: Tensor, layer: int, shape: torch.Size) -> Tensor:
    """Return Gumbel noise, -log(-log u), of a layer, float32; each row's is a function of its key.

    So it is the same in mini-batches, after resuming and in compiled code.
    """
    # keys: int64 (B,)
    uniform = row_uniform(keys, layer, shape.numel() // len(keys)).clamp(min=_LEAST)
    return -torch.log(-torch.log1p(-uniform)).view(shape)
