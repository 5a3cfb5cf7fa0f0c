"""Choosing between a candidate and the present default."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from firth.embed.compare.config import CompareConfig
from firth.embed.compare.scoring.results import Comparison, Pair, Score
from firth.embed.compare.scoring.sets import read_tasks
from firth.embed.compare.statistics.significance import Difference
from firth.embed.vectors.word_vectors import WordVectors

BENCH = Path(__file__).parents[1]
WORDS = [f"w{number:03}" for number in range(200)]


@pytest.fixture(scope="module")
def choosing():
    """Import benchmarks/choosing.py, which is not collected."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCH))
        for name in ("harness", "roles", "choosing"):
            patch.delitem(sys.modules, name, raising=False)
        import choosing

        yield choosing


@pytest.fixture
def tasks(tmp_path):
    """Two similarity sets of 100 pairs each, without common words, rated by true cosines."""
    rng = np.random.default_rng(1)
    true = truth()
    for name, words in (("a", range(0, 200, 2)), ("b", range(1, 200, 2))):
        others = rng.permutation(np.array(words))
        lines = [
            f"{WORDS[x]}\t{WORDS[y]}\t{true[x] @ true[y]:.4f}\n"
            for x, y in zip(words, others, strict=True)
        ]
        (tmp_path / f"{name}.tsv").write_text("".join(lines))
    return read_tasks(
        CompareConfig(sets=(f"similarity={tmp_path}/a.tsv", f"similarity={tmp_path}/b.tsv"))
    )


def truth():
    rows = np.random.default_rng(0).normal(size=(200, 8))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def runs(noise, seeds):
    """Vectors that are the truth plus noise, one run per seed."""
    return [
        WordVectors(
            WORDS,
            (truth() + noise * np.random.default_rng(seed).normal(size=(200, 8))).astype(
                np.float32
            ),
        )
        for seed in seeds
    ]


def test_a_better_candidate_has_an_interval_above_zero(choosing, tasks):
    found = choosing.advantage(runs(0.1, (1, 2, 3)), runs(0.4, (4, 5, 6)), tasks)
    assert found.low > 0
    assert found.difference == pytest.approx(np.mean(list(found.by_set.values())))
    assert found.winner(2, 1) == "new"
    turned = choosing.advantage(runs(0.4, (4, 5, 6)), runs(0.1, (1, 2, 3)), tasks)
    assert turned.difference == pytest.approx(-found.difference)
    assert turned.high < 0
    assert turned.winner(1, 2) == "old"


def test_the_difference_is_that_of_the_mean_scores(choosing, tasks):
    from scipy.stats import spearmanr

    new, old = runs(0.2, (1, 2)), runs(0.3, (3, 4))
    gold = [pair.score for task in tasks for pair in task.pairs]
    [a, b] = [
        np.mean([
            np.mean([spearmanr(cosines(run, task), [p.score for p in task.pairs])[0]
                     for run in side])
            for task in tasks
        ])
        for side in (new, old)
    ]  # fmt: skip
    assert len(gold) == 200
    assert choosing.advantage(new, old, tasks).difference == pytest.approx(a - b, abs=1e-6)


def cosines(run, task):
    rows = run.matrix / np.linalg.norm(run.matrix, axis=1, keepdims=True)
    place = {word: row for row, word in enumerate(WORDS)}
    return [rows[place[pair.a]] @ rows[place[pair.b]] for pair in task.pairs]


def test_equal_sides_are_a_tie_in_most_cases(choosing, tasks):
    """Of 20 comparisons at most 4 differ; with a chance of 5 % each, more do in 0.3 % of cases."""
    differ = 0
    for start in range(0, 120, 6):
        sides = (runs(0.3, range(start + side, start + side + 3)) for side in (0, 3))
        found = choosing.advantage(*sides, tasks, CompareConfig(replicates=200))
        differ += found.low > 0 or found.high < 0
    assert differ <= 4


def test_variances_over_items_and_seeds_are_added(choosing):
    def pair(index, difference):
        spread = 1.96 * 0.01
        found = Difference(difference, difference - spread, difference + spread, 0.5)
        return Pair("old", "new", index, "similarity", f"set{index}", "spearman", None, found)

    def score(index, run, deviation):
        measured = SimpleNamespace(metric="spearman")
        return Score(run, index, True, measured, 0.5, 0.4, 0.6, deviation=deviation, n_seeds=2)

    deviations = {0: 0.01, 1: 0.0}
    scores = [score(n, run, deviations[n]) for n in (0, 1) for run in ("new", "old")]
    comparison = Comparison(("new", "old"), scores, [pair(0, -0.04), pair(1, -0.02)])

    found = choosing._combined(comparison, {"new": 2, "old": 2})

    # over items .01^2 for each set, over seeds .01^2 / 2 for each side of the first: .0003, with
    # .0003^2 / (2 x .00005^2 / 1) = 18 degrees of freedom, whose quantile is 2.1009
    margin = 2.1009 * np.sqrt(0.0003) / 2
    assert found.by_set == {"set0": 0.04, "set1": 0.02}  # new minus old
    assert (found.difference, found.low, found.high) == pytest.approx(
        (0.03, 0.03 - margin, 0.03 + margin), abs=1e-6
    )


@pytest.mark.parametrize(
    ("new", "old", "winner"),
    [(10, 10, "old"), (9.5, 10, "old"), (9, 10, "new"), (20, 10, "old")],
    ids=["equal", "little", "tenth", "dearer"],
)
def test_a_tie_goes_to_the_cheaper_or_the_present_default(choosing, new, old, winner):
    tie = choosing.Advantage(0.01, -0.01, 0.03, {"a": 0.01})
    assert tie.winner(new, old) == winner


def test_stored_comparisons_gather_in_a_file_by_name(choosing, tmp_path):
    path = tmp_path / "choices.json"
    found = choosing.Advantage(0.02468, 0.00551, 0.044, {"a": 0.02468})
    for name, seconds in (("epochs", (38.04, 19)), ("rate", (1, 1)), ("epochs", (40, 19))):
        choosing.add(path, name, choosing.stored(found, seconds, (3, 2)))
    read = json.loads(path.read_text())
    assert list(read) == ["epochs", "rate"]
    machine = read["epochs"].pop("machine")
    assert machine["git"]["commit"]
    assert read["epochs"] == {
        "difference": 0.0247, "low": 0.0055, "high": 0.044, "by_set": {"a": 0.0247},
        "seconds": {"new": 40, "old": 19}, "seeds": {"new": 3, "old": 2}, "choose": "new",
    }  # fmt: skip
