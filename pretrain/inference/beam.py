"""Beam search: the likeliest sequences that a decoder writes over an encoder's states."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - the conventional name
from torch import Tensor

from firth.corpora.tokenizer.pieces import FIRST_PIECE, SEP
from firth.pretrain.data.batches import Rows
from firth.pretrain.model.encoder import MaskedLanguageModel


class Hypothesis(NamedTuple):
    """A sequence that a decoder writes."""

    pieces: list[int]  # without the end
    log_probability: float  # in nats, with the end if it has one
    ended: bool


@torch.inference_mode()
def beam_search(
    model: MaskedLanguageModel,
    rows: Rows,
    start: int,
    *,
    beam: int,
    best: int,
    limits: Sequence[int],
) -> list[list[Hypothesis]]:
    """Return the ``best`` sequences of each row, the likeliest first.

    Of every row ``beam`` sequences are kept at a time; one is greedy. Those that have not ended
    with as many pieces as ``limits`` says of their row are returned as they are.
    """
    # rows: of one segment each
    memory, table, device = model(rows), model.table, rows.ids.device
    answers: list[list[Hypothesis]] = [[] for _ in limits]
    most = torch.tensor(limits, device=device)
    active = torch.arange(len(limits), device=device)
    written = torch.full((len(limits), 1, 1), start, device=device)  # (B, k, n)
    scores = torch.zeros(len(limits), 1, device=device)
    ended = torch.zeros(len(limits), 1, dtype=torch.bool, device=device)
    while len(active):
        likely = _next(model, written, memory[active], rows.segments[active], table)
        # what has ended goes on with its end, at no price
        likely = likely.masked_fill(ended[..., None], -torch.inf)
        likely[..., SEP] = torch.where(ended, 0.0, likely[..., SEP])
        totals = (scores[..., None] + likely).flatten(1)
        scores, places = totals.topk(min(beam, int((totals > -torch.inf).sum(1).min())))
        owners, pieces = places // likely.shape[-1], places % likely.shape[-1]
        written = torch.cat([written.take_along_dim(owners[..., None], 1), pieces[..., None]], -1)
        ended = ended.take_along_dim(owners, 1) | (pieces == SEP)
        finished = ended[:, :best].all(1) | (written.shape[-1] > most[active])
        for row in finished.nonzero().flatten().tolist():
            kept = (part[row, :best].tolist() for part in (written[..., 1:], scores, ended))
            answers[int(active[row])] = [
                Hypothesis([piece for piece in ids if piece != SEP], *about)
                for ids, *about in zip(*kept, strict=True)
            ]
        going = ~finished
        active, written, scores, ended = (part[going] for part in (active, written, scores, ended))
    return answers


def _next(
    model: MaskedLanguageModel, written: Tensor, memory: Tensor, segments: Tensor, table: Tensor
) -> Tensor:
    """Return the log probabilities of the next pieces, float32 (B, k, V); of special ones, -inf."""
    # written: int64 (B, k, n); memory: float (B, T, D); segments: int64 (B, T)
    n_rows, beam, _ = written.shape
    read = Rows.whole(written.flatten(0, 1))
    memory, segments = (part.repeat_interleave(beam, 0) for part in (memory, segments))
    assert model.core.decoder is not None
    states = model.core.decoder(model.embed(read, table), read, memory, segments)[:, -1]
    likely = F.log_softmax(model.core.logits(states, table).float(), -1)
    likely = likely[:, : len(model.pieces.weight)]
    never = torch.arange(likely.shape[1], device=likely.device) < FIRST_PIECE
    never[SEP] = False
    return likely.masked_fill(never, -torch.inf).view(n_rows, beam, -1)
