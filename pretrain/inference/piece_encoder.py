"""What encoders of pieces share: they read sentences in windows, and average pieces by word."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.embed.protocols import ContextualEncoder, InputEmbeddings, WindowedEncoder
from firth.embed.vectors.piece_table import means_of_pieces
from firth.pretrain.data.batches import Rows
from firth.pretrain.device import by_device
from firth.pretrain.inference.windows import Frame, PiecedText, PieceWindows, Splitter, WindowRows


class PieceEncoder(ContextualEncoder, WindowedEncoder, InputEmbeddings):
    """An encoder that reads sentences of similar length together, each in its own row."""

    pieces: Splitter
    # per batch, by device: what is fastest
    default_slots: ClassVar[dict[str, int]]
    slots: int | None = None  # per batch; None for the default

    def __init__(
        self, model: Any, pieces: Splitter, frame: Frame, *, dim: int, max_pieces: int, name: str
    ) -> None:
        self.model = model.eval()
        self.pieces = pieces
        self.frame = frame
        self.dim = dim  # D, the width of the states
        self.max_pieces = max_pieces  # the longest sequence, without special pieces
        self.name = name  # in messages

    def encode(self, sentences: Sequence[Sequence[str]], layers: Sequence[int]) -> list[np.ndarray]:
        """Encode words in the context of their sentences: means over layers, then over pieces.

        A sentence that is longer than a row is read in windows that overlap by half; each piece is
        taken from the window in which it is nearest the middle, so nothing is cut off. The vectors
        of a sentence do not depend on the other sentences, up to 1e-5. Raises ArtifactError if the
        states contain NaN or infinity.
        """
        text = PiecedText.split(self.pieces, sentences)
        words = text.word_means(self._piece_states(text, layers))
        return np.split(words, offsets_of(map(len, sentences))[1:-1]) if len(sentences) else []

    def n_windows(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """Count the windows in which sentences are read; 0 if one is empty."""
        return PiecedText.split(self.pieces, sentences).n_windows(self.max_pieces)

    def n_pieces(self, words: Sequence[str]) -> np.ndarray:
        """Count the pieces of words."""
        return np.asarray(np.diff(self.pieces.split(words)[1]))

    def input_embeddings(self, words: Sequence[str]) -> np.ndarray:
        """Look up words in the embedding table: no norm, positions or context."""
        ids, bounds = self.pieces.split(words)
        return means_of_pieces(self._embeddings(ids.astype(np.int64)).numpy(), bounds)

    def static_embeddings(self, words: Sequence[str]) -> np.ndarray:
        """Return the input embeddings, where what training started from is unknown."""
        return self.input_embeddings(words)

    @property
    def _table(self) -> Tensor:
        """The embeddings of all pieces, float32 (V, D)."""
        raise NotImplementedError

    def _embeddings(self, ids: np.ndarray) -> Tensor:
        """Look up pieces, float32 (P, D) on the CPU."""
        return self._table.detach()[torch.from_numpy(ids).to(self._device)].cpu()

    def _states(self, rows: Rows, layers: Sequence[int]) -> Tensor:
        """Return the states of rows, mean over layers, float32 (B, T, D)."""
        raise NotImplementedError

    @property
    def _device(self) -> torch.device:
        return self._table.device

    @property
    def _slots(self) -> int:
        """Slots per batch."""
        return self.slots or by_device(self.default_slots, self._device)

    def _read(
        self, windows: PieceWindows, slots: int, frame: Frame | None = None
    ) -> Iterator[tuple[np.ndarray, PieceWindows, WindowRows]]:
        """Yield batches of windows: their numbers, the windows, and their rows."""
        for numbers in windows.batches(slots):
            batch = windows.take(numbers)
            yield numbers, batch, batch.rows(frame or self.frame, self._device)

    def _framed(self, ids: Sequence[int]) -> list[int]:
        """Return the pieces of a sentence between special ones; raise if they do not fit a row."""
        if not ids:
            raise SettingError("the sentence has no words; remove it")
        if len(ids) > self.max_pieces:
            raise SettingError(
                f"the sentence has {len(ids)} pieces, but the encoder reads at most "
                f"{self.max_pieces}; pass a shorter one"
            )
        return [*self.frame.before, *ids, *self.frame.after]

    @torch.inference_mode()
    def _piece_states(
        self, text: PiecedText, layers: Sequence[int], *, before: bool = False
    ) -> np.ndarray:
        """Return the state of each piece, or of the piece before it, float32 (P, D)."""
        states = np.empty((len(text.ids), self.dim), dtype=np.float32)
        for _, batch, rows in self._read(text.windows(self.max_pieces), self._slots):
            # the first slot is never kept
            slots = rows.kept.roll(-1, 1) if before else rows.kept
            states[batch.kept_pieces()] = self._states(rows, layers)[slots].cpu().numpy()
        return self._finite(states)

    def _finite(self, states: np.ndarray) -> np.ndarray:
        """Return states unless they hold NaN or infinity."""
        if not np.isfinite(states).all():
            raise ArtifactError(
                f"{self.name}: the states contain NaN or infinity; choose another model"
            )
        return states
