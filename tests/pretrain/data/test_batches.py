"""Batches: a function of seed and step, every row once per epoch, on any device."""

import dataclasses
from string import ascii_lowercase

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from firth.corpora.tokenizer.pieces import FIRST_PIECE, MASK
from firth.pretrain.data.batches import Batch, Batches, fixed_batches
from firth.pretrain.data.objectives.masked import MaskedPieces, capacity
from firth.pretrain.data.packing import PackedRows, lay_out
from tests.embed.small_corpus import SmallView
from tests.pretrain.letters import LETTERS, all_ids, packed, random_units

FIELDS = [
    field.name
    for field in dataclasses.fields(Batch)
    if field.name != "clusters" and not field.kw_only
]
ROWS = packed(random_units(1, 60))
N = ROWS.n_rows
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


def batches(rows=ROWS, *, batch_rows=8, seed=1, kind="piece"):
    """Batches of letters."""
    usual = capacity(rows.sequence_length, 0.3)
    continues = torch.tensor(LETTERS.continues, device=rows.device)
    objective = MaskedPieces(continues, usual, seed, kind)
    return Batches(rows, objective, batch_rows=batch_rows, seed=seed)


def held_out(rows=ROWS, *, batch_rows=8, limit=1000):
    """Fixed batches of letters."""
    continues = torch.tensor(LETTERS.continues, device=rows.device)
    objective = MaskedPieces.for_held_out(continues, rows.sequence_length)
    return [*fixed_batches(rows, objective, batch_rows=batch_rows, n_rows_limit=limit)]


def unmasked(batch):
    """Return the rows before masking."""
    # what is not a target writes column 0, which is never masked
    return batch.ids.scatter(1, batch.chosen, batch.targets)


def row_numbers(batch, rows=ROWS):
    """Return the row numbers of a batch."""
    number = {tuple(row): i for i, row in enumerate(all_ids(rows).tolist())}
    assert len(number) == rows.n_rows  # no two are alike
    return [number[tuple(row)] for row in unmasked(batch).tolist()]


def differences(a, b):
    """Return the names of the fields in which two batches differ."""
    return [name for name in FIELDS if not torch.equal(getattr(a, name), getattr(b, name))]


def test_a_batch_has_the_promised_shapes_and_types():
    batch = batches().batch(0, 0.15)

    for name in ("ids", "segments", "positions"):
        assert getattr(batch, name).shape == (8, 16)
        assert getattr(batch, name).dtype == torch.int64
    for name in ("chosen", "targets", "weights"):
        assert getattr(batch, name).shape == (8, 3)  # 14 pieces at 0.15 are 2.1
    assert batch.chosen.dtype == batch.targets.dtype == torch.int64
    assert batch.weights.dtype == batch.n_targets.dtype == torch.float32
    assert batch.n_targets == batch.weights.sum()


def test_segments_and_positions_are_those_before_masking():
    batch = batches().batch(3, 0.3)

    segments, positions = lay_out(unmasked(batch))

    assert (batch.ids == MASK).any()
    assert torch.equal(batch.segments, segments)
    assert torch.equal(batch.positions, positions)


@pytest.mark.slow
@pytest.mark.parametrize("batch_rows", [1, 8, N, N + 5, 3 * N + 1])
def test_every_epoch_takes_every_row_once_in_another_order(batch_rows):
    made = batches(batch_rows=batch_rows)

    stream = []
    step = 0
    while len(stream) < 4 * N:
        stream += row_numbers(made.batch(step, 0.15))
        step += 1

    epochs = [stream[e * N : (e + 1) * N] for e in range(4)]
    assert all(sorted(epoch) == [*range(N)] for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 4


def test_the_order_does_not_depend_on_the_size_of_batches():
    small, large = batches(batch_rows=4), batches(batch_rows=12)

    thirds = [row_numbers(small.batch(step, 0.15)) for step in (27, 28, 29)]

    assert [row for third in thirds for row in third] == row_numbers(large.batch(9, 0.15))


def test_steps_can_be_made_in_any_order():
    order = [40, 0, 7, 1, 39, 6, 1000, 0]
    wandering = batches(kind="span")

    for step in order:
        alone = batches(kind="span").batch(step, 0.2)
        assert differences(wandering.batch(step, 0.2), alone) == []


def test_another_seed_gives_other_orders_and_masks():
    first, second = batches(seed=1).batch(0, 0.15), batches(seed=2).batch(0, 0.15)

    assert row_numbers(first) != row_numbers(second)
    assert not torch.equal(first.chosen, second.chosen)


def test_row_numbers_may_exceed_int32():
    step = 2**33 * N // 8  # the first of an epoch, since 8 rows divide 2^33
    made = batches(batch_rows=8)

    stream = [row for s in range(step, step + N) for row in row_numbers(made.batch(s, 0.15))]

    assert all(sorted(stream[e * N : (e + 1) * N]) == [*range(N)] for e in range(8))


@pytest.mark.slow
def test_all_orders_are_equally_likely():
    rows = packed([["abcdefg"], ["hijklmn"], ["opqrstu"]], length=9)
    made = batches(rows, batch_rows=3)

    orders = [tuple(row_numbers(made.batch(step, 0.15), rows)) for step in range(1200)]

    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(counts) == 6
    assert chisquare(counts).pvalue > 1e-6  # a false alarm in 1 of 10^6 seeds


def test_a_batch_does_not_touch_torchs_generator():
    torch.manual_seed(1)
    before = torch.get_rng_state()

    first = batches().batch(0, 0.15)
    torch.manual_seed(2)

    assert differences(first, batches().batch(0, 0.15)) == []
    torch.manual_seed(1)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_batch_predicts_in_as_many_slots_as_its_rate_needs():
    made = batches(packed(random_units(1, 400), 64), batch_rows=64)

    for rate in (0.3, 0.2, 0.15):
        batch = made.batch(0, rate)
        pieces = (unmasked(batch) >= FIRST_PIECE).sum()
        assert batch.weights.shape == (64, capacity(64, rate))
        # rounding adds at most 0.5 to a row's standard deviation: 5 of them, of 64 rows' mean
        assert abs(batch.n_targets - rate * pieces) / 64 < 5 * 0.5 / 8


def test_slices_of_rows_make_up_the_batch():
    batch = batches().batch(2, 0.15)

    parts = [batch.rows(0, 3), batch.rows(3, 8)]

    for name in FIELDS:
        assert torch.equal(torch.cat([getattr(p, name) for p in parts]), getattr(batch, name))
    assert parts[0].n_targets + parts[1].n_targets == batch.n_targets


@pytest.mark.parametrize("limit", [1000, 21])
def test_held_out_masks_do_not_depend_on_the_size_of_batches(limit):
    many, one = held_out(batch_rows=4, limit=limit), held_out(batch_rows=N, limit=limit)[0]

    n = min(N, limit)
    for name in FIELDS:
        process_group = torch.cat([getattr(batch, name) for batch in many])
        assert torch.equal(process_group[:n], getattr(one, name)[:n]), name


def test_held_out_rows_occur_once_and_the_last_batch_is_padded():
    found = held_out(batch_rows=8, limit=N)

    assert all(batch.ids.shape == (8, 16) for batch in found)
    stream = [row for batch in found for row in row_numbers(batch)]
    assert stream[:N] == [*range(N)]
    assert N % 8  # or there were nothing to fill up
    assert not torch.cat([batch.weights for batch in found])[N:].any()


@pytest.mark.parametrize(("limit", "places"), [(3 * N - 1, 3 * N - 1), (1000 * N, 16 * N)])
def test_few_held_out_rows_are_repeated_with_other_masks(limit, places):
    found = held_out(batch_rows=8, limit=limit)

    used = torch.cat([batch.weights for batch in found]).any(1)
    stream = [row for batch in found for row in row_numbers(batch)]
    assert used.tolist() == [place < places for place in range(len(stream))]
    assert stream[:places] == [place % N for place in range(places)]
    chosen = torch.cat([batch.chosen for batch in found])
    assert not torch.equal(chosen[:N], chosen[N : 2 * N])


def test_too_many_held_out_rows_are_thinned_out_evenly():
    found = held_out(batch_rows=5, limit=20)

    assert [row for batch in found for row in row_numbers(batch)] == [
        i * N // 20 for i in range(20)
    ]


def test_held_out_pieces_are_masked_at_15_percent():
    found = held_out(packed(random_units(5, 400), 64))

    pieces = sum((unmasked(batch) >= FIRST_PIECE)[batch.weights.any(1)].sum() for batch in found)
    assert sum(batch.n_targets for batch in found) / pieces == pytest.approx(0.15, abs=0.002)


@pytest.mark.parametrize("units_per_shard", [1000, 40])
def test_held_out_targets_have_the_cluster_of_their_text(units_per_shard):
    # cluster n consists of four units of one letter each; neighbors have different letters
    letters = [ascii_lowercase[n % 26] for n in range(60)]
    sizes = np.random.default_rng(3).integers(1, 40, size=240)
    units = [[letters[n // 4]] * int(size) for n, size in enumerate(sizes)]
    view = SmallView(units, per_cluster=4, units_per_shard=units_per_shard)
    rows = PackedRows.pack(view, LETTERS, 16, "cpu", clusters=True)

    found = [batch for limit in (1000, 50) for batch in held_out(rows, limit=limit)]

    used = torch.cat([batch.weights for batch in found]) > 0
    targets = torch.cat([batch.targets for batch in found])[used].tolist()
    clusters = torch.cat([batch.clusters for batch in found])[used].tolist()
    of_letter = {int(LETTERS.split([letter])[0][0]): letter for letter in ascii_lowercase}
    assert [of_letter[piece] for piece in targets] == [letters[n] for n in clusters]
    assert len(set(clusters)) > 50
    # rows repeat the text in order: with few exceptions the clusters of a pass ascend
    assert (np.diff(clusters[:200]) >= 0).all()


def test_batches_of_rows_without_clusters_have_none():
    assert held_out()[0].clusters is None
    assert batches().batch(0, 0.15).clusters is None


@needs_gpu
@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("kind", ["piece", "word", "span"])
def test_a_gpu_makes_the_same_batches(kind, deterministic):
    on_gpu = dataclasses.replace(ROWS, ids=ROWS.ids.cuda(), device=torch.device("cuda"))
    here, there = (batches(rows, kind=kind) for rows in (ROWS, on_gpu))
    pairs = [(here.batch(0, 0.15), there.batch(0, 0.15))]  # and this has loaded the kernels
    try:
        torch.use_deterministic_algorithms(deterministic)
        torch.cuda.set_sync_debug_mode("error")  # within an epoch nothing waits for the GPU
        pairs += [(here.batch(step, 0.15), there.batch(step, 0.15)) for step in range(N // 8)]
    finally:
        torch.cuda.set_sync_debug_mode("default")
        torch.use_deterministic_algorithms(False)
    pairs += [*zip(held_out(), held_out(on_gpu), strict=True)]

    for ours, other in pairs:
        moved = Batch(*(getattr(other, name).cpu() for name in FIELDS))
        assert differences(ours, moved) == []
    assert on_gpu.fingerprint() == ROWS.fingerprint()
