"""The benchmark of epochs: a grid that resumes, and rules compared by regret."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from firth.corpora.datasets.synthetic import SyntheticConfig, write_gold, write_synthetic
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import BuildOptions, make_request
from firth.corpora.reading.text_blocks import ReadOptions
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.scoring.sets import read_tasks

BENCH = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def bench():
    """Import benchmarks/bench_epochs.py, which is not collected."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCH))
        for name in ("harness", "roles", "bench_epochs"):
            patch.delitem(sys.modules, name, raising=False)
        import bench_epochs

        yield bench_epochs


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("epochs")
    write_synthetic(folder / "text.txt", SyntheticConfig(n_tokens=120_000))
    read, options = ReadOptions(documents="block"), BuildOptions(threads=1)
    request = make_request([folder / "text.txt"], read=read, options=options)
    return encode_corpus(request, folder / "corpus")


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gold")
    return read_tasks(CompareConfig(sets=(f"similarity={write_gold(folder)[0]}",)))


def variants(epochs, **more):
    base = {"method": "skipgram", "dim": 100, "subwords": None}
    return [{**base, **more, "epochs": each} for each in epochs]


def test_the_grid_has_every_variant_once_and_begins_with_the_quickest(bench):
    cells = bench.grid(bench.WORDS, [1])
    assert len(set(cells)) == len(cells) == 2 * 2 * 2 * 7 * 3
    assert [cell.visits for cell in cells] == sorted(cell.visits for cell in cells)


def test_cells_are_trained_scored_and_skipped_when_they_are_finished(
    bench, corpus, tasks, tmp_path, capsys
):
    path = tmp_path / "cells.jsonl"
    cells = bench.grid([60_000], [1], variants((1, 2)) + variants((1, 2), method="cbow"))
    bench.measure(cells[:3], corpus, tasks, path, threads=1)
    before = path.read_text()
    path.write_text(before + '{"cell": {"method": "cb')  # cut short

    bench.measure(cells, corpus, tasks, path, threads=1)

    lines = path.read_text().splitlines()
    assert lines[:3] == before.splitlines()
    assert [bench.Cell(**json.loads(line)["cell"]) for line in lines] == cells
    for line in map(json.loads, lines):
        assert line["n_tokens"] == pytest.approx(60_000, rel=0.1)
        assert line["seconds"] > 0
        assert -1 <= line["scores"]["synthetic-similarity"] <= 1
    shown = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in shown] == ["1/3", "2/3", "3/3", "4/4"]
    assert shown[-1].endswith("about 0 s left")
    curves = bench.curves_of(bench.read_cells(path))
    assert [(curve.method, list(curve.epochs)) for curve in curves] == [
        ("cbow", [1, 2]), ("skipgram", [1, 2]),
    ]  # fmt: skip
    assert len(bench.rows_of(curves)) == 2 * 3  # both, and each method


def test_options_leave_a_part_of_the_grid(bench, monkeypatch):
    asked = "--cells x --method cbow --dim 300 --subwords none --epochs 3 40"
    monkeypatch.setattr(sys, "argv", ["bench_epochs.py", *asked.split()])
    found = bench.chosen_variants(bench.parsed())
    assert found == variants((3, 40), method="cbow", dim=300)
    monkeypatch.setattr(sys, "argv", ["bench_epochs.py", "--cells", "x"])
    assert bench.chosen_variants(bench.parsed()) == bench.VARIANTS


def test_the_time_left_is_that_of_the_same_kind_of_training(bench):
    quick, slow = (bench.grid([1000], [1], variants((1, 10), subwords=s)) for s in (None, "3-6"))
    done = {
        quick[0]: {"seconds": 1.0, "n_tokens": 1000},
        slow[0]: {"seconds": 7.0, "n_tokens": 1000},
    }
    assert bench.seconds_left([quick[1]], done) == pytest.approx(10)
    assert bench.seconds_left([slow[1], quick[1]], done) == pytest.approx(80)
    [other] = bench.grid([1000], [1], variants((10,), dim=300))
    assert bench.seconds_left([other], done) == pytest.approx(40)  # the median of all


@pytest.mark.parametrize(
    ("n_tokens", "dim", "epochs"),
    [(1e6, 100, 30), (4e6, 100, 20), (16e6, 100, 5), (1e9, 100, 5), (16e6, 400, 10)],
    ids=["ceiling", "budget", "budget-large", "floor", "dimensions"],
)
def test_a_budget_of_visits_is_bounded_and_grows_with_dimensions(bench, n_tokens, dim, epochs):
    assert bench.Budget(80e6, 5, 30, 0.5)(n_tokens, dim) == epochs


def curve(bench, n_tokens, best, *, dim=100, epochs=(2, 4, 8, 16, 32), method="skipgram"):
    """A curve whose score falls by .1 with each doubling away from the best number of epochs."""
    epochs = np.array(epochs, dtype=float)
    scores = 0.6 - 0.1 * np.abs(np.log2(epochs / best))
    return bench.Curve(method, None, int(n_tokens), dim, int(n_tokens), epochs, scores)


def test_a_stored_curve_has_its_scores_by_epochs(bench):
    found = bench.stored(curve(bench, 1e6, 8, epochs=(8, 16)))
    assert (found["words"], found["scores"]) == (1_000_000, {"8": 0.6, "16": 0.5})


def test_a_stored_cell_has_its_options_seed_and_score_on_each_set(bench):
    [cell] = bench.grid([1000], [3], variants((15,)))
    found = bench.stored_cell(cell, {"seconds": 2.5, "n_tokens": 990, "scores": {"msr": 0.12345}})
    assert found == {
        "method": "skipgram", "words": 1000, "dim": 100, "subwords": None, "epochs": 15,
        "seed": 3, "seconds": 2.5, "scores": {"msr": 0.1235},
    }  # fmt: skip


def test_regret_is_interpolated_over_log_epochs_and_cost_over_epochs(bench):
    found = curve(bench, 1e6, 8)
    assert found.regret(8) == pytest.approx(0)
    assert found.regret(16) == pytest.approx(0.1)
    assert found.regret(8 * np.sqrt(2)) == pytest.approx(0.05)
    assert (found.cost(32), found.cost(3)) == (1, 3 / 32)


def test_the_rule_that_made_the_curves_is_chosen(bench):
    rule = bench.Budget(80e6, 5, 30, 0.5)
    sizes = (1e6, 2e6, 3e6, 4e6, 6e6, 8e6, 16e6, 32e6)
    curves = [
        curve(bench, n, rule(n, dim), dim=dim, epochs=range(1, 41))
        for n in sizes
        for dim in (50, 100, 200, 300)
    ]
    found = bench.choose(bench.BUDGETS, curves)
    assert (found.rule, found.regret) == (rule, pytest.approx(0))


def test_a_tie_goes_to_the_cheaper_rule(bench):
    def rule(n_tokens, dim):
        return 8

    def cheaper(n_tokens, dim):
        return 4

    # half of the texts prefer either, so the mean difference is 0
    mixed = [curve(bench, 1e6, best) for best in (4, 8) * 4]
    assert bench.choose([rule, cheaper], mixed).rule is cheaper
    clear = [curve(bench, 1e6, 8) for _ in range(7)] + [curve(bench, 1e6, 4)]
    assert bench.choose([rule, cheaper], clear).rule is rule
    few = [curve(bench, 1e6, 8), curve(bench, 1e6, 5)]  # within two standard errors, but .03 apart
    assert bench.choose([rule, cheaper], few).rule is rule


def test_the_table_has_the_present_rule_and_extrapolates_to_the_largest_text(bench):
    curves = [curve(bench, n, best) for n, best in ((1e6, 32), (4e6, 16), (16e6, 4))]
    rows = bench.rows_of(curves)
    assert [row[:2] for row in rows[:3]] == [
        ["both", "present rule"], ["both", "chosen"], ["both", "chosen on smaller, at the largest"],
    ]  # fmt: skip
    # 20 epochs, 20, and 10 for 16 million words: regrets of log2(32/20), log2(20/16), log2(10/4)
    expected = np.mean([0.1 * np.log2(a / b) for a, b in ((32, 20), (20, 16), (10, 4))])
    assert float(rows[0][3]) == pytest.approx(expected, abs=0.01)  # one curve is interpolated
    assert float(rows[1][3]) <= float(rows[0][3])
