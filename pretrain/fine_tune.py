"""Fine-tuning: an encoder trained with a linear layer that labels sentences or tokens."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from firth.corpora.common.errors import SettingError
from firth.corpora.common.reporting import progress
from firth.embed.protocols import ContextualEncoder, needs_trees
from firth.pretrain.inference.piece_encoder import PieceEncoder
from firth.pretrain.inference.windows import PiecedText, PieceWindows

_SLOTS = 512  # of a batch: some 20 sentences
_EPOCHS, _STEPS = 3, 300  # by default, whichever is more: few steps leave small files unlearned
_RATE, _HEAD_RATE = 0.04, 5e-3  # the encoder's is divided by its width: 5e-5 for 768 (BERT)
_WARMUP = 0.1  # share of the steps in which rates rise
_DECAY, _NORM = 0.01, 1.0  # weight decay; largest norm of gradients


def fine_tune(
    encoder: ContextualEncoder,
    sentences: Sequence[Sequence[str]],
    lengths: Sequence[int],
    labels: np.ndarray,
    *,
    n_labels: int,
    epochs: int | None,
    seed: int,
) -> np.ndarray:
    """Train an encoder on labeled items; return the scores of labels of all, float32 (n_items, L).

    An item is a sentence, or some words of one: the mean of its pieces in the last layer goes
    through a linear layer. Deterministic by the seed on a CPU with the same number of threads.
    """
    # lengths: words of each item; labels: int64 (n_items,), -1 if it is not learned from
    if not isinstance(encoder, PieceEncoder) or needs_trees(encoder):
        raise SettingError("the encoder needs trees; pass a run without `attention=tree`")
    text = PiecedText.split(encoder.pieces, sentences)
    owners = np.repeat(np.arange(len(labels)), lengths)
    if text.groups is not None:  # words that share pieces are of the item of the first
        owners = owners[np.unique(text.groups, return_index=True)[1]]
    items = np.repeat(owners, np.diff(text.words))  # int64 (P,): of each piece
    windows = text.windows(encoder.max_pieces)
    chosen = np.flatnonzero(labels[items[windows.kept_starts]] >= 0)
    model, top = encoder.model, [encoder.n_layers]
    with torch.random.fork_rng():
        torch.manual_seed(seed % 2**63)  # of dropout
        head = nn.Linear(encoder.dim, n_labels).to(encoder._device)
        nn.init.zeros_(head.weight)
        nn.init.zeros_(head.bias)
        orders = np.random.default_rng([seed, n_labels])
        n_batches = sum(1 for _ in windows.take(chosen).batches(_SLOTS))
        plan: list[PieceWindows] = []
        for _ in range(epochs or max(_EPOCHS, -(-_STEPS // n_batches))):
            shuffled = windows.take(orders.permutation(chosen))
            batches = [shuffled.take(numbers) for numbers in shuffled.batches(_SLOTS)]
            plan += [batches[number] for number in orders.permutation(len(batches))]
        parameters = [*model.parameters(), *head.parameters()]
        optimizer = torch.optim.AdamW(
            [{"params": model.parameters()}, {"params": head.parameters(), "lr": _HEAD_RATE}],
            lr=_RATE / encoder.dim, weight_decay=_DECAY,
        )  # fmt: skip
        warm = max(1, int(_WARMUP * len(plan)))
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda n: min((n + 1) / warm, (len(plan) - n) / max(1, len(plan) - warm))
        )
        model.train()
        with progress("fine-tuning", "steps") as show:
            for step, batch in enumerate(plan, 1):
                rows = batch.rows(encoder.frame, encoder._device)
                states = encoder._states(rows, top)[rows.kept]
                learned, places = np.unique(items[batch.kept_pieces()], return_inverse=True)
                targets = torch.from_numpy(labels[learned]).to(states.device)
                means = _means(states, torch.from_numpy(places).to(states.device), len(learned))
                loss = nn.functional.cross_entropy(head(means), targets)
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(parameters, _NORM)
                optimizer.step()
                schedule.step()
                show(step, len(plan), f"loss {loss.item():.3f}")
        model.eval()
    states = torch.from_numpy(encoder._piece_states(text, top))
    with torch.inference_mode():
        scores: Tensor = head.cpu()(_means(states, torch.from_numpy(items), len(labels)))
    return scores.numpy()


def _means(states: Tensor, owners: Tensor, n_items: int) -> Tensor:
    """Average the states of each item's pieces; zeros if it has none."""
    # states: float32 (P, D); owners: int64 (P,); returns float32 (n_items, D)
    sums = states.new_zeros(n_items, states.shape[1]).index_add(0, owners, states)
    counts = torch.bincount(owners, minlength=n_items).clamp(min=1)
    return sums / counts[:, None]
