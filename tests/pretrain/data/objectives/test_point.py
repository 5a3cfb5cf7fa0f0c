"""Shuffled words: rows and targets against a loop over words, and what the orders tell."""

import math
from collections import Counter
from itertools import groupby, permutations

import pytest
import torch
from scipy.stats import chisquare

from firth.corpora.tokenizer.pieces import CLS, PAD, SEP
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.batches import as_batch, fixed_batches
from firth.pretrain.data.objectives.point import ShuffledWords
from firth.pretrain.data.packing import lay_out
from firth.pretrain.training.evaluation import chance_score
from tests.pretrain.letters import LETTERS, all_ids, packed, random_units

CONTINUES = torch.tensor(LETTERS.continues)
ROWS = packed(random_units(1, 60), 32)
IDS = torch.from_numpy(all_ids(ROWS))


def objective(length=32):
    config = MlmConfig(objective="point", seed=3)
    return ShuffledWords.for_training(config, CONTINUES, length, pieces=LETTERS)


def shuffled(ids, step=0, **options):
    return objective(ids.shape[1]).predict(ids, step=step, rate=math.nan, **options)


def row_of(*words):
    """A row of one segment of words of one letter."""
    pieces = [LETTERS.names.index(word) for word in words]
    return torch.tensor([[CLS, *pieces, SEP]])


def words_of(ids, segments):
    """The words of each segment: its number, the first column and the pieces."""
    found = []
    for number, columns in groupby(range(len(ids)), segments.__getitem__):
        words = []
        for column in [] if number < 0 else [*columns][1:-1]:
            if words and CONTINUES[ids[column]]:
                words[-1][1].append(ids[column])
            else:
                words.append((column, [ids[column]]))
        found += [(number, first, tuple(pieces)) for first, pieces in words]
    return found


def test_each_word_points_at_its_own_in_the_shuffled_segment():
    made, segments = shuffled(IDS), lay_out(IDS)[0]
    assert torch.equal(lay_out(made.ids)[0], segments)  # so special pieces stay
    assert made.decoder.equal(torch.stack([IDS, *lay_out(IDS)], 1))
    for row, numbers in enumerate(segments.tolist()):
        ids, shown = IDS[row].tolist(), made.ids[row].tolist()
        text, targets = words_of(ids, numbers), made.targets[row].tolist()
        assert made.weights[row].nonzero().flatten().tolist() == [c - 1 for _, c, _ in text]
        taken = {}
        for number, column, pieces in text:
            target = targets[column - 1]
            assert (numbers[target], tuple(shown[target : target + len(pieces)])) == (
                number, pieces,
            )  # fmt: skip
            assert target > taken.get((number, pieces), 0)  # equal words keep their order
            taken[number, pieces] = target
        assert len({targets[column - 1] for _, column, _ in text}) == len(text)


def test_no_order_is_more_frequent_than_another():
    row = row_of(*"abca").expand(6000, -1)
    orders = Counter(map(tuple, shuffled(row).ids.tolist()))
    assert len(orders) == len(set(permutations("abca"))) == 12
    assert chisquare(list(orders.values())).pvalue > 1e-4  # of a false alarm


def test_the_encoder_is_given_the_same_for_texts_of_the_same_words():
    def given(text):
        made = as_batch(shuffled(row_of(*text).expand(20, -1)))
        return made.segments, made.positions, made.ids.sort(1).values

    for one, other in zip(given("abcd"), given("dbac"), strict=True):
        assert torch.equal(one, other)


def test_rows_a_few_at_a_time_are_shuffled_as_all_at_once():
    whole = shuffled(IDS[:10], step=1)
    parts = [shuffled(IDS[n : min(n + 4, 10)], step=1, first_row=n) for n in (0, 4, 8)]
    for name in ("ids", "chosen", "targets", "weights", "decoder"):
        assert torch.equal(torch.cat([getattr(part, name) for part in parts]), getattr(whole, name))
    assert not shuffled(IDS[:10], step=2).ids.equal(whole.ids)


def test_chance_is_one_of_the_words_of_a_segment():
    maker = ShuffledWords.for_held_out(CONTINUES, 32, pieces=LETTERS, keys={})
    batches = [*fixed_batches(ROWS, maker, batch_rows=8, n_rows_limit=ROWS.n_rows)]
    counts = [
        count
        for ids, segments in zip(IDS.tolist(), lay_out(IDS)[0].tolist(), strict=True)
        for count in Counter(number for number, *_ in words_of(ids, segments)).values()
    ]
    found, n = chance_score(batches), sum(counts)
    assert (IDS == PAD).any()
    assert found.n_targets == n
    assert found.accuracy == pytest.approx(len(counts) / n)
    assert found.loss == pytest.approx(sum(k * math.log(k) for k in counts) / n)
