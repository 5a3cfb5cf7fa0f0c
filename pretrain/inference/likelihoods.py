"""Log-likelihoods from left to right: each piece given those before it in its window."""

import numpy as np
import torch

from firth.pretrain.inference.windows import PieceWindows
from firth.pretrain.model.encoder import MaskedLanguageModel


def log_likelihoods(model: MaskedLanguageModel, windows: PieceWindows, slots: int) -> np.ndarray:
    """Return the natural log probability of each piece, float64 (P,), by a causal model."""
    device = model.pieces.weight.device
    scores = np.zeros(len(windows.ids))
    with torch.inference_mode():
        for numbers in windows.batches(slots):
            some = windows.take(numbers)
            rows = some.rows(device)
            kept = torch.from_numpy(some.kept_slots()).to(device)
            states = model(rows.ids, rows.positions, rows.segments)
            found = model.logits(states[:, :-1][kept[:, 1:]]).log_softmax(-1)
            right = found.gather(1, rows.ids[kept][:, None])[:, 0]
            scores[some.kept_pieces()] = right.double().cpu().numpy()
    return scores
