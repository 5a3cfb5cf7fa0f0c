"""Pseudo-log-likelihoods: each piece predicted where it is masked, many at a time."""

from collections.abc import Callable

import numpy as np
import torch

from corpora.tokenizer.pieces import MASK
from pretrain.inference.windows import PieceWindows
from pretrain.model.encoder import MaskedLanguageModel

# (B windows, first and behind the last masked piece in each, int64 (B,)) to the logarithm of the
# probability of the first one, float64 (B,)
Predictor = Callable[[PieceWindows, np.ndarray, np.ndarray], np.ndarray]


def pseudo_log_likelihoods(
    predict: Predictor,
    windows: PieceWindows,
    words: np.ndarray,
    slots: int,
    left_to_right_in_words: bool,
) -> np.ndarray:
    """Predict every piece from the others of its window."""
    # words: int64 (n_words + 1,); returns float64 (P,)
    pieces = windows.own_places()
    n_own = windows.own_stops - windows.own_starts
    jobs = windows.take(np.repeat(np.arange(len(n_own)), n_own))  # one row for each piece
    ends = pieces + 1
    if left_to_right_in_words:
        ends = words[np.searchsorted(words, pieces, side="right")]
    scores = np.zeros(len(windows.ids))
    with torch.inference_mode():
        for numbers in jobs.batches(slots):
            some = jobs.take(numbers)
            # a word that goes on beyond its window ends with it
            behind = np.minimum(ends[numbers], some.stops) - some.starts
            scores[pieces[numbers]] = predict(some, pieces[numbers] - some.starts, behind)
    return scores


def predictor(model: MaskedLanguageModel) -> Predictor:
    """Give what predicts masked pieces by an encoder of our own."""
    device = model.pieces.weight.device

    def predict(windows: PieceWindows, first: np.ndarray, behind: np.ndarray) -> np.ndarray:
        rows = windows.rows(device)
        at, end = (torch.from_numpy(1 + each).to(device)[:, None] for each in (first, behind))
        columns = torch.arange(rows.ids.shape[1], device=device)
        masked = rows.ids.masked_fill((columns >= at) & (columns < end), MASK)
        states = model(masked, rows.positions, rows.segments, at)
        found = model.logits(states[:, 0]).log_softmax(-1)
        right: np.ndarray = found.gather(1, rows.ids.gather(1, at))[:, 0].double().cpu().numpy()
        return right

    return predict
