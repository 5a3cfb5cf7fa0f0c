"""Packed rows: a text as rows of pieces without gaps, kept on the device."""

import hashlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from firth.corpora.common.errors import SettingError
from firth.corpora.common.reporting import note, progress
from firth.corpora.tokenizer.pieces import CLS, FIRST_PIECE, PAD, SEP
from firth.pretrain.data.packing_kernels import pack_units
from firth.pretrain.data.trees import pack_tree

if TYPE_CHECKING:
    from firth.corpora.store.view import View
    from firth.corpora.tokenizer.pieces import Pieces

_MIN_LENGTH = 8


@dataclass(frozen=True)
class PackedRows:
    """A text as rows of pieces without gaps, on the device if it fits there.

    Each row holds segments ``[CLS] pieces... [SEP]``. There is padding only at the end of a row:
    where fewer than three slots are left or whole units do not fit, and after the last segment.
    """

    # int16 or int32 (n_rows, T); int16 holds the bits of uint16, for which torch has few
    # operations; :meth:`take` widens it
    ids: torch.Tensor
    vocabulary_size: int  # V, including special pieces
    n_padding: int  # slots with padding
    device: torch.device  # where :meth:`take` copies rows to
    # int64 (n_clusters,), on the CPU: the slot after the last of each cluster of the view; see
    # :meth:`firth.corpora.store.view.View.clusters`. None if they were not asked for.
    cluster_ends: np.ndarray | None = None
    # int16 or int32 (n_rows, 2, T), where the rows are: the number of each slot's word in the row,
    # and of its syntactic head; see ``trees.pack_tree``. None if not asked for.
    tree: torch.Tensor | None = None
    chunk_slots: int = 1 << 22  # slots that :meth:`chunks` widens to int64 at a time

    @classmethod
    def pack(
        cls,
        view: "View",
        pieces: "Pieces",
        sequence_length: int,
        device: torch.device | str,
        *,
        clusters: bool = False,
        tree: bool = False,
        whole: bool = False,
    ) -> "PackedRows":
        """Split a text into pieces and pack them into rows, in the order of the text.

        With ``whole``, rows may end in padding instead of a part of a unit.
        Needs about twice the memory of the result, or ten times with ``tree``. Rows stay on the CPU
        if the device lacks the memory. Raises if the text is empty or rows are too short.
        """
        if sequence_length < _MIN_LENGTH:
            raise SettingError(
                f"`sequence_length` must be at least {_MIN_LENGTH}, got {sequence_length}"
            )
        if view.n_tokens == 0:
            raise SettingError(
                "there is no text to pack: the documents have no tokens; build the corpus from more"
            )
        ends: list[np.ndarray] | None = [] if clusters else None
        parts = list(_packed_parts(view, pieces, sequence_length, whole, ends))
        n_padding = sum(int(np.count_nonzero(part == PAD)) for part in parts)
        ids = np.concatenate(parts).reshape(-1, sequence_length)
        stored = torch.from_numpy(ids.view(np.int16) if ids.dtype == np.uint16 else ids)
        placed = _to_device(stored, torch.device(device))
        cluster_ends = np.concatenate(ends) if ends is not None else None
        edges = None
        if tree:
            lengths = np.diff(pieces.split(view.words)[1])
            edges = torch.from_numpy(pack_tree(view, lengths, ids)).to(placed.device)
        return cls(placed, len(pieces), n_padding, torch.device(device), cluster_ends, edges)

    @property
    def n_rows(self) -> int:
        """Number of rows; each is used once per epoch."""
        return len(self.ids)

    @property
    def sequence_length(self) -> int:
        """T, slots per row."""
        return self.ids.shape[1]

    @property
    def padding(self) -> float:
        """Share of the slots that hold padding."""
        return self.n_padding / self.ids.numel()

    def take(self, rows: torch.Tensor) -> torch.Tensor:
        """Copy rows to the device as int64."""
        # rows: int64 (B,), on the device of ``ids``; returns int64 (B, T)
        ids = self.ids.index_select(0, rows).to(self.device).to(torch.int64)
        return ids & 0xFFFF if self.ids.dtype == torch.int16 else ids

    def take_tree(self, rows: torch.Tensor) -> torch.Tensor | None:
        """Copy the trees of rows to the device, if there are any."""
        # rows: int64 (B,), on the device of ``ids``; returns int (B, 2, T)
        return None if self.tree is None else self.tree.index_select(0, rows).to(self.device)

    def chunks(self) -> Iterator[torch.Tensor]:
        """Yield all rows in order, int64 (n, T) at a time."""
        n = max(1, self.chunk_slots // self.sequence_length)
        for first in range(0, self.n_rows, n):
            stop = min(first + n, self.n_rows)
            yield self.take(torch.arange(first, stop, device=self.ids.device))

    def fingerprint(self) -> str:
        """Hash the content to 16 hexadecimal digits, the same on any device."""
        digest = hashlib.blake2b(f"{self.sequence_length}".encode(), digest_size=8)
        for chunk in self.chunks():
            digest.update(chunk.to(torch.int32).cpu().numpy().data)
        if self.tree is not None:
            digest.update(self.tree.cpu().numpy().data)
        return digest.hexdigest()


def _to_device(ids: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Move rows to the device, or leave them on the CPU if its memory is too small."""
    try:
        return ids.to(device)
    except torch.OutOfMemoryError:
        note(f"the text does not fit the memory of {device}: its rows are sent batch by batch")
        return ids


def lay_out(ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return segment numbers (-1 for padding) and positions within segments (0 for padding)."""
    # ids: int64 (B, T), before masking; returns int64 (B, T) twice
    starts, used = ids == CLS, ids != PAD
    columns = torch.arange(ids.shape[1], device=ids.device)
    start = torch.where(starts, columns, 0).cummax(dim=1).values
    return torch.where(used, starts.cumsum(1) - 1, -1), torch.where(used, columns - start, 0)


def piece_counts(
    rows: PackedRows, counted: Callable[[torch.Tensor], torch.Tensor] = torch.flatten
) -> torch.Tensor:
    """Count the pieces of a text, or those ``counted`` of its rows, int64 (V,); special ones as 0.

    ``counted`` returns int64 (n,).
    """
    counts = torch.zeros(rows.vocabulary_size, dtype=torch.int64, device=rows.device)
    for chunk in rows.chunks():
        counts += torch.bincount(counted(chunk), minlength=rows.vocabulary_size)
    counts[:FIRST_PIECE] = 0
    return counts


def max_rows(n_pieces: int, n_units: int, sequence_length: int) -> int:
    """Bound the rows that a shard can reach, including a row that an earlier shard started."""
    # A full row has at most one segment more than units start in it, so R full rows need
    # R * T <= n_pieces + 2 * n_units + 4 * R + T slots; and one more row.
    needed = n_pieces + 2 * n_units + sequence_length
    return needed // (sequence_length - 4) + 1


def _packed_parts(
    view: "View",
    pieces: "Pieces",
    sequence_length: int,
    whole: bool,
    cluster_ends: list[np.ndarray] | None,
) -> Iterator[np.ndarray]:
    """Pack shard by shard, yielding the slots of full rows, uint16 or int32 (n * T,).

    Appends the slots at which the view's clusters end, of each shard, unless it is None.
    """
    piece_ids, piece_offsets = pieces.split(view.words)
    lengths = np.diff(piece_offsets)
    dtype = np.uint16 if len(pieces) <= 1 << 16 else np.int32
    open_row = np.empty(0, dtype)  # continued by the next shard
    done, n_yielded, n_cut, longest = 0, 0, 0, 0
    by_shard = view.clusters() if cluster_ends is not None else itertools.repeat(None)
    with progress("packing", "tokens") as show:
        for (word_rows, offsets), clusters in zip(view.shards(), by_shard, strict=False):
            in_words = lengths[word_rows]
            n_pieces = int(in_words.sum())
            if whole:
                needed = 2 + np.diff(np.append(0, in_words.cumsum())[offsets])
                n_cut += int((needed > sequence_length).sum())
                longest = max(longest, int(needed.max(initial=0)))
            # of two rows of whole units, one and what does not fit in it are more than a row
            n_rows = max_rows(n_pieces, len(offsets) - 1, sequence_length) << whole
            capacity = n_rows * sequence_length
            slots = np.empty(capacity, dtype)
            slots[: len(open_row)] = open_row
            ends = np.empty(len(offsets) - 1, np.int64)
            n_filled = pack_units(
                word_rows,
                offsets,
                piece_ids,
                piece_offsets,
                (PAD, CLS, SEP),
                sequence_length,
                whole,
                slots,
                len(open_row),
                ends,
            )
            if clusters is not None and cluster_ends is not None:
                last = np.searchsorted(offsets, clusters[1:]) - 1  # the last part of each cluster
                cluster_ends.append(n_yielded + ends[last])
            n_whole = n_filled - n_filled % sequence_length
            open_row = slots[n_whole:n_filled].copy()
            yield slots[:n_whole].copy()
            n_yielded += n_whole
            done += len(word_rows)
            show(done, view.n_tokens)
    if n_cut:
        note(
            f"{n_cut:,} texts are longer than a row and are cut; the longest needs "
            f"`sequence_length={longest}`"
        )
    yield np.pad(open_row, (0, -len(open_row) % sequence_length), constant_values=PAD)
