"""Intrinsic measures of several runs: shared words, and reasons for undefined measures."""

import json
import re

import numpy as np
import pytest
import scipy.sparse
import scipy.stats

from firth.embed.compare.config import CompareConfig
from firth.embed.compare.inputs.baselines import make_baselines
from firth.embed.compare.intrinsic.measures import AGREEMENTS, PROPERTIES, measure_geometry
from firth.embed.compare.intrinsic.shared_words import shared_words
from firth.embed.compare.report import intrinsic_table
from firth.embed.compare.report.intrinsic_table import geometry_json, print_geometry
from firth.embed.vectors.word_vectors import WordVectors

WORDS = [f"w{number:03}" for number in range(120)]
CONFIG = CompareConfig(replicates=200)
WIDE, EQUAL = "no more words than dimensions", "all cosines are equal"


def vectors(words=WORDS, dim=12, seed=1, shift=1.0, **about):
    """Gaussian vectors around a mean."""
    matrix = np.random.default_rng(seed).normal(size=(len(words), dim)) + shift
    return WordVectors(list(words), matrix.astype(np.float32), **about)


def alone(geometry, run):
    """Metric to property of one run."""
    return {each.metric: each for each in geometry.properties if each.runs == (run,)}


def together(geometry, a, b):
    """Metric to agreement of one pair."""
    return {each.metric: each for each in geometry.agreements if each.runs == (a, b)}


def numbers(geometry):
    """All measures, for comparing two measurements."""
    return geometry.properties, geometry.agreements


def test_shared_words_are_ordered_by_their_worst_rank():
    a, b, c = (vectors(list(words)) for words in ("abcdex", "bacyed", "zbacde"))

    # places: a 0 1 2, b 1 0 1, c 2 2 3, d 3 5 4, e 4 4 5
    assert shared_words([a, b, c], 10) == ["b", "a", "c", "d", "e"]
    assert shared_words([c, a, b], 3) == ["b", "a", "c"]


@pytest.mark.parametrize("n_words", [1, 7, 50, 1_000])
def test_shared_words_match_the_definition(n_words):
    rng = np.random.default_rng(2)
    lists = [rng.permutation(WORDS)[: rng.integers(60, 120)].tolist() for _ in range(3)]
    common = set(lists[0]) & set(lists[1]) & set(lists[2])

    found = shared_words([vectors(words) for words in lists], n_words)

    place = {word: max(words.index(word) for words in lists) for word in common}
    assert found == sorted(common, key=lambda word: (place[word], word))[:n_words]
    # a repeated word has its first rank
    assert shared_words([vectors(["a", "b", "a"]), vectors(["a", "b"])], 5) == ["a", "b"]


def test_runs_and_baselines_are_measured_on_the_same_words():
    first, second = WORDS[:100], WORDS[110:] + WORDS[10:110]

    found = measure_geometry({"a": vectors(first), "b": vectors(second, seed=2)}, CONFIG, 80)

    assert [each.runs for each in found.properties[:: len(PROPERTIES)]] == [
        *(("a",), ("b",), ("one-hot",), ("random",))
    ]
    assert tuple(each.metric for each in found.properties[:5]) == PROPERTIES
    assert [each.runs for each in found.agreements[:: len(AGREEMENTS)]] == [
        *(("a", "b"), ("a", "one-hot"), ("a", "random")),
        *(("b", "one-hot"), ("b", "random"), ("one-hot", "random")),
    ]
    assert {each.words for each in (*found.properties, *found.agreements)} == {80}
    assert (found.words, found.zero, found.failures) == (80, 0, [])


def test_scores_match_the_definition_on_shared_rows():
    run = vectors(seed=3, counts=np.arange(120)[::-1] // 3)
    rows = np.random.default_rng(4).permutation(120)[:90]
    other = vectors([WORDS[row] for row in rows], seed=5)
    matrix = run.matrix[np.sort(rows)].astype(np.float64)
    lengths = np.linalg.norm(matrix, axis=1)
    cosines = (matrix / lengths[:, None]) @ (matrix / lengths[:, None]).T
    np.fill_diagonal(cosines, -2)
    times = np.bincount(np.argsort(-cosines, axis=1)[:, :10].ravel(), minlength=90)
    np.fill_diagonal(cosines, np.nan)

    found = alone(measure_geometry({"run": run, "other": other}, CONFIG), "run")

    for each in found.values():
        ends = (each.low, each.high)
        assert ends == (None, None) if each.metric == "largest_hub" else ends[0] < ends[1]
    assert found["mean_cosine"].score == pytest.approx(np.nanmean(cosines))
    assert found["hubness"].score == pytest.approx(scipy.stats.skew(times))
    assert found["largest_hub"].score == times.max()
    assert found["largest_hub"].word in {
        WORDS[np.sort(rows)[place]] for place in np.flatnonzero(times == times.max())
    }
    counts = run.counts[np.sort(rows)]
    assert found["length_frequency"].score == pytest.approx(
        scipy.stats.spearmanr(counts, lengths)[0]
    )


def test_without_counts_the_first_rows_are_the_most_frequent():
    matrix = np.random.default_rng(1).normal(size=(120, 12)).astype(np.float32)
    matrix *= np.arange(120, 0, -1)[:, None] / np.linalg.norm(matrix, axis=1, keepdims=True)

    found = alone(measure_geometry({"run": WordVectors(WORDS, matrix)}, CONFIG), "run")

    assert found["length_frequency"].score == 1.0


def test_measures_defined_for_one_hot_vectors():
    found = measure_geometry({"a": vectors()}, CONFIG)

    one_hot, pair = alone(found, "one-hot"), together(found, "a", "one-hot")
    assert (one_hot["mean_cosine"].score, one_hot["mean_cosine"].high) == (0.0, 0.0)
    assert {metric: each.reason for metric, each in (one_hot | pair).items()} == {
        "mean_cosine": None,
        "isotropy": WIDE,
        "hubness": EQUAL,
        "largest_hub": EQUAL,
        "length_frequency": "all vectors have the same length",
        "neighbors": EQUAL,
        "procrustes": WIDE,
    }
    undefined = [each for each in (*found.properties, *found.agreements) if each.reason]
    assert {(each.score, each.low, each.high) for each in undefined} == {(None, None, None)}


@pytest.mark.parametrize("n_words", [120, 5])
def test_only_the_baselines_that_are_asked_for_are_measured(n_words):
    runs = {"a": vectors(WORDS[:n_words]), "b": vectors(WORDS[:n_words], seed=2)}
    config = CompareConfig(replicates=200, baselines="random")
    found = measure_geometry(runs, config)
    assert {each.runs for each in found.properties} == {("a",), ("b",), ("random",)}
    # those given as runs are replaced
    fewer = make_baselines(list(runs.values()), ["w050"], 30, CONFIG.seed)
    assert measure_geometry({**runs, **fewer}, config) == found


def test_sparse_and_dense_runs_measure_the_same():
    rng = np.random.default_rng(7)
    matrix = rng.random((120, 40)).astype(np.float32) * (rng.random((120, 40)) < 0.3)
    dense, sparse = WordVectors(WORDS, matrix), WordVectors(WORDS, scipy.sparse.csr_matrix(matrix))

    a, b = (measure_geometry({"run": each, "x": vectors()}, CONFIG) for each in (dense, sparse))

    both = zip((*a.properties, *a.agreements), (*b.properties, *b.agreements), strict=True)
    for mine, theirs in both:
        assert theirs.score == pytest.approx(mine.score, abs=1e-9)
        assert theirs.reason == mine.reason


def test_wide_sparse_runs_have_neighbors_but_no_isotropy():
    rng = np.random.default_rng(8)
    matrix = scipy.sparse.csr_matrix(rng.random((120, 500)) * (rng.random((120, 500)) < 0.1))
    wide = WordVectors(WORDS, matrix.astype(np.float32))

    found = measure_geometry({"wide": wide, "a": vectors()}, CONFIG)

    assert alone(found, "wide")["isotropy"].reason == WIDE
    assert alone(found, "wide")["hubness"].score is not None
    assert together(found, "wide", "a")["neighbors"].score is not None
    assert together(found, "wide", "a")["procrustes"].reason == WIDE


def test_a_run_with_nan_fails_without_affecting_others():
    broken = vectors(seed=2, name="out/broken")
    broken.matrix[7, 3] = np.nan
    others = {"a": vectors(), "c": vectors(seed=3)}

    found = measure_geometry({"a": others["a"], "b": broken, "c": others["c"]}, CONFIG)

    assert found.failures == [
        "intrinsic: out/broken: the vector of 'w007' holds NaN or infinity; train the run again"
    ]
    assert numbers(found) == numbers(measure_geometry(others, CONFIG))


def test_words_with_a_zero_vector_are_left_out_and_counted():
    hollow = vectors(seed=2)
    hollow.matrix[[5, 9]] = 0
    rest = [word for word in WORDS if word not in ("w005", "w009")]

    found = measure_geometry({"a": vectors(), "b": hollow}, CONFIG)

    assert (found.words, found.zero) == (118, 2)
    rows = [WORDS.index(word) for word in rest]
    without = {
        name: WordVectors(rest, run.matrix[rows]) for name, run in (("a", vectors()), ("b", hollow))
    }
    assert numbers(found) == numbers(measure_geometry(without, CONFIG))


@pytest.mark.parametrize("n_words", [0, 1, 19])
def test_few_shared_words_give_a_reason_for_every_number(n_words):
    other = vectors([*WORDS[120 - n_words :], "x", "y"])

    found = measure_geometry({"a": vectors(), "b": other}, CONFIG)

    reason = f"{n_words} shared words with nonzero vectors; at least 20 are needed"
    assert len(found.properties) == 4 * len(PROPERTIES)
    assert len(found.agreements) == 6 * len(AGREEMENTS)
    for each in (*found.properties, *found.agreements):
        assert (each.score, each.words, each.reason) == (None, n_words, reason)
    enough = alone(measure_geometry({"a": vectors(WORDS[:20])}, CONFIG), "a")
    assert {each.reason for each in enough.values()} == {None}


def test_the_seed_changes_only_intervals_and_random_vectors():
    runs = {"a": vectors(), "b": vectors(seed=2)}

    found = measure_geometry(runs, CONFIG)
    other = measure_geometry(runs, CompareConfig(replicates=200, seed=2))

    assert alone(found, "a")["hubness"].score == alone(other, "a")["hubness"].score
    assert alone(found, "a")["hubness"].low != alone(other, "a")["hubness"].low
    assert alone(found, "random")["hubness"].score != alone(other, "random")["hubness"].score


def test_json_has_null_with_a_reason_and_the_word_of_the_hub():
    made = geometry_json(measure_geometry({"a": vectors()}, CONFIG))

    json.dumps(made, allow_nan=False)
    assert list(made) == ["properties", "agreements"]
    usual = ["run", "metric", "score", "low", "high", "words"]
    assert [list(entry) for entry in made["properties"][:5]] == [
        *(usual, usual, usual, [*usual, "word"], usual)
    ]
    nothing = {"score": None, "low": None, "high": None, "words": 120, "reason": WIDE}
    assert made["properties"][6] == {"run": "one-hot", "metric": "isotropy", **nothing}
    assert made["agreements"][1] == {"a": "a", "b": "one-hot", "metric": "procrustes", **nothing}


def test_tables_fit_100_columns_of_a_terminal_and_name_undefined_measures(capsys, monkeypatch):
    monkeypatch.setattr(intrinsic_table, "name_room", lambda characters: characters)
    long = "out/" + "a-very-long-name-of-a-run" * 3
    words = [f"{word}-and-much-more-of-it" for word in WORDS[:40]]
    runs = {long: vectors(words), "out/b": vectors(words, seed=2, shift=30)}
    runs["out/b"].matrix[3] = 0

    print_geometry(measure_geometry(runs, CONFIG), {"out/b": "b"})

    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert max(map(len, lines)) <= 100
    assert [re.split(r"\s{2,}", line.strip())[0] for line in lines if "─" not in line] == [
        *("run", "out/a-very-long-n…", "b", "one-hot", "random"),
        *("run", "out/a-very-long-n…", "out/a-very-long-n…", "b", *lines[-6:]),
    ]
    assert lines[-6:] == [
        "on the 39 most frequent words shared by all runs; ± half of the 95 % interval",
        "left out: words with a zero vector in some run: 1",
        f"undefined: one-hot: isotropy, procrustes: {WIDE}",
        f"undefined: one-hot: hubness, largest hub, neighbors: {EQUAL}",
        "undefined: one-hot: length~freq.: all vectors have the same length",
        f"undefined: random: isotropy, procrustes: {WIDE}",  # it has 300 dimensions
    ]


def test_one_line_replaces_tables_without_numbers(capsys):
    print_geometry(measure_geometry({"a": vectors(WORDS[:5])}, CONFIG), {})

    assert capsys.readouterr().out == (
        "intrinsic measures are undefined: 5 shared words with nonzero vectors; at least 20 are "
        "needed\n"
    )
