"""Words outside the vocabulary whose vectors are composed of n-grams, in evaluation."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import cli
from embed.compare.analogies import AnalogyTask
from embed.compare.baselines import make_baselines
from embed.compare.comparison import compare
from embed.compare.config import CompareConfig
from embed.compare.datasets import Question, WordPair
from embed.compare.similarity import SimilarityTask
from embed.compare.tasks import find_words
from embed.protocols import StaticVectors
from embed.subwords import SubwordTable, ngram_buckets
from embed.vectors import WordVectors
from tests.embed.fasttext_model import write_run

WORDS = ["man", "woman", "king", "queen", "apple"]
MATRIX = np.array([[1, 0], [0, 1], [3, 1], [2, 2], [-1, -1]], dtype=np.float32)


@pytest.fixture
def vectors():
    """Five words in the plane; of unseen words, only "kings" and "women" are composed."""
    kept = {ngram_buckets("kings", 7, 7, 10_000)[0]: [6, 2]}  # <kings> as a whole
    kept[ngram_buckets("women", 7, 7, 10_000)[0]] = [0, 2]
    order = sorted(kept)
    table = SubwordTable(
        np.array([kept[bucket] for bucket in order], np.float32),
        np.array(order),
        n_buckets=10_000,
        shortest=7,
        longest=7,
    )
    return WordVectors(WORDS, MATRIX, name="plane", subwords=table)


def test_composed_words_stand_behind_the_rows(vectors):
    found = find_words(vectors, ["king", "women", "Kings", "kings", "xylophone", "women"])

    # of unknown origin: a capital is kept unless the lower-cased word has a row
    assert found.rows == {"king": 2, "women": 5, "Kings": -1, "kings": 6, "xylophone": -1}
    assert found.unseen == ["women", "kings"]
    assert found.composed.tolist() == [[0, 2], [6, 2]]


def test_similarity_uses_composed_words_and_counts_them(vectors):
    pairs = [
        WordPair("kings", "king", 9),
        WordPair("man", "woman", 2),
        WordPair("women", "apple", 1),
        WordPair("kings", "xylophone", 5),
    ]

    [result] = SimilarityTask("set", pairs).score(vectors)

    assert (result.items_used, result.items_total, result.items_composed) == (3, 4, 2)
    assert result.score == pytest.approx(1.0)  # cosines 1, 0, -sqrt 1/2


def test_analogies_ask_with_composed_words_but_answer_from_the_vocabulary(vectors):
    questions = [
        Question(("man", "kings", "woman", "queen")),
        Question(("man", "king", "women", "queen")),
        Question(("man", "king", "woman", "queen")),
        Question(("man", "king", "woman", "kings")),  # no answer: it has no row
        Question(("man", "xylophone", "woman", "queen")),
    ]

    for restrict in (5, 30_000):
        add, multiply = AnalogyTask("set", questions, restrict).score(vectors)
        assert (add.items_used, add.items_total, add.items_composed) == (3, 5, 2)
        assert multiply.items_composed == 2
        # "kings" does as "king"; for "women" the best answer is "woman", no longer left out
        assert add.score == pytest.approx(2 / 3)


def test_a_section_counts_its_own_composed_words(vectors):
    questions = [
        Question(("man", "kings", "woman", "queen"), "one"),
        Question(("man", "king", "woman", "queen"), "two"),
    ]

    results = AnalogyTask("set", questions, 5, sections=True).score(vectors)

    assert [(r.section, r.items_composed) for r in results[::2]] == [
        (None, 1),
        ("one", 1),
        ("two", 0),
    ]


def test_baselines_know_the_words_that_a_run_composes(vectors):
    for baseline in make_baselines([vectors], ["kings", "king", "xylophone"], 3, 1).values():
        assert isinstance(baseline, StaticVectors)
        assert list(baseline.vocabulary) == ["man", "woman", "king"]
        assert baseline.matrix.shape[0] == 3
        found = find_words(baseline, ["kings", "xylophone", "king"])
        assert found.rows == {"kings": 3, "xylophone": -1, "king": 2}


def test_a_word_that_one_run_has_and_another_composes_stands_by_its_rank(vectors):
    other = WordVectors(["the", "kings"], np.eye(2, dtype=np.float32))

    baselines = make_baselines([vectors, other], ["kings"], 2, 1)

    assert list(baselines["one-hot"].vocabulary) == ["man", "the", "woman", "kings"]


@pytest.mark.parametrize("restrict", [5, 30_000])
def test_baselines_are_scored_on_the_items_of_the_run(vectors, restrict):
    pairs = [WordPair("kings", "kings", 9), WordPair("women", "man", 2), WordPair("man", "x", 1)]
    questions = [
        Question(("man", "kings", "woman", "queen")),
        Question(("man", "king", "woman", "kings")),
    ]
    tasks = [SimilarityTask("pairs", pairs), AnalogyTask("questions", questions, restrict)]

    scores = compare({"mine": vectors}, tasks, CompareConfig(restrict=restrict))

    assert len(scores) == 9
    for score in scores:
        used = 2 if score.result.task == "similarity" else 1
        assert (score.result.items_used, score.result.items_composed) == (used, used)
    assert scores[1].result.score == 1.0  # one-hot: an unseen word is like itself alone


@pytest.fixture
def run(tmp_path):
    """A run with n-grams, and a set that asks for words outside its vocabulary."""
    write_run(tmp_path / "run", ["river", "rivers", "sea", "mountain"], dim=8)
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("river\trivery\t8\nseas\tsea\t7\nriver\tmountain\t2\nsea\tÅ\t1\n")
    return tmp_path / "run", pairs


def firth(*arguments):
    return CliRunner().invoke(cli.main, ["compare", *map(str, arguments)])


def test_json_tells_how_many_items_use_composed_words(run):
    done = firth(run[0], "--similarity", run[1], "--json")

    assert done.exit_code == 0, done.output
    first, *baselines = json.loads(done.stdout)["results"]
    assert (first["items_used"], first["items_total"], first["items_composed"]) == (3, 4, 2)
    assert first["score"] is not None
    assert [(e["items_used"], e["items_composed"]) for e in baselines] == [(3, 2), (3, 2)]


def test_a_line_below_the_table_tells_how_many_items_use_composed_words(run):
    done = firth(run[0], "--similarity", run[1])

    assert done.exit_code == 0, done.output
    assert (
        "composed: run on pairs: 2 of 3 items have a word made of its n-grams"
        in done.stdout.splitlines()
    )
