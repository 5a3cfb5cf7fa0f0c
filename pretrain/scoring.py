"""Pseudo-log-likelihoods: each piece predicted where it is masked, many at a time."""

import numpy as np
import torch

from corpora.pieces import MASK
from pretrain.encoder import MaskedLanguageModel
from pretrain.windows import Windows


def pseudo_log_likelihoods(
    model: MaskedLanguageModel,
    windows: Windows,
    words: np.ndarray,
    slots: int,
    left_to_right_in_words: bool,
) -> np.ndarray:
    """Predict every piece from the others of its window.

    Parameters
    ----------
    model : MaskedLanguageModel
        Without dropout.
    windows : Windows
        Of a text.
    words : int64 (n_words + 1,)
        Where the words of the text start, in pieces.
    slots : int
        Read at once.
    left_to_right_in_words : bool
        Whether what follows a piece in its word is masked too.

    Returns
    -------
    float64 (P,)
        Natural logarithm of the probability of each piece.
    """
    pieces = windows.own_places()
    n_own = windows.own_stops - windows.own_starts
    jobs = windows.take(np.repeat(np.arange(len(n_own)), n_own))  # one row for each piece
    ends = pieces + 1
    if left_to_right_in_words:
        ends = words[np.searchsorted(words, pieces, side="right")]
    scores = np.zeros(len(windows.ids))
    device = model.pieces.weight.device
    with torch.inference_mode():
        for numbers in jobs.batches(slots):
            some = jobs.take(numbers)
            rows = some.rows(device)
            at = torch.from_numpy(pieces[numbers] - some.starts + 1).to(device)[:, None]
            end = torch.from_numpy(ends[numbers] - some.starts + 1).to(device)[:, None]
            columns = torch.arange(rows.ids.shape[1], device=device)
            # a word that goes on beyond its window ends with it, before [SEP]
            hidden = (columns >= at) & (columns < end) & (rows.ids > MASK)
            masked = rows.ids.masked_fill(hidden, MASK).scatter(1, at, MASK)
            states = model(masked, rows.positions, rows.segments, at)
            found = model.logits(states[:, 0]).log_softmax(-1)
            right = torch.gather(rows.ids, 1, at)
            scores[pieces[numbers]] = torch.gather(found, 1, right)[:, 0].double().cpu().numpy()
    return scores
