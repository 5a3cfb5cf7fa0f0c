"""PointingEncoder: which word comes next, of those of a sentence whose order is unknown."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from firth.corpora.tokenizer.pieces import CLS
from firth.pretrain.data.batches import Rows
from firth.pretrain.inference.trained_encoder import TrainedEncoder


class PointingEncoder(TrainedEncoder):
    """A trained encoder with a decoder that points at its words; states are the encoder's."""

    predicts = "points at words of a sentence and predicts no others"

    def _next_scores(self, words: Sequence[str]) -> Callable[[Sequence[int]], np.ndarray]:
        ids, bounds = self.pieces.split(words)
        row = Rows.whole(torch.tensor([self._framed(ids.tolist())], device=self._device))
        with torch.inference_mode():
            memory = self.model(row)

        @torch.inference_mode()
        def scores(order: Sequence[int]) -> np.ndarray:
            read = [CLS, *(piece for n in order for piece in ids[bounds[n] : bounds[n + 1]])]
            slots, core = Rows.whole(torch.tensor([read], device=self._device)), self.model.core
            assert core.decoder is not None
            assert core.pointer is not None
            states = core.decoder(self.model.embed(slots), slots, memory, row.segments)[:, -1:]
            of_slots: np.ndarray = core.pointer(states, memory)[0, 0].cpu().numpy()
            return of_slots[1 + bounds[:-1]]

        return scores
