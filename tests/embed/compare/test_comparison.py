"""Comparison: every run and both baselines on every set, in table and JSON."""

from pathlib import Path

import numpy as np
import pytest

from corpora.errors import SettingError
from embed.compare.baselines import make_baselines
from embed.compare.comparison import Score, compare, read_tasks
from embed.compare.config import CompareConfig
from embed.compare.report import print_report, to_json
from embed.compare.tasks import TASKS, TaskResult, find_words, read_task
from embed.vectors import WordVectors


@pytest.fixture
def sets(tmp_path):
    """One similarity and one analogy set over the words of ``tiny``."""
    pairs, questions = tmp_path / "pairs.tsv", tmp_path / "questions.txt"
    pairs.write_text("man\tking\t8\nman\twoman\t5\nMan\tapple\t1\nman\tpear\t2\n")
    questions.write_text("man king woman queen\nman king woman pear\n")
    return CompareConfig(similarity=(str(pairs),), analogies=(str(questions),))


def vectors_of(*words):
    return WordVectors(list(words), np.eye(len(words), 3, dtype=np.float32))


def test_every_task_can_be_imported_and_reads_its_set(sets):
    read = [
        read_task(name, path, sets)
        for name, path in zip(TASKS, map(Path, sets.similarity + sets.analogies), strict=True)
    ]

    assert [task.dataset for task in read] == ["pairs", "questions"]


def test_without_a_set_those_of_gensim_are_read():
    assert [task.dataset for task in read_tasks(CompareConfig())] == [
        "wordsim353",
        "simlex999",
        "questions-words",
    ]


def test_one_named_set_replaces_the_default(sets):
    config = CompareConfig(similarity=sets.similarity)

    assert [task.dataset for task in read_tasks(config)] == ["pairs"]


def test_baselines_are_always_rows_and_know_what_the_run_knows(tiny, sets):
    scores = compare({"mine": tiny}, read_tasks(sets), sets)

    assert [(s.run, s.result.metric, s.result.items_used) for s in scores] == [
        ("mine", "spearman", 3),
        ("one-hot", "spearman", 3),
        ("random", "spearman", 3),
        *[
            (run, metric, 1)
            for run in ("mine", "one-hot", "random")
            for metric in ("accuracy", "accuracy_3cosmul")
        ],
    ]
    one_hot = scores[1].result
    assert (one_hot.score, one_hot.reason) == (None, "all cosines are equal")


def test_the_same_comparison_gives_the_same_scores(tiny, sets):
    first, second = (compare({"mine": tiny}, read_tasks(sets), sets) for _ in range(2))

    assert first == second


def test_progress_ends_at_all_sets_of_all_runs(tiny, sets):
    told = []

    compare(
        {"mine": tiny}, read_tasks(sets), sets, lambda done, total=None: told.append((done, total))
    )

    assert told == [(done, 6) for done in range(1, 7)]


def test_baselines_unite_the_vocabularies_by_best_rank():
    runs = [vectors_of("the", "of", "cat"), vectors_of("of", "dog", "the", "rare")]

    baselines = make_baselines(runs, ["rare", "DOG", "none"], restrict=2, seed=1)

    for vectors in baselines.values():
        assert list(vectors.vocabulary) == ["the", "of", "dog", "rare"]
        rows = find_words(vectors, ["rare", "DOG", "none", "cat"]).rows
        assert rows == {"rare": 3, "DOG": 2, "none": -1, "cat": -1}


def test_a_word_cut_in_two_or_unknown_has_no_row():
    vectors = vectors_of("new", "york")

    assert find_words(vectors, ["new", "New", "new york", "boston"]).rows == {
        "new": 0,
        "New": 0,
        "new york": -1,
        "boston": -1,
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"restrict": 3}, "CompareConfig.restrict must be at least 4, got 3"),
        ({"seed": -1}, "CompareConfig.seed must be at least 0, got -1"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(SettingError) as error:
        CompareConfig(**options)

    assert str(error.value) == message


def score(run, value, used=10, **about):
    entry = {"task": "similarity", "dataset": "über", "metric": "spearman", "place": 0}
    entry |= about
    place = entry.pop("place")
    return Score(run, place, TaskResult(score=value, items_used=used, items_total=12, **entry))


def test_json_has_the_stable_keys_and_null_with_a_reason():
    scores = [score("a", 0.5), score("one-hot", None, reason="all cosines are equal")]

    shared = {"task": "similarity", "dataset": "über", "metric": "spearman"}
    items = {"items_used": 10, "items_total": 12}
    assert to_json(scores) == {
        "results": [
            {"run": "a", **shared, "score": 0.5, **items},
            {
                "run": "one-hot",
                **shared,
                "score": None,
                **items,
                "reason": "all cosines are equal",
            },
        ]
    }


def test_json_names_the_section_where_there_is_one():
    [result] = to_json([score("a", 0.5, section="royal")])["results"]

    assert result["section"] == "royal"


def test_the_table_marks_the_best_of_each_set_and_explains_the_rest(capsys):
    scores = [
        score("runs/a", 0.25),
        score("runs/b", 0.5, used=9),
        score("one-hot", None, reason="all cosines are equal"),
        score("runs/a", -0.125, place=1),
        score("runs/b", -0.25, place=1, used=10),
    ]

    print_report(scores)

    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "über spearman a 0.250 10 12" in lines
    assert "b 0.500 * 9 12" in lines
    assert "one-hot undefined 10 12" in lines
    assert "über spearman a -0.125 * 10 12" in lines
    assert "b -0.250 10 12" in lines
    assert lines[-2:] == [
        "undefined: one-hot on über: all cosines are equal",
        "different items: the runs do not know the same items of über",
    ]


@pytest.mark.parametrize("section", [None, "gram1-adjective-to-adverb"])
def test_the_table_fits_a_hundred_columns(capsys, section):
    about = {"dataset": "questions-words", "metric": "accuracy_3cosmul", "section": section}
    scores = [score(f"/data/{'a' * 120}", 0.25, **about), score("b", 0.5, **about)]

    print_report(scores)

    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    assert any("…" + "a" * 15 in line for line in lines)
    assert any((section or "questions-words") in line for line in lines)


def test_runs_of_one_name_are_told_apart_by_their_paths(capsys):
    print_report([score("x/svd", 0.25), score("y/svd", 0.5)])

    out = capsys.readouterr().out
    assert "x/svd" in out
    assert "y/svd" in out


def test_with_one_hot_vectors_only_a_word_and_itself_are_alike(tmp_path, tiny):
    path = tmp_path / "pairs.tsv"
    path.write_text("man\tman\t10\nman\tking\t8\nman\twoman\t5\n")
    config = CompareConfig(similarity=(str(path),))

    scores = compare({"mine": tiny}, read_tasks(config), config)

    # ranks 3 2 1 of the judgements beside 3 1.5 1.5 of the cosines
    assert scores[1].run == "one-hot"
    assert scores[1].result.score == pytest.approx(1.5 / (2 * 1.5) ** 0.5)
