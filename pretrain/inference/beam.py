"""Beam search: the likeliest sequences that a decoder writes over an encoder's states."""

import torch
import torch.nn.functional as F  # noqa: N812 - the conventional name
from torch import Tensor

from firth.corpora.tokenizer.pieces import FIRST_PIECE, SEP
from firth.pretrain.data.batches import Rows
from firth.pretrain.model.encoder import MaskedLanguageModel

Hypothesis = tuple[list[int], float]  # pieces, and the log probability with the end, in nats


@torch.inference_mode()
def beam_search(
    model: MaskedLanguageModel, rows: Rows, start: int, *, beam: int, best: int, longest: int
) -> list[list[Hypothesis]]:
    """Return the ``best`` sequences of at most ``longest`` pieces of each row, the likeliest first.

    Of every row ``beam`` sequences are kept at a time; one is greedy. Those that have not ended
    when they are as long as they may be are returned as they are.
    """
    # rows: of one segment each; returns for each row up to ``best`` hypotheses
    memory, table = model(rows), model.table
    answers: list[list[Hypothesis]] = [[] for _ in rows.ids]
    active = torch.arange(len(answers), device=rows.ids.device)
    written = torch.full((len(answers), 1, 1), start, device=active.device)  # (B, k, n)
    scores, ended = torch.zeros(len(answers), 1), torch.zeros(len(answers), 1, dtype=torch.bool)
    scores, ended = scores.to(active.device), ended.to(active.device)
    for n in range(longest + 1):
        finished = ended[:, :best].all(1) | (n == longest)
        for row in finished.nonzero().flatten().tolist():
            answers[int(active[row])] = [
                ([piece for piece in pieces if piece != SEP], score)
                for pieces, score in zip(
                    written[row, :best, 1:].tolist(), scores[row, :best].tolist(), strict=True
                )
            ]
        active, written, scores, ended = (
            part[~finished] for part in (active, written, scores, ended)
        )
        if not len(active):
            break
        likely = _next(model, written, memory[active], rows.segments[active], table)
        # what has ended goes on with its end, at no price
        likely = likely.masked_fill(ended[..., None], -torch.inf)
        likely[..., SEP] = torch.where(ended, 0.0, likely[..., SEP])
        totals = (scores[..., None] + likely).flatten(1)
        scores, places = totals.topk(min(beam, int((totals > -torch.inf).sum(1).min())))
        owners, pieces = places // likely.shape[-1], places % likely.shape[-1]
        written = written.take_along_dim(owners[..., None], 1)
        written = torch.cat([written, pieces[..., None]], -1)
        ended = ended.take_along_dim(owners, 1) | (pieces == SEP)
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
