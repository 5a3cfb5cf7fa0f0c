"""Masking: which pieces of a row are to be predicted, and what the model sees there.

Devlin et al. 2019 (arXiv:1810.04805), section 3.1; spans after Joshi et al. 2020
(arXiv:1907.10529). All of it is arithmetic on whole batches: no loop over rows,
and nothing that the host has to wait for.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch

from corpora.tokenizer.pieces import FIRST_PIECE, MASK
from pretrain.data.stateless_random import keyed_bits, keyed_integers, keyed_uniform

_SPAN = 3  # words, on average
# Of 128 slots at 15 %, where 3 words in 10 have several pieces, one round leaves 2.8 % of the
# targets undrawn, two leave 0.1 %, three none to speak of.
_ROUNDS = 3
_RATE_BITS = 31
_COLUMN_BITS = 20  # of a sort key; the rest is chance
_CHANCE_BITS = 42


@dataclass(frozen=True)
class Masking:
    """How pieces are masked."""

    # what is drawn: single pieces, whole words, or runs of whole words whose length is geometric
    # with mean 3
    kind: str = "piece"
    # of the pieces to predict, those shown as [MASK], and those shown as any piece that is not
    # special; together at most 1. The rest are shown as they are
    mask_share: float = 0.8
    # of the pieces to predict, those shown as [MASK], and those shown as any piece that is not
    # special; together at most 1. The rest are shown as they are
    random_share: float = 0.1


class Masked(NamedTuple):
    """A batch after masking."""

    ids: torch.Tensor  # int64 (B, T): what the model sees
    # int64 (B, C): columns to predict, ascending; 0 in slots that a row does not need
    chosen: torch.Tensor
    targets: torch.Tensor  # int64 (B, C): the pieces that stood there
    weights: torch.Tensor  # float32 (B, C): 1 where a slot is used, else 0


def capacity(sequence_length: int, rate: float) -> int:
    """Tell how many pieces of a row may have to be predicted."""
    return max(1, -(-(sequence_length - 2) * _fixed_point(rate) >> _RATE_BITS))


def mask(
    ids: torch.Tensor,
    continues: torch.Tensor,
    masking: Masking,
    *,
    rate: float,
    capacity: int,
    seed: int,
    step: int,
    first_row: int = 0,
) -> Masked:
    """Choose the pieces to predict, and hide them.

    A row of n pieces, special ones not counted, has ``rate * n`` of them drawn,
    rounded up or down at random so that the expectation is exact. Words are drawn
    whole, in random order, as long as they fit; then smaller ones fill up what is
    left. Long words are thus drawn a little less often: at 15 % of 128 slots, those of
    four pieces at 13 %. Of a span that does not fit, its first words are taken, so that
    the first words of a segment are drawn at 17 %, the last at 14.7 %.
    """
    # ids: int64 (B, T); continues: bool (V,)
    chance = _RandomRows(seed, step, first_row, len(ids), ids.device)
    maskable = ids >= FIRST_PIECE
    exact = maskable.sum(1, keepdim=True) * _fixed_point(rate)
    wanted = (exact + chance.integers("count", 1, 1 << _RATE_BITS)) >> _RATE_BITS
    columns = _draw_columns(ids, continues, maskable, wanted, masking.kind, chance)
    # unused slots stand last, as column T
    chosen = columns.sort(dim=1).values[:, :capacity]
    real = chosen < ids.shape[1]
    chosen = torch.where(real, chosen, 0)
    targets = ids.gather(1, chosen)
    shown = torch.where(real, _shown(targets, masking, len(continues), chance), targets)
    # all unused slots of a row write to column 0 what stands there
    return Masked(ids.scatter(1, chosen, shown), chosen, targets, real.to(torch.float32))


class _RandomRows(NamedTuple):
    """The random numbers of a step, so many to each row."""

    seed: int
    step: int
    first_row: int
    n_rows: int
    device: torch.device

    def bits(self, purpose: str, width: int) -> torch.Tensor:
        shape, first = (self.n_rows, width), self.first_row * width
        return keyed_bits(self.seed, self.step, purpose, shape, self.device, first=first)

    def uniform(self, purpose: str, width: int) -> torch.Tensor:
        shape, first = (self.n_rows, width), self.first_row * width
        return keyed_uniform(self.seed, self.step, purpose, shape, self.device, first=first)

    def integers(self, purpose: str, width: int, below: int) -> torch.Tensor:
        shape, first = (self.n_rows, width), self.first_row * width
        return keyed_integers(
            self.seed, self.step, purpose, shape, self.device, below=below, first=first
        )


class _Words(NamedTuple):
    """Where words begin and end, each (B, T); of special pieces it says nothing of use."""

    heads: torch.Tensor  # bool: a word begins here
    opens: torch.Tensor  # bool: and what stands before it is special
    starts: torch.Tensor  # int64: column where the word of this slot begins
    stops: torch.Tensor  # int64: and its last column


def _draw_columns(
    ids: torch.Tensor,
    continues: torch.Tensor,
    maskable: torch.Tensor,
    wanted: torch.Tensor,
    kind: str,
    chance: _RandomRows,
) -> torch.Tensor:
    """Draw columns, int64 (B, T) in any order: at most ``wanted`` of a row, T elsewhere."""
    T = ids.shape[1]
    places = chance.bits("place", T)
    if kind == "piece":
        order = _in_order(places, maskable)
        return torch.where(torch.arange(T, device=ids.device) < wanted, order, T)
    words = _words(ids, continues, maskable)
    starts = words.starts
    if kind == "span":
        # a run goes on after each word with the same chance: its length is geometric
        ends_before = chance.uniform("span", T) < _on_grid(1 / _SPAN)
        starts = _last_marked(words.opens | (words.heads & ends_before))
    order = _in_order(places.gather(1, starts), maskable)
    return torch.where(_fitting_words(words, order, maskable, wanted), order, T)


def _words(ids: torch.Tensor, continues: torch.Tensor, maskable: torch.Tensor) -> _Words:
    """Find the words. A piece that follows a special one begins a word, as after a cut."""
    T = ids.shape[1]
    after_piece = torch.zeros_like(maskable)
    after_piece[:, 1:] = maskable[:, :-1]
    inside = maskable & after_piece & continues[ids]
    heads = maskable & ~inside
    goes_on = torch.zeros_like(maskable)
    goes_on[:, :-1] = inside[:, 1:]
    # columns counted from the right turn the next end into the latest one
    stops = T - 1 - _last_marked((~goes_on).flip(1)).flip(1)
    return _Words(heads, heads & ~after_piece, _last_marked(heads), stops)


def _last_marked(marks: torch.Tensor) -> torch.Tensor:
    """Give the column of the last mark up to each slot, int64 (B, T); 0 before the first."""
    columns = torch.arange(marks.shape[1], device=marks.device)
    return torch.where(marks, columns, 0).cummax(dim=1).values


def _in_order(places: torch.Tensor, maskable: torch.Tensor) -> torch.Tensor:
    """Give a row's columns in the order of random bits, ties from left to right.

    Slots that share their bits stay together; those that cannot be masked come last.
    """
    columns = torch.arange(places.shape[1], device=places.device)
    # the column stands within the key, so that no two are equal and every sort gives the same
    keys = places.bitwise_and(((1 << _CHANCE_BITS) - 1) << _COLUMN_BITS).bitwise_or_(columns)
    keys |= (~maskable).to(torch.int64) << (_CHANCE_BITS + _COLUMN_BITS)
    return keys.sort(dim=1).values & ((1 << _COLUMN_BITS) - 1)


def _fitting_words(
    words: _Words, order: torch.Tensor, maskable: torch.Tensor, wanted: torch.Tensor
) -> torch.Tensor:
    """Tell which slots of ``order``, where words stand together, belong to words that are taken."""
    sizes = torch.where(maskable, words.stops - words.starts + 1, order.shape[1]).gather(1, order)
    # of the pieces that are left of the word when this one is counted
    rest = words.stops.gather(1, order) - order
    taken = torch.zeros_like(maskable)
    left = wanted
    for _ in range(_ROUNDS):
        candidates = (sizes <= left) & ~taken
        now = candidates & (candidates.cumsum(1) + rest <= left)
        taken |= now
        left = left - now.sum(1, keepdim=True)
    return taken


def _shown(
    targets: torch.Tensor, masking: Masking, n_pieces: int, chance: _RandomRows
) -> torch.Tensor:
    """Draw what the model sees in the place of each target, int64 (B, C)."""
    C = targets.shape[1]
    fates = chance.uniform("fate", C)
    others = chance.integers("other", C, n_pieces - FIRST_PIECE) + FIRST_PIECE
    masked = fates < _on_grid(masking.mask_share)
    replaced = fates < _on_grid(masking.mask_share + masking.random_share)
    return torch.where(masked, MASK, torch.where(replaced, others, targets))


def _fixed_point(rate: float) -> int:
    """A rate in units of 2^-31, rounded down: a whole product must not seem to exceed itself."""
    return int(rate * (1 << _RATE_BITS))


def _on_grid(share: float) -> float:
    """A share as float32 holds it exactly, so that every device compares alike."""
    return round(share * 2**24) / 2**24
