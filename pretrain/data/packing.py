"""A text as rows of pieces without gaps, made once and kept on the device."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from corpora.common.errors import SettingError
from corpora.common.reporting import note, progress
from corpora.tokenizer.pieces import CLS, FIRST_PIECE, PAD, SEP
from pretrain.data.packing_kernels import pack_units

if TYPE_CHECKING:
    from corpora.store.view import View
    from corpora.tokenizer.pieces import Pieces

_MIN_LENGTH = 8


@dataclass(frozen=True)
class PackedRows:
    """A text as rows of pieces without gaps, on the device where it fits.

    Each row holds segments ``[CLS] pieces... [SEP]``. Only where fewer than three
    slots are left at the end of a row, and behind the last segment, is there padding.
    """

    # int16 or int32 (n_rows, T): the pieces. int16 stands for uint16, of which torch knows few
    # operations; :meth:`take` widens it
    ids: torch.Tensor
    vocabulary_size: int  # V, the special pieces included
    n_pieces: int  # slots that hold a piece that is not special
    n_padding: int  # slots that hold padding
    device: torch.device  # where :meth:`take` copies rows to
    at_once: int = 1 << 22  # slots that :meth:`blocks` widens to int64 at a time

    @classmethod
    def pack(
        cls,
        view: "View",
        pieces: "Pieces",
        sequence_length: int,
        device: torch.device | str,
    ) -> "PackedRows":
        """Split a text into pieces and lay them in rows.

        Units keep their order, and each piece stands in exactly one row. Words are
        split once each; about twice the memory of the result is used.
        """
        if sequence_length < _MIN_LENGTH:
            raise SettingError(
                f"`sequence_length` must be at least {_MIN_LENGTH}, got {sequence_length}"
            )
        if view.n_tokens == 0:
            raise SettingError(
                "there is no text to pack: the documents have no tokens; build the corpus of more"
            )
        parts = list(_packed_parts(view, pieces, sequence_length))
        n_special = sum(int(np.count_nonzero(part < FIRST_PIECE)) for part in parts)
        n_padding = sum(int(np.count_nonzero(part == PAD)) for part in parts)
        ids = np.concatenate(parts).reshape(-1, sequence_length)
        stored = torch.from_numpy(ids.view(np.int16) if ids.dtype == np.uint16 else ids)
        placed, n_pieces = _placed(stored, torch.device(device)), ids.size - n_special
        return cls(placed, len(pieces), n_pieces, n_padding, torch.device(device))

    @property
    def n_rows(self) -> int:
        """Rows in all, each used once per epoch."""
        return len(self.ids)

    @property
    def sequence_length(self) -> int:
        """T, slots of a row."""
        return self.ids.shape[1]

    @property
    def padding(self) -> float:
        """Share of the slots that hold padding."""
        return self.n_padding / self.ids.numel()

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return self.ids.numel() * self.ids.element_size()

    def take(self, rows: torch.Tensor) -> torch.Tensor:
        """Copy rows."""
        # rows: int64 (B,); returns int64 (B, T)
        ids = self.ids.index_select(0, rows).to(self.device).to(torch.int64)
        return ids & 0xFFFF if self.ids.dtype == torch.int16 else ids

    def blocks(self) -> Iterator[torch.Tensor]:
        """Copy all rows, some at a time."""
        # yields int64 (n, T)
        n = max(1, self.at_once // self.sequence_length)
        for first in range(0, self.n_rows, n):
            stop = min(first + n, self.n_rows)
            yield self.take(torch.arange(first, stop, device=self.ids.device))

    def fingerprint(self) -> str:
        """Name the content: 16 hexadecimal digits, the same for the same rows on any device."""
        digest = hashlib.blake2b(f"{self.sequence_length}".encode(), digest_size=8)
        for block in self.blocks():
            digest.update(block.to(torch.int32).cpu().numpy().data)
        return digest.hexdigest()


def _placed(ids: torch.Tensor, device: torch.device) -> torch.Tensor:
    """The rows on the device, or as they are where its memory does not suffice."""
    try:
        return ids.to(device)
    except torch.OutOfMemoryError:
        note(f"the text does not fit the memory of {device}: its rows are sent batch by batch")
        return ids


def lay_out(ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Number the segments of rows, and the places in each."""
    # ids: int64 (B, T); returns segments: int64 (B, T); returns positions: int64 (B, T)
    starts, used = ids == CLS, ids != PAD
    columns = torch.arange(ids.shape[1], device=ids.device)
    begun = torch.where(starts, columns, 0).cummax(dim=1).values
    return torch.where(used, starts.cumsum(1) - 1, -1), torch.where(used, columns - begun, 0)


def piece_counts(rows: PackedRows) -> torch.Tensor:
    """Count the pieces of a text, for the unigram baseline."""
    # returns int64 (V,)
    counts = torch.zeros(rows.vocabulary_size, dtype=torch.int64, device=rows.device)
    for block in rows.blocks():
        counts += torch.bincount(block.flatten(), minlength=rows.vocabulary_size)
    counts[:FIRST_PIECE] = 0
    return counts


def max_rows(n_pieces: int, n_units: int, sequence_length: int) -> int:
    """Bound the rows that a shard can reach, one that was begun before it included."""
    needed = n_pieces + 2 * n_units + sequence_length
    return needed // (sequence_length - 4) + 1


def _packed_parts(view: "View", pieces: "Pieces", sequence_length: int) -> Iterator[np.ndarray]:
    """Pack shard by shard: slots of whole rows, uint16 or int32 (n * T,), laid end to end."""
    piece_ids, piece_offsets = pieces.split(view.words)
    lengths = np.diff(piece_offsets)
    dtype = np.uint16 if len(pieces) <= 1 << 16 else np.int32
    begun = np.empty(0, dtype)  # the row that the next shard goes on with
    done = 0
    with progress("packing", "tokens") as show:
        for word_rows, offsets in view.shards():
            n_pieces = int(lengths[word_rows].sum())
            capacity = max_rows(n_pieces, len(offsets) - 1, sequence_length) * sequence_length
            slots = np.empty(capacity, dtype)
            slots[: len(begun)] = begun
            n_filled = pack_units(
                word_rows,
                offsets,
                piece_ids,
                piece_offsets,
                (PAD, CLS, SEP),
                sequence_length,
                slots,
                len(begun),
            )
            n_whole = n_filled - n_filled % sequence_length
            begun = slots[n_whole:n_filled].copy()
            yield slots[:n_whole].copy()
            done += len(word_rows)
            show(done, view.n_tokens)
    yield np.pad(begun, (0, -len(begun) % sequence_length), constant_values=PAD)
