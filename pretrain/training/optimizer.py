"""AdamW: which weights decay, and its state as arrays for checkpoints."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

# 0.98 rather than 0.999: gradients change fast in short trainings
# (Liu et al. 2019, arXiv:1907.11692, section 3.1).
_BETAS = (0.9, 0.98)
_EPSILON = 1e-8
_WEIGHTS, _MOMENTS = "weights", ("exp_avg", "exp_avg_sq")


def make_optimizer(model: nn.Module, weight_decay: float) -> torch.optim.AdamW:
    """Make a fused AdamW (Loshchilov and Hutter 2019, arXiv:1711.05101) with learning rate 0.

    Matrices decay; embeddings, norms and biases do not.
    """
    decaying, others = split_weights(model)
    groups = [
        {"params": decaying, "weight_decay": weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=0.0, betas=_BETAS, eps=_EPSILON, fused=True)


def split_weights(model: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """Return the weights that decay, and the others: embeddings, norms and biases.

    A table that is also the output matrix counts as embeddings.
    """
    tables = {
        id(weight)
        for part in model.modules()
        if isinstance(part, nn.Embedding)
        for weight in part.parameters()
    }
    decaying: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for weight in model.parameters():
        (decaying if weight.ndim >= 2 and id(weight) not in tables else others).append(weight)
    return decaying, others


def state_arrays(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, np.ndarray]:
    """Return weights and moments as flat float32 arrays for a checkpoint; moments start at 0."""
    weights = list(model.parameters())
    arrays = {_WEIGHTS: _flat(weights)}
    for moment in _MOMENTS:
        arrays[moment] = _flat(
            [optimizer.state[w].get(moment, torch.zeros_like(w)) for w in weights]
        )
    return arrays


def load_state(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    arrays: dict[str, np.ndarray],
    step: int,
) -> None:
    """Restore what :func:`state_arrays` returned; ``step`` is for Adam's bias correction."""
    weights = list(model.parameters())
    with torch.no_grad():
        for weight, saved in zip(weights, _parts(arrays[_WEIGHTS], weights), strict=True):
            weight.copy_(saved)
        moments = [_parts(arrays[moment], weights) for moment in _MOMENTS]
        for weight, *saved_moments in zip(weights, *moments, strict=True):
            state = {
                name: saved.to(weight.device).clone()
                for name, saved in zip(_MOMENTS, saved_moments, strict=True)
            }
            # fused AdamW needs its step counter on the weights' device
            state["step"] = torch.tensor(float(step), device=weight.device)
            optimizer.state[weight] = state


def n_weights(model: nn.Module) -> int:
    """Count the weights; a shared matrix counts once."""
    return sum(weight.numel() for weight in model.parameters())


def _flat(tensors: Sequence[torch.Tensor]) -> np.ndarray:
    """Flatten tensors into one array; on the CPU, since a GPU may lack the memory."""
    array: np.ndarray = torch.cat([t.detach().reshape(-1).cpu() for t in tensors]).numpy()
    return array


def _parts(array: np.ndarray, weights: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Split a flat array into tensors of the weights' shapes."""
    sizes = [weight.numel() for weight in weights]
    parts = torch.from_numpy(np.array(array)).split(sizes)
    return [part.view_as(weight) for part, weight in zip(parts, weights, strict=True)]
