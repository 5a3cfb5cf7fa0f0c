"""Pseudo-log-likelihoods: predict each piece where it is masked, in batches."""

from collections.abc import Callable

import numpy as np
import torch

from firth.corpora.tokenizer.pieces import MASK
from firth.pretrain.inference.windows import PieceWindows
from firth.pretrain.model.encoder import MaskedLanguageModel

# Maps B windows, and the first masked piece and the one after the last in each, int64 (B,), to the
# log probability of the first masked piece, float64 (B,).
Predictor = Callable[[PieceWindows, np.ndarray, np.ndarray], np.ndarray]


def pseudo_log_likelihoods(
    predict: Predictor,
    windows: PieceWindows,
    words: np.ndarray,
    slots: int,
    left_to_right_in_words: bool,
) -> np.ndarray:
    """Return the natural log probability of each piece given the others in its window.

    With ``left_to_right_in_words``, later pieces of the same word are masked, too.
    """
    # words: int64 (n_words + 1,), first piece of each word; returns float64 (P,)
    pieces = windows.kept_pieces()
    n_own = windows.kept_stops - windows.kept_starts
    jobs = windows.take(np.repeat(np.arange(len(n_own)), n_own))  # one row for each piece
    ends = pieces + 1
    if left_to_right_in_words:
        ends = words[np.searchsorted(words, pieces, side="right")]
    scores = np.zeros(len(windows.ids))
    with torch.inference_mode():
        for numbers in jobs.batches(slots):
            some = jobs.take(numbers)
            # a word that is longer than its window ends with it
            stop = np.minimum(ends[numbers], some.stops) - some.starts
            scores[pieces[numbers]] = predict(some, pieces[numbers] - some.starts, stop)
    return scores


def predictor(model: MaskedLanguageModel) -> Predictor:
    """Return a predictor by a model without dropout."""
    device = model.pieces.weight.device

    def predict(windows: PieceWindows, first: np.ndarray, stop: np.ndarray) -> np.ndarray:
        rows = windows.rows(device)
        at, end = (torch.from_numpy(1 + each).to(device)[:, None] for each in (first, stop))
        columns = torch.arange(rows.ids.shape[1], device=device)
        masked = rows.ids.masked_fill((columns >= at) & (columns < end), MASK)
        states = model(masked, rows.positions, rows.segments, at, tree=rows.tree)
        found = model.logits(states[:, 0]).log_softmax(-1)
        right: np.ndarray = found.gather(1, rows.ids.gather(1, at))[:, 0].double().cpu().numpy()
        return right

    return predict
