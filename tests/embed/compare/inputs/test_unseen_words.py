"""Evaluation with words whose vectors are composed from n-grams."""

import json

import numpy as np
import pytest

from firth.corpora.artifacts.artifact import CHECKSUMS, checksums, write_json
from firth.corpora.common.errors import ArtifactError
from firth.corpora.text.segment import TextSettings
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.questions import Question
from firth.embed.compare.datasets.word_pairs import WordPair
from firth.embed.compare.inputs.baselines import make_baselines
from firth.embed.compare.inputs.lookup import find_words
from firth.embed.compare.scoring.comparison import compare_vectors
from firth.embed.compare.tasks.analogy.analogies import AnalogyTask
from firth.embed.compare.tasks.similarity import SimilarityTask
from firth.embed.protocols import StaticVectors
from firth.embed.vectors.subwords import SubwordTable, ngram_buckets
from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import output
from tests.embed.compare.measuring import ask, score
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


def test_composed_words_follow_the_rows(vectors):
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

    ranked, _ = ask(SimilarityTask("set", pairs), vectors)

    assert (ranked.items.tolist(), ranked.items_total, ranked.items_composed) == ([0, 1, 2], 4, 2)
    assert score(ranked) == pytest.approx(1.0)  # cosines 1, 0, -sqrt 1/2


def test_analogies_may_hold_composed_words_but_answers_are_in_the_vocabulary(vectors):
    questions = [
        Question(("man", "kings", "woman", "queen")),
        Question(("man", "king", "women", "queen")),
        Question(("man", "king", "woman", "queen")),
        Question(("man", "king", "woman", "kings")),  # no answer: it has no row
        Question(("man", "xylophone", "woman", "queen")),
    ]

    for restrict in (5, 30_000, None):
        add, multiply, _ = ask(AnalogyTask("set", questions, restrict), vectors)
        assert (add.items.tolist(), add.items_total, add.items_composed) == ([0, 1, 2], 5, 2)
        assert multiply.items_composed == 2
        # "kings" does as "king"; for "women" the best answer is "woman", no longer left out
        assert score(add) == pytest.approx(2 / 3)


def test_a_section_counts_its_own_composed_words(vectors):
    questions = [
        Question(("man", "kings", "woman", "queen"), "one"),
        Question(("man", "king", "woman", "queen"), "two"),
    ]

    results = ask(AnalogyTask("set", questions, 5, sections=True), vectors)

    assert [(r.section, r.items_composed) for r in results[::3]] == [
        (None, 1),
        ("one", 1),
        ("two", 0),
    ]


def test_baselines_cover_the_words_that_a_run_composes(vectors):
    for baseline in make_baselines([vectors], ["kings", "king", "xylophone"], 3, 1).values():
        assert isinstance(baseline, StaticVectors)
        assert list(baseline.vocabulary) == ["king", "man", "woman"]
        assert baseline.matrix.shape[0] == 3
        found = find_words(baseline, ["kings", "xylophone", "king"])
        assert found.rows == {"kings": 3, "xylophone": -1, "king": 0}


def test_a_word_in_one_runs_vocabulary_keeps_its_rank_if_another_composes_it(vectors):
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

    scores = compare_vectors({"mine": vectors}, tasks, CompareConfig(restrict=restrict)).scores

    assert len(scores) == 2 * 3 * (2 + 3)  # shared or own, runs, metrics
    for entry in scores:
        items = [0, 1] if entry.measured.task == "similarity" else [0]
        assert entry.measured.items.tolist() == items
        assert entry.measured.items_composed == len(items)
    assert (scores[1].run, scores[1].measured.metric) == ("one-hot", "spearman")
    assert scores[1].score == 1.0  # an unseen word is like itself alone


def test_json_counts_items_with_composed_words(tmp_path):
    write_run(tmp_path / "run", ["river", "rivers", "sea", "mountain"], dim=8)
    write_json(tmp_path / "run" / CHECKSUMS, checksums(tmp_path / "run"))
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("river\trivery\t8\nseas\tsea\t7\nriver\tmountain\t2\nsea\tÅ\t1\n")

    results = json.loads(output("compare", tmp_path / "run", pairs, "--json"))["results"]

    assert len(results) == 2 * 3 * 2  # shared or own, runs, metrics
    for entry in results:
        used = entry["items_used"], entry["items_total"], entry["items_composed"]
        assert used == (3, 4, 2)
    assert results[0]["score"] is not None


def test_baselines_cover_shared_items_in_any_spelling():
    words = ["Athens", "Greece", "Oslo", "Norway"]
    runs = {
        "cased": WordVectors(
            ["x1", "x2", "x3", *words],
            np.eye(7, dtype=np.float32),
            text=TextSettings(keep_case=True),
        ),
        "lower": WordVectors(
            ["y1", "y2", "y3", *(word.lower() for word in words)],
            np.eye(7, dtype=np.float32),
            text=TextSettings(),
        ),
    }
    task = AnalogyTask("set", [Question(tuple(words))], restrict=7)
    found = compare_vectors(runs, [task], CompareConfig(restrict=7))
    assert {len(score.measured.items) for score in found.scores} == {1}
    assert len(found.pairs) == 3 * 6  # every two of four, in three metrics


def test_a_composed_vector_with_nan_is_refused():
    vectors = WordVectors(
        ["new", "york", "oslo"], np.array([[1, 0], [np.nan, 1], [1, 1]], np.float32)
    )
    with pytest.raises(ArtifactError, match="'new_york' holds NaN"):
        find_words(vectors, ["new_york"], phrases=True)
