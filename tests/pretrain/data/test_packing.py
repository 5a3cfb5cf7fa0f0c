"""Packing against a naive twin that fills one row after the other, and its invariants."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from firth.corpora.common.errors import SettingError
from firth.corpora.tokenizer.pieces import CLS, FIRST_PIECE, PAD, SEP, SPECIAL, Pieces
from firth.pretrain.data import packing
from firth.pretrain.data.packing import PackedRows, lay_out, max_rows, piece_counts
from tests.embed.small_corpus import SmallView
from tests.pretrain.letters import LETTERS, all_ids, packed, random_units


def pieces_of(unit):
    """Return the ids of a unit, word by word."""
    return [int(piece) for word in unit for piece in LETTERS.split([word])[0]]


def naive_rows(units, length, *, whole=False):
    """The definition: a segment fills its row, and the rest continues in a new row.

    Whole units that do not fit start a new row.
    """
    rows = [[]]
    for pieces in units:
        needed = len(pieces) + 2 if whole else 3
        while pieces:
            if rows[-1] and length - len(rows[-1]) < needed:
                rows[-1] += [PAD] * (length - len(rows[-1]))
                rows.append([])
            room = length - len(rows[-1]) - 2
            rows[-1] += [CLS, *pieces[:room], SEP]
            pieces, needed = pieces[room:], 3
    rows[-1] += [PAD] * (length - len(rows[-1]))
    return rows


@pytest.mark.slow
@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=60),
    length=st.integers(8, 30),
    units_per_shard=st.sampled_from([1, 2, 7, 1000]),
    whole=st.booleans(),
)
def test_rows_match_the_definition_however_the_text_is_cut_into_shards(
    sizes, length, units_per_shard, whole
):
    units = [["ab"[i % 2]] * n for i, n in enumerate(sizes)]
    view = SmallView(units, units_per_shard=units_per_shard)

    rows = PackedRows.pack(view, LETTERS, length, "cpu", whole=whole)

    expected = naive_rows([pieces_of(unit) for unit in units], length, whole=whole)
    assert all_ids(rows).tolist() == expected
    assert rows.n_padding == sum(row.count(PAD) for row in expected)
    # a kernel that writes beyond its array is not caught: the bound must hold
    assert len(expected) <= max_rows(sum(sizes), len(sizes), length) << whole


def test_units_that_cannot_be_whole_are_counted(capsys):
    view = SmallView([["a"] * 9, ["b"] * 3, ["c"] * 7])
    PackedRows.pack(view, LETTERS, 8, "cpu", whole=True)
    assert "2 texts are longer than a row and are cut; the longest needs" in capsys.readouterr().err
    PackedRows.pack(view, LETTERS, 8, "cpu")
    PackedRows.pack(view, LETTERS, 11, "cpu", whole=True)
    assert capsys.readouterr().err == ""


def test_a_row_worked_by_hand():
    rows = packed([["ab", "c"], ["d"], ["e"], ["xyz", "f"]], length=8)

    ids = {name: i for i, name in enumerate(LETTERS.names)}
    first = [CLS, ids["a"], ids["##b"], ids["c"], SEP, CLS, ids["d"], SEP]
    second = [CLS, ids["e"], SEP, CLS, ids["x"], ids["##y"], ids["##z"], SEP]
    third = [CLS, ids["f"], SEP, PAD, PAD, PAD, PAD, PAD]
    assert all_ids(rows).tolist() == [first, second, third]
    assert (rows.n_rows, rows.sequence_length, rows.padding) == (3, 8, 5 / 24)


@pytest.mark.slow
def test_every_piece_is_packed_once_in_order_in_segments_of_one_unit():
    units = random_units(1, 300)

    ids = all_ids(packed(units, 16, units_per_shard=50)).ravel()

    left = [pieces_of(unit) for unit in units]
    for segment in np.split(ids[ids != PAD], np.flatnonzero(ids[ids != PAD] == CLS)[1:]):
        inner = segment[1:-1].tolist()
        assert (segment[0], segment[-1]) == (CLS, SEP)
        assert inner
        assert inner == left[0][: len(inner)]
        left[0] = left[0][len(inner) :]
        if not left[0]:
            left.pop(0)
    assert left == []


def test_padding_is_only_where_no_segment_fits():
    ids = all_ids(packed(random_units(2, 500), 32))

    padding = ids[:-1] == PAD

    assert padding.any()
    assert padding.sum(1).max() == 2
    assert (np.diff(padding.astype(int), axis=1) >= 0).all()  # at the end of the row
    assert not ((ids == PAD)[:, 0]).any()


@pytest.mark.parametrize(
    ("n_pieces", "dtype"), [(65_536, torch.int16), (65_537, torch.int32)], ids=str
)
def test_every_piece_of_a_large_vocabulary_is_read_back(n_pieces, dtype):
    ideographs = [chr(0x20000 + i) for i in range(n_pieces - FIRST_PIECE)]
    pieces = Pieces([*SPECIAL, *ideographs])
    words = [ideographs[i] for i in (0, 30_000, 32_768, len(ideographs) - 1)]

    rows = PackedRows.pack(SmallView([words]), pieces, 8, "cpu")

    assert rows.ids.dtype == dtype
    expected = [[CLS, 5, 30_005, 32_773, n_pieces - 1, SEP, PAD, PAD]]
    assert all_ids(rows).tolist() == expected
    assert piece_counts(rows).nonzero().flatten().tolist() == expected[0][1:5]


def test_segments_and_positions_worked_by_hand():
    ids = torch.tensor([[CLS, 7, 8, SEP, CLS, 9, SEP, PAD], [CLS, 7, 8, 9, 7, 8, 9, SEP]])

    segments, positions = lay_out(ids)

    assert segments.tolist() == [[0, 0, 0, 0, 1, 1, 1, -1], [0] * 8]
    assert positions.tolist() == [[0, 1, 2, 3, 0, 1, 2, 0], [*range(8)]]


def test_counts_are_those_of_the_text_without_special_pieces():
    units = random_units(3, 100)

    rows = dataclasses.replace(packed(units), chunk_slots=100)  # several chunks

    counts = np.bincount(
        [piece for unit in units for piece in pieces_of(unit)], minlength=len(LETTERS)
    )
    counts[:FIRST_PIECE] = 0  # Ω is [UNK]
    assert piece_counts(rows).tolist() == counts.tolist()


def test_the_fingerprint_follows_the_content():
    units = random_units(3, 30)
    rows = packed(units)
    fingerprint = rows.fingerprint()

    rows = dataclasses.replace(rows, chunk_slots=100)
    widened = dataclasses.replace(rows, ids=rows.ids.to(torch.int32))
    changed = dataclasses.replace(rows, ids=rows.ids.flip(0))
    reshaped = dataclasses.replace(rows, ids=rows.ids.view(-1, 8))

    assert len(fingerprint) == 16
    assert widened.fingerprint() == fingerprint
    assert fingerprint not in (changed.fingerprint(), reshaped.fingerprint())


@pytest.mark.parametrize(
    ("units", "length", "message"),
    [
        ([["a"]], 7, "`sequence_length` must be at least 8, got 7"),
        ([], 8, "there is no text to pack: the documents have no tokens; build the corpus"),
    ],
)
def test_rows_that_cannot_be_packed_are_refused(units, length, message):
    with pytest.raises(SettingError, match=message):
        packed(units, length=length, words=["a"])


def test_a_text_that_does_not_fit_the_device_stays_on_the_cpu(monkeypatch, capsys):
    rows = packed(random_units(1, 20))

    def full(*_):
        raise torch.OutOfMemoryError

    monkeypatch.setattr(torch.Tensor, "to", full)
    kept = packing._to_device(rows.ids, torch.device("cuda"))
    assert kept is rows.ids
    assert "its rows are sent batch by batch" in capsys.readouterr().err
