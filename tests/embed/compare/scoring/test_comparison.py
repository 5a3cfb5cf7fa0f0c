"""Comparison of runs and baselines on all sets, with intervals and paired tests."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from firth.corpora.common.errors import SettingError
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.inputs.baselines import make_baselines
from firth.embed.compare.inputs.lookup import find_words
from firth.embed.compare.scoring import evaluate
from firth.embed.compare.scoring.comparison import compare_vectors
from firth.embed.compare.scoring.sets import read_tasks, readable_tasks
from firth.embed.compare.statistics.bootstrap import draw_counts, resample
from firth.embed.compare.statistics.significance import holm, paired
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.compare.measuring import of_kind, score
from tests.embed.compare.refusals import message_of
from tests.embed.compare.scoring.planted import WORDS, noisy, planted_sets


def vectors_of(*words):
    return WordVectors(list(words), np.eye(len(words), 3, dtype=np.float32))


@pytest.fixture
def sets(tmp_path):
    """One similarity and one analogy set over the words of ``tiny``."""
    pairs, questions = tmp_path / "pairs.tsv", tmp_path / "questions.txt"
    pairs.write_text("man\tking\t8\nman\twoman\t5\nMan\tapple\t1\nman\tpear\t2\n")
    questions.write_text("man king woman queen\nman king woman pear\n")
    return CompareConfig(sets=(f"similarity={pairs}", f"analogy={questions}"))


@pytest.fixture(scope="module")
def all_sets(tmp_path_factory):
    """A set for each task over WORDS."""
    return planted_sets(tmp_path_factory.mktemp("sets"))


@pytest.fixture(scope="module")
def overlapping(all_sets):
    """Two runs that together cover all words, and their comparison."""
    runs = {"left": noisy(1, WORDS[:50]), "right": noisy(2, WORDS[10:])}
    return runs, compared(runs, all_sets)


def compared(runs, config):
    return compare_vectors(runs, read_tasks(config), config)


def test_sets_of_one_name_are_told_apart_by_folder_or_number(tmp_path):
    files = [tmp_path / name for name in ("a/rare.txt", "b/rare.txt", "a/x/men.txt", "b/x/men.txt")]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("man\tking\t8\nman\twoman\t5\n")
    (tmp_path / "bats").mkdir()
    (tmp_path / "bats.txt").write_text(": a\nman men king kings\n")
    (tmp_path / "bats" / "I01 [plural].txt").write_text("man\tmen\nking\tkings\n")

    def names(kind, *paths):
        config = CompareConfig(sets=tuple(f"{kind}={path}" for path in paths))
        return [task.dataset for task in read_tasks(config)]

    assert names("similarity", *files) == ["a/rare", "b/rare", "men (1)", "men (2)"]
    assert names("similarity", files[0]) == ["rare"]
    assert len(set(names("analogy", tmp_path / "bats.txt", tmp_path / "bats"))) == 2


def test_scores_and_cached_measurements_do_not_depend_on_the_folder_of_a_set(tmp_path, fresh_cache):
    words = [f"w{number}" for number in range(40)]
    matrix = np.random.default_rng(3).normal(size=(40, 5)).astype(np.float32)
    found = []
    for folder in ("mine", "yours", "yours/x"):
        file = tmp_path / folder / "test.tsv"
        file.parent.mkdir()
        file.write_text("".join(f"{w} c{n % 3}\n" for n, w in enumerate(words)))
        config = CompareConfig(sets=(f"categorization={file}",), replicates=100, baselines="random")
        run = {"a": WordVectors(words, matrix)}
        some = compare_vectors(run, read_tasks(config), config, fingerprints={"a": "content"})
        found.append([(s.measured.dataset, s.score, s.low, s.high) for s in some.scores])

    assert [each[0][0] for each in found] == ["mine/test", "yours/test", "x/test"]
    assert len({repr([s[1:] for s in each]) for each in found}) == 1
    assert len(list(fresh_cache.rglob("*.npz"))) == 2  # of the run and of the baseline


def test_progress_moves_within_a_set_and_ends_complete(sets, monkeypatch):
    monkeypatch.setattr(evaluate, "thread_count", lambda _: 1)
    seen = []

    def show(done, total=None, detail=""):
        seen.append((done, total, detail))

    runs = {"a": vectors_of("man", "king", "woman", "queen", "apple", "pear")}
    compare_vectors(runs, read_tasks(sets), sets, show)

    assert seen == sorted(seen, key=lambda each: each[0])
    assert seen[-1][:2] == (6, 6)
    assert {detail for _, _, detail in seen} >= {"a on pairs", "one-hot on questions"}


def test_every_task_reads_its_set_and_by_default_those_of_gensim(all_sets):
    sizes = {"pairs": 60, "questions": 40, "kinds": 60, "odd": 20, "biases": 60}
    assert {task.dataset: task.n_items for task in read_tasks(all_sets)} == sizes
    names = [task.dataset for task in read_tasks(CompareConfig())]
    assert names == ["wordsim353", "simlex999", "questions-words"]


def test_a_wrong_number_of_files_fails_only_that_set(all_sets):
    kinds = of_kind(all_sets, "categorization")
    config = CompareConfig(sets=(*kinds, "tagging=one", "contexts=a,b,c", "sentences=one"))

    tasks, failures = readable_tasks(config)

    assert [task.dataset for task in tasks] == ["kinds"]
    tagging = "'one': expected 2 or 3 files: TRAIN,TEST or TRAIN,DEV,TEST"
    sentences = "one: no such file"
    assert failures == ["'a,b,c': got 3 files; expected FILE or DEV,TEST", tagging, sentences]
    with pytest.raises(SettingError, match="'a,b,c': got 3 files"):
        readable_tasks(replace(config, sets=config.sets[1:]))


def test_baselines_are_always_rows_and_cover_the_runs_items(tiny, sets):
    found = compared({"mine": tiny}, sets)

    assert [*found.runs] == ["mine", "one-hot", "random"]
    assert [
        (s.set_index, s.shared, s.measured.metric, s.run, s.measured.items.tolist())
        for s in found.scores
    ] == [
        (place, shared, metric, run, items)
        for place, items, metrics in (
            (0, [0, 1, 2], ("spearman", "pearson")),
            (1, [0], ("accuracy", "accuracy_3cosmul", "accuracy_pairdirection")),
        )
        for shared in (True, False)
        for metric in metrics
        for run in ("mine", "one-hot", "random")
    ]


@pytest.mark.parametrize("asked", ["random", "none", "one-hot,random"])
def test_baselines_can_be_chosen(tiny, sets, asked):
    found = compared({"tiny": tiny}, replace(sets, baselines=asked))

    assert list(found.runs) == ["tiny", *(each for each in asked.split(",") if each != "none")]
    assert {score.run for score in found.scores} == set(found.runs)


def test_baselines_cover_what_any_run_covers(all_sets, overlapping):
    runs, found = overlapping
    for place, task in enumerate(read_tasks(all_sets)):
        left, right = (task.known(vectors) for vectors in runs.values())
        assert (left & right).any()  # else the set tests nothing
        assert (left ^ right).any()
        expected = {
            ("left", False): left,
            ("right", False): right,
            # together the runs cover all words, but neither covers every item
            **{(name, False): np.ones(task.n_items) for name in ("one-hot", "random")},
            **{(name, True): left & right for name in found.runs},
        }
        for each in found.scores:
            if each.set_index == place:
                items = np.flatnonzero(expected[each.run, each.shared])
                assert each.measured.items.tolist() == items.tolist()


def test_baselines_cover_shared_items_with_restricted_analogies(tmp_path):
    # Of the words that both runs hold, three are behind the first 8 of both vocabularies united.
    path = tmp_path / "questions.txt"
    path.write_text("ba be bi bo\nbo bi be ba\nba be bi bu\nbe ba bu bi\n")
    shared = ["ba", "be", "bi", "bo", "bu"]
    rng = np.random.default_rng(1)
    runs = {
        name: WordVectors(
            [*(f"{name}{letter}" for letter in "xyz"), *shared],
            rng.normal(size=(8, 4)).astype(np.float32),
        )
        for name in ("left", "right")
    }
    config = CompareConfig(sets=(f"analogy={path}",), restrict=8)

    found = compared(runs, config)

    assert {(s.run, len(s.measured.items)) for s in found.scores if s.shared} == {
        (run, 4) for run in ("left", "right", "one-hot", "random")
    }


@pytest.mark.slow
def test_scores_are_those_of_the_task(all_sets, overlapping):
    runs, found = overlapping
    for place, task in enumerate(read_tasks(all_sets)):
        known = {name: task.known(vectors) for name, vectors in runs.items()}
        for name, vectors in runs.items():
            for shared in (True, False):
                items = known["left"] & known["right"] if shared else known[name]
                assert [
                    (s.measured.metric, s.score)
                    for s in found.scores
                    if (s.run, s.set_index, s.shared) == (name, place, shared)
                ] == [(m.metric, pytest.approx(score(m))) for m in task.measure(vectors, items)]


def test_a_run_and_its_copy_have_equal_scores_and_no_difference(all_sets):
    found = compared({"one": noisy(1), "two": noisy(1), "other": noisy(2)}, all_sets)

    scores = {
        run: [(s.score, s.low, s.high) for s in found.scores if s.run == run]
        for run in ("one", "two", "other")
    }
    assert scores["one"] == scores["two"]  # intervals, too: the draws are the same
    assert scores["one"] != scores["other"]
    copies = [pair.difference for pair in found.pairs if (pair.a, pair.b) == ("one", "two")]
    assert len(copies) == 2 + 3 + 3 + 2 + 1
    assert {(d.difference, d.low, d.high, d.p) for d in copies} == {(0.0, 0.0, 0.0, 1.0)}


@pytest.mark.slow
def test_all_defined_pairs_are_tested_with_holms_correction(all_sets):
    config = all_sets
    runs = {"one": noisy(1), "two": noisy(2), "three": noisy(3)}

    found = compared(runs, config)

    def key(each):
        return each.set_index, each.metric, each.section

    columns = {}
    for s in found.scores:
        if s.shared and s.score is not None:
            columns.setdefault((s.set_index, s.measured.metric, s.measured.section), []).append(s)
    assert [key(pair) for pair in found.pairs] == [
        name for name, column in columns.items() for _ in itertools.combinations(column, 2)
    ]
    for name, column in columns.items():
        first, units = column[0].measured, column[0].measured.units
        counts = draw_counts(len(first.items), 200, config.seed, first.dataset, units)
        resampled = {
            s.run: resample(s.measured.statistic, counts, s.measured.words) for s in column
        }
        raw = [
            paired(resampled[a], resampled[b], units)
            for a, b in itertools.combinations(resampled, 2)
        ]
        pairs = [pair for pair in found.pairs if key(pair) == name]
        assert [(pair.a, pair.b) for pair in pairs] == list(itertools.combinations(resampled, 2))
        with_baseline = [bool({pair.a, pair.b} & {"one-hot", "random"}) for pair in pairs]
        assert [pair.family for pair in pairs] == [
            "controls" if each else "runs" for each in with_baseline
        ]
        expected = np.array([each.p for each in raw])
        for family in (np.array(with_baseline), ~np.array(with_baseline)):
            expected[family] = holm(expected[family])
        np.testing.assert_array_equal([pair.difference.p for pair in pairs], expected)
        for pair, each in zip(pairs, raw, strict=True):
            assert pair.difference.difference == each.difference
            assert (pair.difference.low, pair.difference.high) == (each.low, each.high)


def test_the_p_of_five_questions_by_hand(tmp_path):
    # Each question is right for "good" alone, so p is 2 / 2^5.
    words = [a + b for a in "bdfgk" for b in ("a", "e", "i", "o")]
    path = tmp_path / "questions.txt"
    path.write_text("".join(" ".join(words[n : n + 4]) + "\n" for n in range(0, 20, 4)))
    rows = []
    for place in range(5):
        a, b, c = np.eye(15)[3 * place : 3 * place + 3]
        rows += [a, b, c, b - a + c]
    good = np.array(rows, dtype=np.float32)
    bad = np.roll(good, 7, axis=0)
    config = CompareConfig(sets=(f"analogy={path}",), seed=2)  # with which random answers nothing

    found = compared({"good": WordVectors(words, good), "bad": WordVectors(words, bad)}, config)

    accuracy = {s.run: s.score for s in found.scores if s.measured.metric == "accuracy"}
    assert accuracy == {"good": 1.0, "bad": 0.0, "one-hot": 0.0, "random": 0.0}
    p = {(d.a, d.b): d.difference.p for d in found.pairs if d.metric == "accuracy"}
    # Holm: 0.0625 alone; with baselines two of 0.0625 among five, then three of 1
    with_baseline = [("good", "one-hot"), ("good", "random"), ("bad", "one-hot"), ("bad", "random")]
    assert p == {
        ("good", "bad"): 0.0625, ("one-hot", "random"): 1.0,
        **dict(zip(with_baseline, [5 * 0.0625] * 2 + [1.0] * 2, strict=True)),
    }  # fmt: skip

    runs = {"good": good, "bad": bad, "start": np.roll(good, 3, axis=0)}
    found = compare_vectors(
        {name: WordVectors(words, matrix) for name, matrix in runs.items()},
        read_tasks(config), replace(config, baselines="none"), starts=["start"],
    )  # fmt: skip
    p = {(d.a, d.b): (d.difference.p, d.family) for d in found.pairs if d.metric == "accuracy"}
    assert p == {
        ("good", "bad"): (0.0625, "runs"), ("good", "start"): (2 * 0.0625, "controls"),
        ("bad", "start"): (1.0, "controls"),
    }  # fmt: skip


def test_an_undefined_score_has_a_reason_and_no_pair_and_one_item_no_interval(tiny, sets):
    found = compared({"mine": tiny}, sets)

    one_hot = [s for s in found.scores if s.run == "one-hot" and s.set_index == 0]
    assert len(one_hot) == 4
    for each in one_hot:
        assert (each.score, each.low, each.high) == (None, None, None)
        assert each.measured.reason == "all cosines are equal"
    assert [(p.a, p.b, p.metric) for p in found.pairs if p.set_index == 0] == [
        ("mine", "random", "spearman"),
        ("mine", "random", "pearson"),
    ]
    first = next(s for s in found.scores if s.run == "mine" and s.set_index == 1)
    assert (first.measured.metric, first.score, first.low, first.high) == (
        "accuracy",
        1,
        None,
        None,
    )


def test_runs_without_shared_items_have_a_reason_and_own_scores(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("ba\tbe\t1\nba\tbi\t2\nda\tde\t1\nda\tdi\t2\n")
    config = CompareConfig(sets=(f"similarity={path}",))
    rows = np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32)
    runs = {f: WordVectors([f + e for e in "aei"], rows) for f in "bd"}

    found = compared(runs, config)

    spearman = [s for s in found.scores if s.measured.metric == "spearman"]
    assert {s.measured.reason for s in spearman if s.shared} == {"no pair is known"}
    assert {s.run: s.score for s in spearman if not s.shared and s.run in "bd"} == {
        "b": pytest.approx(1.0),
        "d": pytest.approx(1.0),
    }
    assert found.pairs == []


def test_restrict_0_uses_all_questions(all_sets):
    used = {}
    for restrict in (30, 60, 0):
        config = CompareConfig(sets=of_kind(all_sets, "analogy"), restrict=restrict, replicates=100)
        found = compared({"mine": noisy(1)}, config)
        used[restrict] = {(s.run, len(s.measured.items), s.score) for s in found.scores}

    assert used[0] == used[60]
    assert {items for _, items, _ in used[0]} == {40}
    assert {items for _, items, _ in used[30]} != {40}


@pytest.mark.slow
def test_adding_a_run_or_set_changes_no_interval_but_the_seed_does(all_sets):
    def numbers(found, place):
        chosen = (s for s in found.scores if (s.run, s.set_index) == ("a", place))
        return [(s.score, s.low, s.high) for s in chosen]

    kinds = of_kind(all_sets, "categorization")
    two = CompareConfig(sets=(*of_kind(all_sets, "similarity"), *kinds))
    alone = compared({"a": noisy(1)}, CompareConfig(sets=kinds))
    among = compared({"b": noisy(2), "a": noisy(1)}, two)
    assert numbers(alone, 0) == numbers(among, 1) != []

    seeded = compared({"a": noisy(1)}, replace(two, sets=two.sets[:1], seed=2))
    before, after = numbers(among, 0), numbers(seeded, 0)
    assert [score for score, *_ in before] == [score for score, *_ in after]
    assert before != after


def test_sections_are_compared_each_for_itself(tmp_path):
    path = tmp_path / "questions.txt"
    path.write_text(": one\nbam ben bim bon\n: two\ndam den dim don\ndim don dam den\n")
    config = CompareConfig(sets=(f"analogy={path}",), sections=True)

    found = compared({"a": noisy(1), "b": noisy(2)}, config)

    accuracy = [p for p in found.pairs if p.metric == "accuracy" and (p.a, p.b) == ("a", "b")]
    assert [p.section for p in accuracy] == [None, "one", "two"]


def test_baselines_merge_the_vocabularies():
    runs = [vectors_of("the", "of", "cat"), vectors_of("of", "dog", "the", "rare")]

    baselines = make_baselines(runs, ["rare", "DOG", "none"], restrict=2, seed=1)

    for vectors in baselines.values():
        words = list(vectors.vocabulary)
        assert set(words[:2]) == {"the", "of"}
        assert words[2:] == ["dog", "rare"]
        rows = find_words(vectors, ["rare", "DOG", "none", "cat"]).rows
        assert rows == {"rare": 3, "DOG": 2, "none": -1, "cat": -1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"restrict": -1}, "restrict must be at least 0, got -1"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"replicates": 99}, "replicates must be at least 100, got 99"),
        ({"unknown": "guess"}, "unknown must be one of skip, zero, mean, got 'guess'"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    assert message_of(SettingError, CompareConfig, **options) == f"CompareConfig.{message}"
