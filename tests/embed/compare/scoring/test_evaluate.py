"""Evaluation: seeds, frequency bands, failures, and the cache."""

import hashlib
import itertools
import json
import os
import sys
from dataclasses import replace

import numpy as np
import pytest

from firth.embed.compare.config import CompareConfig
from firth.embed.compare.report.document import to_json
from firth.embed.compare.report.terminal import print_report
from firth.embed.compare.scoring import cache, evaluate
from firth.embed.compare.scoring.cache import MeasurementCache, evict_oldest
from firth.embed.compare.scoring.comparison import compare_vectors
from firth.embed.compare.scoring.sets import read_tasks
from firth.embed.compare.statistics.significance import holm
from firth.embed.compare.tasks.similarity import SimilarityTask
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.compare.measuring import of_kind
from tests.embed.compare.scoring.planted import WORDS, noisy, planted_sets, write

BANDS = "firth.embed.compare.scoring.frequency_bands.EDGES"
SEEDS = ("sg-seed1", "sg-seed2", "sg-seed3")
GROUPS = {"sg-seed*": SEEDS}


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    """A set of every kind over WORDS."""
    return planted_sets(tmp_path_factory.mktemp("sets"))


@pytest.fixture(scope="module")
def one(config):
    """The set of pairs alone."""
    return replace(config, sets=config.sets[:1])


@pytest.fixture(scope="module")
def seeded(config):
    """Three seeds of a method and a run of another one."""
    runs = {"svd": noisy(9), **{name: noisy(number) for number, name in enumerate(SEEDS, 1)}}
    return compare_vectors(runs, read_tasks(config), config, groups=GROUPS)


def document(runs, config, **further):
    return to_json(compare_vectors(runs, read_tasks(config), config, **further), config, {})


def printed(found, capsys):
    """The printed lines of a comparison."""
    print_report(to_json(found, CompareConfig(), {}), "skip")
    return capsys.readouterr().out.splitlines()


def of_run(found, name):
    """All results of a run except its name."""
    return [
        {key: value for key, value in result.items() if key != "run"}
        for result in found["results"]
        if result["run"] == name
    ]


def test_runs_of_several_seeds_share_a_row_with_mean_and_deviation(seeded, config):
    found = to_json(seeded, config, {})

    keys = ("task", "dataset", "metric", "shared_items", "items_used", "items_total")
    by_run = {
        name: {tuple(each[key] for key in keys): each for each in of_run(found, name)}
        for name in ("sg-seed*", *SEEDS)
    }
    assert len(by_run["sg-seed*"]) == 22  # metrics, on shared and on own items
    for key, mean in by_run["sg-seed*"].items():
        scores = [by_run[name][key]["score"] for name in SEEDS]
        assert mean["seeds"] == 3
        assert mean["score"] == pytest.approx(np.mean(scores))
        assert mean["deviation"] == pytest.approx(np.std(scores, ddof=1))
        assert mean["low"] <= mean["score"] <= mean["high"]
    assert all("deviation" not in each for each in of_run(found, "sg-seed1"))
    assert [run for run in found["runs"] if "seeds" in run] == [
        {"run": "sg-seed*", "method": None, "fingerprint": None, "seeds": list(SEEDS)}
    ]


def test_methods_are_tested_with_all_their_seeds_and_single_runs_too(seeded):
    tested = [(pair.a, pair.b) for pair in seeded.pairs if pair.metric == "opp"]
    rows = ["svd", "sg-seed*", "random"]  # one-hot is undefined there
    single = itertools.combinations(["svd", *SEEDS, "random"], 2)
    assert tested == [
        *itertools.combinations(rows, 2),
        *(two for two in single if set(SEEDS) & set(two)),
    ]
    assert len(tested) == len(set(tested))


def test_the_table_shows_one_row_for_several_seeds(seeded, capsys):
    lines = printed(seeded, capsys)
    assert max(map(len, lines)) <= 100
    [first] = [line for line in lines if line.startswith(" pairs") and "spearman" in line]
    assert "svd" in first
    below = lines[lines.index(first) + 1]
    assert "sg-seed*" in below
    assert "±." in below
    assert "sg-seed*: mean of 3 seeds ± their standard deviation" in lines
    assert not any("sg-seed1" in line for line in lines)


def test_a_group_averages_the_seeds_that_were_scored(config, capsys):
    broken = noisy(3)
    broken.matrix[:] = np.nan
    runs = dict(zip(SEEDS, (noisy(1), noisy(2), broken), strict=True))

    found = compare_vectors(runs, read_tasks(config), config, groups=GROUPS)

    assert len(found.failures) == 5
    assert {score.n_seeds for score in found.scores if score.run == "sg-seed*"} == {2}
    lines = printed(found, capsys)
    assert any(line.startswith(" pairs") and "sg-seed* " in line for line in lines)
    assert "sg-seed*: mean of 2 of 3 seeds ± their standard deviation" in lines
    tested = {(pair.a, pair.b) for pair in found.pairs if pair.metric == "spearman"}
    single = itertools.combinations((*SEEDS[:2], "random"), 2)
    assert tested == {("sg-seed*", "random"), *single}

    runs = {"sg-seed1": runs["sg-seed1"], "sg-seed3": broken}  # a single one keeps its name
    found = compare_vectors(runs, read_tasks(config), config, groups={"sg-seed*": tuple(runs)})

    assert {score.run for score in found.scores} == {"sg-seed1", "one-hot", "random"}
    assert len(found.failures) == 5
    lines = printed(found, capsys)
    assert any(line.startswith(" pairs") and "sg-seed1 " in line for line in lines)
    assert not any("mean of" in line for line in lines)
    assert any({pair.a, pair.b} == {"sg-seed1", "random"} for pair in found.pairs)


def test_pairs_of_single_seeds_are_corrected_among_themselves(one):
    noise = {"svd": 0.2, "other": 0.9, "sg-seed1": 1.2, "sg-seed2": 1.4}
    runs = {name: noisy(n, noise=each) for n, (name, each) in enumerate(noise.items())}
    groups = {"sg-seed*": SEEDS[:2]}

    found = compare_vectors(runs, read_tasks(one), one, groups=groups).pairs
    alone = {
        (pair.a, pair.b): pair.difference.p
        for two in itertools.combinations(runs, 2)
        for pair in compare_vectors({n: runs[n] for n in two}, read_tasks(one), one).pairs
        if (pair.metric, pair.family) == ("spearman", "runs")
    }

    p = {
        (pair.a, pair.b): pair.difference.p
        for pair in found
        if (pair.metric, pair.family) == ("spearman", "seeds")
    }
    del alone["svd", "other"]  # two rows: that pair has been counted among them
    assert p == dict(zip(alone, holm(list(alone.values())).tolist(), strict=True))


def test_seeds_that_cover_different_items_have_no_mean(config):
    runs = {"sg-seed1": noisy(1), "sg-seed2": noisy(2, WORDS[:40])}

    found = document(runs, config, groups={"sg-seed*": SEEDS[:2]})

    for each in of_run(found, "sg-seed*"):
        own = [
            r["items_used"]
            for name in runs
            for r in of_run(found, name)
            if (r["dataset"], r["metric"]) == (each["dataset"], each["metric"])
            and not r["shared_items"]
        ]
        if each["shared_items"] or own[0] == own[1]:
            assert each["score"] is not None
        else:
            assert each["score"] is None
            assert each["reason"] == "the seeds do not cover the same items"


def test_bands_without_a_score_have_a_reason_for_several_seeds_too(tmp_path, monkeypatch):
    edges = {"two": 2, "rest": sys.maxsize}
    monkeypatch.setattr(BANDS, edges)
    planted = planted_sets(tmp_path)
    pairs = tmp_path / "pairs.tsv"
    write(pairs, [f"{WORDS[0]}\t{WORDS[1]}\t1", *pairs.read_text().splitlines()])
    one = replace(planted, sets=planted.sets[:1], bands=True)
    runs = {"sg-seed1": noisy(1), "sg-seed2": noisy(2)}

    found = document(runs, one, groups={"sg-seed*": SEEDS[:2]})

    json.dumps(found, allow_nan=False)
    undefined = [each for each in found["results"] if each.get("section") == "two"]
    assert {each["run"] for each in undefined} == {*runs, "sg-seed*", "one-hot", "random"}
    for each in undefined:
        assert (each["score"], each["items_used"]) == (None, 1)
        assert each["reason"]


def test_bands_of_bats_count_questions_and_lines_separately(tmp_path, monkeypatch):
    folder = tmp_path / "bats"
    folder.mkdir()
    write(folder / "one.txt", (f"{WORDS[n]}\t{WORDS[n + 20]}" for n in range(8)))
    relations = CompareConfig(sets=(f"analogy={folder}",), bands=True, replicates=200)

    edges = {"all": sys.maxsize}
    monkeypatch.setattr(BANDS, edges)
    found = compare_vectors({"mine": noisy(1)}, read_tasks(relations), relations)

    totals = {(s.measured.metric, s.measured.section): s.measured.items_total for s in found.scores}
    for metric, total in (("accuracy", 8 * 7), ("accuracy_lrcos", 8)):
        assert totals[metric, None] == totals[metric, "all"] == total


def test_the_items_of_a_topic_are_drawn_together(config):
    [task] = read_tasks(CompareConfig(sets=of_kind(config, "odd-one-out")))
    run = noisy(1)

    measured = task.measure(run, task.known(run))

    assert [each.units.tolist() for each in measured] == [[[n] for n in range(20)]] * 2


def spearman_of(found, section=None):
    """The correlation of the run "mine" on shared items."""
    place = ("mine", section, "spearman", True)
    [score] = [
        s for s in found.scores if (s.run, s.measured.section, s.measured.metric, s.shared) == place
    ]
    return score


def test_bands_split_a_set_by_the_rarest_word_of_each_item(one, monkeypatch):
    edges = {"frequent": 20, "middling": 40, "rare": sys.maxsize}
    monkeypatch.setattr(BANDS, edges)
    one = replace(one, bands=True)
    [task] = read_tasks(one)
    runs = {"mine": noisy(1)}

    found = compare_vectors(runs, [task], one)

    ranks = np.array([max(WORDS.index(p.a), WORDS.index(p.b)) for p in task.pairs])
    start = 0
    for name, stop in edges.items():
        inside = np.flatnonzero((ranks >= start) & (ranks < stop))
        alone = SimilarityTask("pairs", [task.pairs[place] for place in inside])
        score = spearman_of(found, name)
        assert score.measured.items.tolist() == inside.tolist()
        assert score.measured.items_total == len(inside)
        assert score.score == pytest.approx(spearman_of(compare_vectors(runs, [alone], one)).score)
        start = stop


def test_words_without_a_row_are_the_rarest(one, monkeypatch):
    edges = {"known": 1_000, "unknown": sys.maxsize}
    monkeypatch.setattr(BANDS, edges)
    half = noisy(1, WORDS[:30])
    one = replace(one, bands=True)
    [task] = read_tasks(one)

    found = compare_vectors({"half": half}, [task], one)

    totals = {
        s.measured.section: (len(s.measured.items), s.measured.items_total) for s in found.scores
    }
    known = int(task.known(half).sum())
    assert 0 < known < 60
    assert totals == {None: (known, 60), "known": (known, known), "unknown": (0, 60 - known)}


class Composing(WordVectors):
    """Vectors whose unseen words are all composed of NaN."""

    def vector(self, word):
        found = super().vector(word)
        return np.full(6, np.nan, np.float32) if found is None else found


def test_composed_vectors_with_nan_affect_only_scores_that_need_them(config):
    good = noisy(1)
    bad = Composing(WORDS[:30], noisy(2).matrix[:30], name="bad")

    found = compare_vectors({"good": good, "bad": bad}, read_tasks(config), config)
    alone = compare_vectors({"good": good}, read_tasks(config), config)

    assert {score.run for score in found.scores} == {"good", "one-hot", "random"}
    assert len(found.failures) == 5
    assert all("'" in line and "holds NaN or infinity" in line for line in found.failures)
    assert [s.score for s in found.scores if s.run == "good"] == [
        s.score for s in alone.scores if s.run == "good"
    ]


def test_a_nan_mean_vector_does_not_affect_other_runs(one):
    broken = noisy(2, WORDS[:30])
    broken.matrix[29] = np.nan
    means = replace(one, unknown="mean")

    found = compare_vectors({"good": noisy(1), "broken": broken}, read_tasks(means), means)

    assert {score.run for score in found.scores} == {"good", "one-hot", "random"}
    [failure] = found.failures
    assert failure.startswith("pairs: vectors: the vector of ")


@pytest.mark.slow
def test_cached_measurements_give_the_same_results(config, fresh_cache, monkeypatch):
    runs = {"one": noisy(1), "two": noisy(2, WORDS[:50])}
    sections = replace(config, sections=True, bands=True)
    names = {"one": "0123", "two": "4567"}
    plain = document(runs, sections)
    assert not (fresh_cache / "scores").exists()

    first = document(runs, sections, fingerprints=names)
    for task in read_tasks(sections):
        monkeypatch.setattr(type(task), "measure", None)  # nothing is measured any more
    second = document(runs, sections, fingerprints=names)

    assert plain == first == second
    assert list((fresh_cache / "scores").glob("*.npz"))


def test_cache_entries_are_used_only_for_the_same_run_set_and_items(tmp_path, fresh_cache):
    names, planted, pairs = {"mine": "0123"}, planted_sets(tmp_path), tmp_path / "pairs.tsv"
    one = replace(planted, sets=planted.sets[:1])
    first = document({"mine": noisy(1)}, one, fingerprints=names)
    assert document({"mine": noisy(2)}, one, fingerprints={"mine": "4567"}) != first

    lines = pairs.read_text().splitlines()
    write(pairs, [lines[0].rsplit("\t", 1)[0] + "\t9.75", *lines[1:]])

    assert document({"mine": noisy(1)}, one, fingerprints=names) != first
    fewer = {"mine": noisy(1), "half": noisy(2, WORDS[:30])}
    with_half = document(fewer, one, fingerprints=names | {"half": "89ab"})
    assert with_half == document(fewer, one)


def test_another_version_is_measured_again(config, fresh_cache, monkeypatch):
    [task, *_], vectors = read_tasks(config), noisy(1)
    items = task.known(vectors)
    for version in (1, 1, 2):
        monkeypatch.setattr(cache, "MEASUREMENTS", version)
        MeasurementCache(task, {"mine": "0123"}).measure("mine", vectors, items, "skip")

    assert len(list((fresh_cache / "scores").iterdir())) == 2


@pytest.mark.parametrize(
    "damage",
    [b"", b"PK\x03\x04 no archive", None, hashlib.sha256(b"PK\x03\x04").digest() + b"PK\x03\x04"],
    ids=["empty", "no archive", "gone", "no archive of right checksum"],
)
def test_a_damaged_cache_entry_is_measured_again(one, fresh_cache, damage):
    names = {"mine": "0123"}
    first = document({"mine": noisy(1)}, one, fingerprints=names)
    for file in (fresh_cache / "scores").iterdir():
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2] if damage is None else damage)

    assert document({"mine": noisy(1)}, one, fingerprints=names) == first


def test_an_unwritable_cache_is_ignored(one, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path / "file"))

    kept = document({"mine": noisy(1)}, one, fingerprints={"mine": "0123"})

    assert kept == document({"mine": noisy(1)}, one)


def test_least_recently_used_entries_are_evicted(one, fresh_cache):
    kept = {}
    for number in range(4):
        before = set(kept.values())
        document({"mine": noisy(number)}, one, fingerprints={"mine": f"{number}"})
        new = [file for file in (fresh_cache / "scores").iterdir() if file not in before]
        for file in new:
            os.utime(file, (number, number))
        kept |= {(number, place): file for place, file in enumerate(new)}
    document({"mine": noisy(0)}, one, fingerprints={"mine": "0"})  # used again
    size = {
        number: sum(f.stat().st_size for (n, _), f in kept.items() if n == number)
        for number in range(4)
    }

    evict_oldest(size[0] + size[3] + size[2] // 2)

    left = {number for (number, _), file in kept.items() if file.exists()}
    assert left == {0, 2, 3} or left == {0, 3}
    assert not any(file.exists() for (number, _), file in kept.items() if number == 1)


@pytest.mark.parametrize("change", ["unknown", "seed", "others", "contexts"])
def test_changes_of_a_run_or_set_miss_the_cache(one, fresh_cache, change):
    half = noisy(1, WORDS[:40])
    document({"half": half}, one, fingerprints={"half": "0123"})

    others, names, options = {"half": half}, {"half": "0123"}, {}
    if change == "unknown":
        options = {"unknown": "zero"}
    elif change == "seed":
        options = {"seed": 5}
    elif change == "others":
        others, names = {"half": half, "all": noisy(2)}, names | {"all": "4567"}
    else:
        others, names = {"half": noisy(3, WORDS[:40])}, {"half": "0123 with contexts"}
    second = replace(one, **options)

    assert document(others, second, fingerprints=names) == document(others, second)


def test_baselines_are_cached_only_if_all_runs_are(one, fresh_cache):
    runs = {"half": noisy(1, WORDS[:40]), "file": noisy(2, WORDS[:40])}

    document(runs, one, fingerprints={"half": "0123"})

    assert len(list((fresh_cache / "scores").iterdir())) == 1  # of half alone


@pytest.mark.slow
def test_results_do_not_depend_on_threads(config, monkeypatch):
    runs = {"one": noisy(1), "two": noisy(2), "three": noisy(3, WORDS[:50])}
    found = []
    for threads in (1, 5):
        monkeypatch.setattr(evaluate, "thread_count", lambda _, threads=threads: threads)
        found.append(document(runs, config))
    assert found[0] == found[1]


def test_a_task_that_fails_for_every_run_has_no_scores(config):
    broken = noisy(1)
    broken.matrix[:] = np.nan

    found = compare_vectors({"only": broken}, read_tasks(config), config)

    assert {score.run for score in found.scores} == {"one-hot", "random"}
    assert len(found.failures) == 5
