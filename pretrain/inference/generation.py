"""Generated text: draws of one piece after the other."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from firth.corpora.tokenizer.pieces import CONTINUATION, FIRST_PIECE, SEP
from firth.pretrain.data.batches import Rows
from firth.pretrain.data.stateless_random import as_uniform, keyed_bits
from firth.pretrain.inference.sampling import GenerateConfig, draw_piece
from firth.pretrain.inference.trained_encoder import Prediction
from firth.pretrain.model.encoder import MaskedLanguageModel


@dataclass(frozen=True)
class Generated:
    """A generated text."""

    prompt: str  # as given
    text: str  # the prompt, normalized like the run's corpus, and its continuation
    # that were added, with the model's probabilities, whatever the temperature
    pieces: list[Prediction]
    end: str  # why it ended: ``length``, ``row`` (it is full), or ``end of text``

    def __str__(self) -> str:
        return self.text

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON."""
        pieces = [piece._asdict() for piece in self.pieces]
        return {"prompt": self.prompt, "text": self.text, "pieces": pieces, "end": self.end}


def continue_row(
    model: MaskedLanguageModel,
    row: Sequence[int],
    continues: np.ndarray,
    most: int,
    config: GenerateConfig,
) -> tuple[list[tuple[int, float]], bool]:
    """Return the pieces that continue a row, with their probabilities, and whether the text ends.

    No special piece is drawn but [SEP], which ends the text and is not returned; and first none
    that continues a word, since the last word of the row is whole.
    """
    # continues: bool (V,)
    device, ids = model.pieces.weight.device, list(row)
    added: list[tuple[int, float]] = []
    forbidden = np.arange(len(continues)) < FIRST_PIECE
    forbidden[SEP] = False
    for step in range(most):
        never = torch.from_numpy(forbidden if added else forbidden | continues).to(device)
        chances = _next_chances(model, ids, never)
        [draw] = as_uniform(keyed_bits(config.seed, step, "generate", (1,), "cpu")).tolist()
        piece = draw_piece(chances, draw, config)
        if piece == SEP:
            return added, True
        ids.append(piece)
        added.append((piece, float(chances[piece])))
    return added, False


def spell(pieces: Iterable[Prediction]) -> list[str]:
    """Return the words that pieces spell, of which the first starts one however it is marked."""
    words: list[str] = []
    for name, _ in pieces:
        if words and name.startswith(CONTINUATION):
            words[-1] += name.removeprefix(CONTINUATION)
        else:
            words.append(name.removeprefix(CONTINUATION))
    return words


def _next_chances(model: MaskedLanguageModel, ids: Sequence[int], never: Tensor) -> np.ndarray:
    """Return the probability of each piece after the last of a row, float64 (V,)."""
    # never: bool (V,)
    with torch.inference_mode():
        row = torch.tensor([ids], device=never.device)
        last = torch.full_like(row[:, :1], len(ids) - 1)
        logits = model.logits(model(Rows.whole(row), last)[0, 0])
        chances: np.ndarray = (
            logits.double().masked_fill(never, -torch.inf).softmax(-1).cpu().numpy()
        )
    return chances
