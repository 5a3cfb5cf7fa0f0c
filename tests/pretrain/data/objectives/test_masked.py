"""Masking against a naive twin that loops over rows, and statistical tests."""

import numpy as np
import pytest
import torch
from scipy.stats import chi2, chisquare

from firth.corpora.tokenizer.pieces import CLS, FIRST_PIECE, MASK, PAD, SEP, UNK
from firth.pretrain.data.objectives.masked import MaskedPieces, capacity
from firth.pretrain.data.stateless_random import as_integers, as_uniform, keyed_bits

FALSE_ALARM = 1e-6  # of each statistical test, over all seeds; the seeds are fixed
V = 60
CONTINUES = torch.arange(V) >= 40  # 5 to 39 begin a word, 40 to 59 continue one
KINDS = ["piece", "word", "span"]


def random_rows(seed, n_rows, length):
    """Rows of segments with words of 1 to 5 pieces, unknown words, cut words and padding."""
    rng = np.random.default_rng(seed)
    rows = np.full((n_rows, length), PAD)
    for row in rows:
        used = length - int(rng.integers(3))
        content = np.where(rng.random(used) < 0.4, rng.integers(40, V, used), 0)
        content[content == 0] = rng.integers(FIRST_PIECE, 40, int((content == 0).sum()))
        content[rng.random(used) < 0.03] = UNK
        cuts = np.flatnonzero(rng.random(used - 3) < 0.08) + 1
        content[cuts[::2]] = SEP
        content[cuts[::2] + 1] = CLS
        content[0], content[-1] = CLS, SEP
        row[:used] = content
    return torch.from_numpy(rows)


def plain_row(n, *, every=1):
    """One segment of n words of ``every`` pieces each."""
    words = [FIRST_PIECE] + [40] * (every - 1)
    return torch.tensor([CLS, *words * n, SEP])


def masked(ids, kind="piece", *, rate=0.15, step=0, first_row=0):
    objective = MaskedPieces(CONTINUES, capacity(ids.shape[1], rate), 11, kind)
    return objective.predict(ids, step=step, rate=rate, first_row=first_row)


def naive_words(row):
    """Return the columns of each word; a continuation belongs to the word before it."""
    words, before = [], PAD
    for column, piece in enumerate(row):
        if piece >= FIRST_PIECE:
            if CONTINUES[piece] and before >= FIRST_PIECE:
                words[-1].append(column)
            else:
                words.append([column])
        before = piece
    return words


def naive_runs(row, words, coins):
    """Return runs of words; a run ends at random after each word, and always at special pieces."""
    runs = []
    for word in words:
        if row[word[0] - 1] < FIRST_PIECE or coins[word[0]] < 1 / 3:
            runs.append([])
        runs[-1].append(word)
    return runs


def naive_groups(kind, row, coins):
    """Return the units that are drawn as a whole."""
    if kind == "piece":
        return [[[column]] for column, piece in enumerate(row) if piece >= FIRST_PIECE]
    words = naive_words(row)
    return [[word] for word in words] if kind == "word" else naive_runs(row, words, coins)


def naive_choice(kind, row, wanted, places, coins):
    """Return the columns to predict: groups in random order while they fit, in three rounds."""
    groups = naive_groups(kind, row, coins)
    groups.sort(key=lambda group: places[group[0][0]] >> 20 & (1 << 42) - 1)
    words = [word for group in groups for word in group]
    chosen = []
    for _ in range(3):
        left = wanted - len(chosen)
        taken, used = [], 0
        for word in (word for word in words if len(word) <= left and word[0] not in chosen):
            used += len(word)  # one that does not fit ends the round
            if used <= left:
                taken += word
        chosen += taken
    return sorted(chosen)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("length", "rate"), [(8, 0.15), (41, 0.15), (41, 0.6), (128, 0.3)])
def test_choice_matches_the_definition(kind, length, rate):
    ids = random_rows(3, 40, length)
    n, T = ids.shape

    found = masked(ids, kind, rate=rate, step=5)

    chances = as_integers(keyed_bits(11, 5, "count", (n,), "cpu"), 1 << 31).tolist()
    places = keyed_bits(11, 5, "place", (n, T), "cpu").tolist()
    coins = as_uniform(keyed_bits(11, 5, "span", (n, T), "cpu")).tolist()
    for i, row in enumerate(ids.tolist()):
        pieces = sum(piece >= FIRST_PIECE for piece in row)
        wanted = int(pieces * rate + chances[i] / 2**31)
        expected = naive_choice(kind, row, wanted, places[i], coins[i])
        real = int(found.weights[i].sum())
        assert found.chosen[i, :real].tolist() == expected
        assert found.targets[i, :real].tolist() == [row[column] for column in expected]
        assert found.weights[i].tolist() == [1] * real + [0] * (found.weights.shape[1] - real)
        assert not found.chosen[i, real:].any()


@pytest.mark.parametrize("kind", KINDS)
def test_special_pieces_are_neither_masked_nor_drawn(kind):
    ids = random_rows(4, 300, 64)

    found = masked(ids, kind, rate=0.5)

    changed = found.ids != ids
    assert changed.any()
    assert (ids[changed] >= FIRST_PIECE).all()
    shown = found.ids[changed & (found.ids != MASK)]
    assert shown.min() == FIRST_PIECE
    assert shown.max() == V - 1
    assert (found.targets[found.weights > 0] >= FIRST_PIECE).all()


@pytest.mark.parametrize("kind", KINDS)
def test_only_chosen_pieces_change(kind):
    ids = random_rows(4, 50, 64)

    found = masked(ids, kind)

    restored = found.ids.scatter(1, found.chosen, found.targets)
    assert torch.equal(restored, ids)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_without_pieces_have_nothing_to_predict(kind):
    ids = torch.tensor([[CLS, UNK, UNK, SEP, PAD, PAD], [CLS, UNK, SEP, CLS, UNK, SEP]])

    found = masked(ids, kind, rate=0.9)

    assert torch.equal(found.ids, ids)
    assert not found.weights.any()
    assert not found.chosen.any()
    assert (found.targets == CLS).all()


@pytest.mark.parametrize("kind", KINDS)
def test_rows_masked_a_few_at_a_time_are_masked_as_all_at_once(kind):
    ids = random_rows(6, 10, 32)

    whole = masked(ids, kind)

    parts = [masked(ids[i : i + 4], kind, first_row=i) for i in (0, 4, 8)]
    for name in whole._fields[:4]:
        process_group = torch.cat([getattr(part, name) for part in parts])
        assert torch.equal(process_group, getattr(whole, name)), name


def test_every_step_masks_other_pieces_and_repeats_itself():
    ids = random_rows(6, 10, 32)

    first, other, again = (masked(ids, step=step) for step in (0, 1, 0))

    assert not torch.equal(first.chosen, other.chosen)
    assert all(torch.equal(a, b) for a, b in zip(first[:4], again[:4], strict=True))


@pytest.mark.parametrize(
    ("length", "rate", "expected"),
    [(10, 0.3, 3), (12, 0.3, 3), (22, 0.15, 3), (128, 0.15, 19), (8, 0.01, 1), (8, 0.99, 6)],
)
def test_capacity_is_the_rate_of_all_but_two_slots_rounded_up(length, rate, expected):
    assert capacity(length, rate) == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rate", [0.1, 0.15, 0.2, 0.3, 0.7])
def test_a_full_row_never_needs_more_than_the_capacity(kind, rate):
    ids = plain_row(20).repeat(2000, 1)  # 20 * rate is whole, or nearly

    spare = masked(torch.nn.functional.pad(ids, (0, 22), value=PAD), kind, rate=rate)

    assert spare.weights.sum(1).max() == capacity(22, rate)


@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_targets_has_the_exact_expectation(kind):
    n_rows, pieces, rate = 40_000, 17, 0.15  # 2.55 a row: 2 or 3
    ids = plain_row(pieces).repeat(n_rows, 1)

    numbers = masked(ids, kind, rate=rate).weights.sum(1)

    counts = [(numbers == 2).sum().item(), (numbers == 3).sum().item()]
    assert sum(counts) == n_rows
    assert chisquare(counts, [0.45 * n_rows, 0.55 * n_rows]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("kind", ["piece", "word"])
def test_every_piece_of_a_row_is_chosen_equally_often(kind):
    n_rows, pieces = 20_000, 30
    found = masked(plain_row(pieces).repeat(n_rows, 1), kind, rate=0.2)

    counts = torch.bincount(found.chosen.flatten(), minlength=pieces + 2).numpy()[1 : 1 + pieces]

    drawn = 6  # of each row, without replacement, which makes the counts vary less
    expected = n_rows * drawn / pieces
    statistic = ((counts - expected) ** 2 / expected).sum() * (pieces - 1) / (pieces - drawn)
    assert counts.sum() == n_rows * drawn
    assert chi2.sf(statistic, pieces - 1) > FALSE_ALARM


def test_targets_are_shown_as_the_shares_say():
    ids = plain_row(60).repeat(5000, 1)

    found = masked(ids, rate=0.3)

    counts = np.bincount(found.ids.gather(1, found.chosen)[found.weights > 0], minlength=V)
    assert counts.sum() == 5000 * 18
    # a random piece may be the one that stood there
    shares = np.array([0.8, 0.1 + 0.1 / (V - FIRST_PIECE)])
    shown = np.append(counts[[MASK, FIRST_PIECE]], counts[FIRST_PIECE + 1 :].sum())
    expected = np.append(shares, 1 - shares.sum()) * counts.sum()
    assert chisquare(shown, expected).pvalue > FALSE_ALARM
    # and all random pieces are as frequent
    assert chisquare(counts[FIRST_PIECE + 1 :]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("kind", ["word", "span"])
def test_small_words_fill_the_remaining_targets(kind):
    ids = random_rows(8, 2000, 64)

    found = masked(ids, kind, rate=0.15)

    # a row may lack words that are small enough; that costs less than 1 target in 200
    pieces = (ids >= FIRST_PIECE).sum().item()
    assert 0.995 < found.weights.sum().item() / (0.15 * pieces) < 1.005


def test_runs_of_words_have_geometric_lengths_with_mean_3():
    n = 400
    row = plain_row(n).tolist()
    lengths = []
    for step in range(100):
        coins = as_uniform(keyed_bits(11, step, "span", (n + 2,), "cpu")).tolist()
        # the last run is cut off by the end of the row
        lengths += [len(run) for run in naive_runs(row, naive_words(row), coins)[:-1]]

    counts = np.bincount(np.minimum(lengths, 13))[1:]
    chances = (1 / 3) * (2 / 3) ** np.arange(12)
    expected = np.append(chances, 1 - chances.sum()) * len(lengths)
    assert chisquare(counts, expected).pvalue > FALSE_ALARM


def test_a_span_is_a_run_of_neighbors():
    ids = plain_row(100).repeat(3000, 1)

    neighbors = {}
    for kind in ("word", "span"):
        chosen = masked(ids, kind, rate=0.06).chosen  # 6 words of each row
        neighbors[kind] = (chosen.diff(dim=1) == 1).float().mean().item()

    # single words neighbor others by chance, about 6 in 100; in runs of mean 3, two in three
    # words have a next one, but that the last run is cut short
    assert neighbors["word"] < 0.08
    assert neighbors["span"] > 0.5
