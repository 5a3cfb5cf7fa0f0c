"""Masked pieces, predicted from both sides: which ones, and what the model sees in their place.

Devlin et al. 2019 (arXiv:1810.04805), section 3.1; spans after Joshi et al. 2020
(arXiv:1907.10529). Whole batches at a time, without waiting for the device.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import torch
from torch import Tensor

from firth.corpora.tokenizer.pieces import FIRST_PIECE, MASK
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.objectives.targets import HELD_OUT_RATE, Targets
from firth.pretrain.data.stateless_random import as_integers, as_uniform, keyed_bits

_HELD_OUT_SEED = 0
_SPAN = 3  # words, on average
# With 128 slots at 15 %, and 3 words in 10 of several pieces, one round leaves 2.8 % of the
# targets undrawn, two leave 0.1 %, three hardly any.
_ROUNDS = 3
_MASK_SHARE = 0.8  # of the targets, shown as [MASK]
_RANDOM_SHARE = 0.1  # of the targets, shown as a random piece that is not special
RATE_BITS = 31
_COLUMN_BITS = 20  # of a sort key; the others are random
_RANDOM_BITS = 42


@dataclass(frozen=True)
class MaskedPieces:
    """Some pieces are hidden and predicted; the remaining targets stay unchanged."""

    max_passes: ClassVar[int] = 16  # by then every piece was masked about twice
    held_out_targets: ClassVar[int] = 8_000  # enough to estimate the loss within 0.03
    per_character: ClassVar[bool] = False
    continues: Tensor  # bool (V,)
    capacity: int
    seed: int
    # piece, word, or span: runs of whole words with geometric length of mean 3
    kind: str = "piece"

    @classmethod
    def for_training(cls, config: MlmConfig, continues: Tensor, length: int) -> Self:
        """Return what the settings describe."""
        usual = capacity(length, config.mean_mask_rate)
        return cls(continues, usual, config.seed, config.masking)

    @classmethod
    def for_held_out(cls, continues: Tensor, length: int) -> Self:
        """Return masks of single pieces, 15 %, shown 80/10/10."""
        return cls(continues, capacity(length, HELD_OUT_RATE), _HELD_OUT_SEED)

    def predict(self, ids: Tensor, *, step: int, rate: float, first_row: int = 0) -> Targets:
        """Choose the pieces to predict, and replace them.

        Of a row's n pieces (without special ones), ``rate * n`` are drawn, rounded up or down at
        random so that the expectation is exact. Words are drawn whole, in random order while they
        fit; then smaller words fill up the rest. Long words are thus drawn a little less often: at
        15 % of 128 slots, those of four pieces at 13 %. Of a span that does not fit, its first
        words are drawn, so that the first words of a segment are drawn at 17 %, the last at 14.7 %.

        Rows masked a few at a time, with ``first_row``, get the same masks as all at once.
        """
        # T is below 2^20
        random = RandomRows(self.seed, step, first_row, len(ids), ids.device)
        maskable = ids >= FIRST_PIECE
        exact = maskable.sum(1, keepdim=True) * fixed_point(rate)
        wanted = (exact + random.integers("count", 1, 1 << RATE_BITS)) >> RATE_BITS
        columns = _draw_columns(ids, self.continues, maskable, wanted, self.kind, random)
        # unused slots come last, as column T
        chosen = columns.sort(dim=1).values[:, : capacity(ids.shape[1], rate)]
        real = chosen < ids.shape[1]
        chosen = torch.where(real, chosen, 0)
        targets = ids.gather(1, chosen)
        shown = torch.where(real, self._shown(targets, random), targets)
        # unused slots write column 0's own piece to column 0
        return Targets(ids.scatter(1, chosen, shown), chosen, targets, real.to(torch.float32))

    def _shown(self, targets: Tensor, random: "RandomRows") -> Tensor:
        """Draw what the model sees in place of each target, int64 (B, C)."""
        C = targets.shape[1]
        draws = random.uniform("fate", C)
        others = random.integers("other", C, len(self.continues) - FIRST_PIECE) + FIRST_PIECE
        masked = draws < on_grid(_MASK_SHARE)
        replaced = draws < on_grid(_MASK_SHARE + _RANDOM_SHARE)
        return torch.where(masked, MASK, torch.where(replaced, others, targets))


def capacity(sequence_length: int, rate: float) -> int:
    """Return the most pieces of a row that may have to be predicted, at least 1."""
    return max(1, -(-(sequence_length - 2) * fixed_point(rate) >> RATE_BITS))


class RandomRows(NamedTuple):
    """Random numbers of a step, ``width`` per row."""

    seed: int
    step: int
    first_row: int
    n_rows: int
    device: torch.device

    def bits(self, purpose: str, width: int) -> Tensor:
        """Return random bits, int64 (B, width)."""
        shape, first = (self.n_rows, width), self.first_row * width
        return keyed_bits(self.seed, self.step, purpose, shape, self.device, first=first)

    def uniform(self, purpose: str, width: int) -> Tensor:
        """Return uniform numbers in [0, 1), float32 (B, width)."""
        return as_uniform(self.bits(purpose, width))

    def integers(self, purpose: str, width: int, below: int) -> Tensor:
        """Return uniform integers below a number, int64 (B, width)."""
        return as_integers(self.bits(purpose, width), below)


class _Words(NamedTuple):
    """Where words start and end, (B, T) each; meaningless for special pieces."""

    heads: Tensor  # bool: a word starts here
    opens: Tensor  # bool: a word starts here, after a special piece
    starts: Tensor  # int64: first column of this slot's word
    stops: Tensor  # int64: last column of this slot's word


def _draw_columns(
    ids: Tensor,
    continues: Tensor,
    maskable: Tensor,
    wanted: Tensor,
    kind: str,
    random: RandomRows,
) -> Tensor:
    """Draw columns, int64 (B, T) in any order: at most ``wanted`` of a row, T elsewhere."""
    T = ids.shape[1]
    places = random.bits("place", T)
    if kind == "piece":
        order = in_order(places, maskable)
        return torch.where(torch.arange(T, device=ids.device) < wanted, order, T)
    words = find_words(ids, continues, maskable)
    starts = words.starts
    if kind == "span":
        # a run ends before each word with the same probability, so its length is geometric
        ends_before = random.uniform("span", T) < on_grid(1 / _SPAN)
        starts = last_marked(words.opens | (words.heads & ends_before))
    order = in_order(places.gather(1, starts), maskable)
    return torch.where(_fitting_words(words, order, maskable, wanted), order, T)


def find_words(ids: Tensor, continues: Tensor, maskable: Tensor) -> _Words:
    """Find the words; a piece after a special one starts a word, as where a unit was cut."""
    T = ids.shape[1]
    after_piece = torch.zeros_like(maskable)
    after_piece[:, 1:] = maskable[:, :-1]
    inside = maskable & after_piece & continues[ids]
    heads = maskable & ~inside
    continued = torch.zeros_like(maskable)
    continued[:, :-1] = inside[:, 1:]
    # flipped, so that the next end becomes the last one before
    stops = T - 1 - last_marked((~continued).flip(1)).flip(1)
    return _Words(heads, heads & ~after_piece, last_marked(heads), stops)


def last_marked(marks: Tensor) -> Tensor:
    """Return the column of the last mark up to each slot, int64 (B, T); 0 before the first."""
    columns = torch.arange(marks.shape[1], device=marks.device)
    return torch.where(marks, columns, 0).cummax(dim=1).values


def in_order(places: Tensor, maskable: Tensor) -> Tensor:
    """Return a row's columns in the order of random bits, ties from left to right.

    Slots with the same bits stay together; those that cannot be masked come last.
    """
    columns = torch.arange(places.shape[1], device=places.device)
    # the column is part of the key, so that keys are distinct and every sort gives the same order
    keys = places.bitwise_and(((1 << _RANDOM_BITS) - 1) << _COLUMN_BITS).bitwise_or_(columns)
    keys |= (~maskable).to(torch.int64) << (_RANDOM_BITS + _COLUMN_BITS)
    return keys.sort(dim=1).values & ((1 << _COLUMN_BITS) - 1)


def _fitting_words(words: _Words, order: Tensor, maskable: Tensor, wanted: Tensor) -> Tensor:
    """Return which slots of ``order``, where words are contiguous, belong to words that fit."""
    sizes = torch.where(maskable, words.stops - words.starts + 1, order.shape[1]).gather(1, order)
    # pieces of the word after this one
    rest = words.stops.gather(1, order) - order
    taken = torch.zeros_like(maskable)
    remaining = wanted
    for _ in range(_ROUNDS):
        candidates = (sizes <= remaining) & ~taken
        now = candidates & (candidates.cumsum(1) + rest <= remaining)
        taken |= now
        remaining = remaining - now.sum(1, keepdim=True)
    return taken


def fixed_point(rate: float) -> int:
    """Return a rate in units of 2^-31, rounded down so that products never round up."""
    return int(rate * (1 << RATE_BITS))


def on_grid(share: float) -> float:
    """Round a share to a multiple of 2^-24, exact in float32, so that all devices agree."""
    return round(share * 2**24) / 2**24
