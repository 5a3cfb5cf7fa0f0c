"""AdamW, Muon for the matrices of the blocks, and their state as arrays for checkpoints."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from firth.pretrain.model.layers import FeedForward
from firth.pretrain.model.mixers.base import Mixer
from firth.pretrain.training.muon import Muon

# 0.98 rather than 0.999: gradients change fast in short trainings
# (Liu et al. 2019, arXiv:1907.11692, section 3.1).
_BETAS = (0.9, 0.98)
_EPSILON = 1e-8
_WEIGHT_DECAY = 0.1
_WEIGHTS, _MEAN, _SQUARES = "weights", "exp_avg", "exp_avg_sq"


class Optimizers:
    """AdamW and Muon as one: each group's rate is its ``share`` of the rate of a step."""

    def __init__(self, *optimizers: torch.optim.Optimizer) -> None:
        self._all = optimizers
        self.param_groups = [group for each in optimizers for group in each.param_groups]
        for group in self.param_groups:
            group.setdefault("share", 1.0)

    def states(self) -> Iterator[tuple[nn.Parameter, bool, dict[str, Any]]]:
        """Yield each weight, whether it is AdamW's, and its state, which may be changed."""
        for each in self._all:
            for group in each.param_groups:
                for weight in group["params"]:
                    yield weight, isinstance(each, torch.optim.AdamW), each.state[weight]

    def step(self, rate: float) -> None:
        """Change the weights by their gradients, and drop these."""
        for group in self.param_groups:
            group["lr"] = rate * group["share"]
        for each in self._all:
            each.step()
            each.zero_grad(set_to_none=True)


def make_optimizer(
    model: nn.Module,
    *,
    muon_share: float = 0.0,
    weight_decay: float = _WEIGHT_DECAY,
    dtype: torch.dtype = torch.float32,
) -> Optimizers:
    """Make a fused AdamW (Loshchilov and Hutter 2019, arXiv:1711.05101), and perhaps Muon.

    Matrices decay; embeddings, norms and biases do not. With ``muon_share``, the matrices of the
    blocks are Muon's, with that share of AdamW's rate; its products are in ``dtype``.
    """
    decaying, others = split_weights(model)
    matrices = block_matrices(model) if muon_share else []
    of_muon = {id(weight) for weight, _ in matrices}
    groups = [
        {"params": [w for w in decaying if id(w) not in of_muon], "weight_decay": weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    adam = torch.optim.AdamW(groups, lr=0.0, betas=_BETAS, eps=_EPSILON, fused=True)
    if not matrices:
        return Optimizers(adam)
    muon = Muon(matrices, weight_decay=weight_decay, dtype=dtype)
    for group in muon.param_groups:
        group["share"] = muon_share
    return Optimizers(adam, muon)


def block_matrices(model: nn.Module) -> list[tuple[torch.Tensor, int]]:
    """Return the matrices of the blocks, each with the number of matrices that it joins."""
    found: list[tuple[torch.Tensor, int]] = []
    for part in model.modules():
        if isinstance(part, Mixer | FeedForward):
            found += part.matrices()
    return found


def split_weights(model: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """Return the weights that decay, and the others: embeddings, even if tied, norms and biases."""
    tables = {id(part.weight) for part in model.modules() if isinstance(part, nn.Embedding)}
    decaying, others = list[nn.Parameter](), list[nn.Parameter]()
    for weight in model.parameters():
        (decaying if weight.ndim >= 2 and id(weight) not in tables else others).append(weight)
    return decaying, others


@dataclass(frozen=True)
class ModelState:
    """Weights and moments, as a checkpoint has them."""

    model: nn.Module
    optimizer: Optimizers

    def arrays(self) -> dict[str, np.ndarray]:
        """Return flat float32 arrays for a checkpoint; moments start at 0."""
        arrays = {_WEIGHTS: _flat(list(self.model.parameters()))}
        for moment, states in _moments(self.model, self.optimizer).items():
            arrays[moment] = _flat([state.get(moment, torch.zeros_like(w)) for w, state in states])
        return arrays

    def load(self, arrays: Mapping[str, np.ndarray], step: int) -> None:
        """Restore what :meth:`arrays` returned; ``step`` is for Adam's bias correction."""
        weights = list(self.model.parameters())
        with torch.no_grad():
            for weight, saved in zip(weights, _parts(arrays[_WEIGHTS], weights), strict=True):
                weight.copy_(saved)
        for moment, states in _moments(self.model, self.optimizer).items():
            parts = _parts(arrays[moment], [weight for weight, _ in states])
            for (weight, state), saved in zip(states, parts, strict=True):
                state[moment] = saved.to(weight.device).clone()
                if moment == _SQUARES:  # fused AdamW needs its step counter on the weights' device
                    state["step"] = torch.tensor(float(step), device=weight.device)


def _moments(
    model: nn.Module, optimizer: Optimizers
) -> dict[str, list[tuple[nn.Parameter, dict[str, Any]]]]:
    """Return by moment the weights that have it, in the order of the model, and their states."""
    states = {id(weight): (is_adam, state) for weight, is_adam, state in optimizer.states()}
    every = [(weight, *states[id(weight)]) for weight in model.parameters()]
    return {
        _MEAN: [(weight, state) for weight, _, state in every],
        _SQUARES: [(weight, state) for weight, is_adam, state in every if is_adam],
    }


def n_weights(model: nn.Module) -> int:
    """Count the weights; a shared matrix counts once."""
    return sum(weight.numel() for weight in model.parameters())


def _flat(tensors: Sequence[torch.Tensor]) -> np.ndarray:
    """Flatten tensors into one array; on the CPU, since a GPU may lack the memory."""
    return np.asarray(torch.cat([t.detach().reshape(-1).cpu() for t in tensors]).numpy())


def _parts(array: np.ndarray, weights: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Split a flat array into tensors of the weights' shapes."""
    sizes = [weight.numel() for weight in weights]
    parts = torch.from_numpy(np.array(array)).split(sizes)
    return [part.view_as(weight) for part, weight in zip(parts, weights, strict=True)]
