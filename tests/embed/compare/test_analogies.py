"""Analogies: the definitions word for word, gensim's own evaluation, ties and limits."""

import numpy as np
import pytest
import scipy.sparse

from embed.compare import analogies
from embed.compare.analogies import AnalogyTask, answered_rightly
from embed.compare.config import CompareConfig
from embed.compare.datasets import Question, default_sets
from embed.vectors import WordVectors

ANALOGIES = default_sets()[2][1]


def naive_answer(matrix, a, b, c, restrict, method):
    """The best candidate by the definition, in float64."""
    unit = matrix.astype(np.float64)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    best, answer = -np.inf, None
    for row in range(min(restrict, len(unit))):
        if row in (a, b, c):
            continue
        to_a, to_b, to_c = (float(unit[row] @ unit[other]) for other in (a, b, c))
        if method == "3cosadd":
            score = to_b - to_a + to_c
        else:
            to_a, to_b, to_c = ((cosine + 1) / 2 for cosine in (to_a, to_b, to_c))
            score = to_b * to_c / (to_a + 0.001)
        if score > best:
            best, answer = score, row
    return answer


@pytest.mark.parametrize("restrict", [7, 40, 1000])
@pytest.mark.parametrize("sparse", [False, True])
def test_answers_match_the_definition(monkeypatch, restrict, sparse):
    monkeypatch.setattr(analogies, "_BLOCK", 16)  # several blocks and a short last one
    monkeypatch.setattr(analogies, "_CHUNK", 5)
    rng = np.random.default_rng(11)
    matrix = rng.normal(size=(60, 4)).astype(np.float32)
    asked = rng.integers(0, min(restrict, 60), size=(200, 3))
    answers = [naive_answer(matrix, *row, restrict, "3cosadd") for row in asked[:100]]
    answers += [naive_answer(matrix, *row, restrict, "3cosmul") for row in asked[100:]]
    answers[::7] = rng.integers(0, min(restrict, 60), size=len(answers[::7])).tolist()
    questions = np.column_stack([asked, answers])
    vectors = WordVectors(
        [f"w{row}" for row in range(60)], scipy.sparse.csr_matrix(matrix) if sparse else matrix
    )

    right = answered_rightly(vectors, questions, restrict)

    for index, method in enumerate(("3cosadd", "3cosmul")):
        expected = [naive_answer(matrix, *q[:3], restrict, method) == q[3] for q in questions]
        assert right[index].tolist() == expected
        assert 50 < right[index].sum() < 200


def test_a_hand_worked_question(tiny):
    # unit vectors: queen is nearest to king - man + woman
    task = AnalogyTask("set", [Question(("man", "king", "woman", "queen"))], restrict=5)

    add, multiply = task.score(tiny)

    assert (add.metric, add.score, add.items_used) == ("accuracy", 1.0, 1)
    assert (multiply.metric, multiply.score) == ("accuracy_3cosmul", 1.0)


def test_a_word_of_the_question_is_no_answer(tiny):
    task = AnalogyTask("set", [Question(("man", "king", "man", "king"))], restrict=5)

    assert [result.score for result in task.score(tiny)] == [0.0, 0.0]


def test_a_tie_is_no_answer():
    matrix = np.eye(6, dtype=np.float32)
    matrix[4] = matrix[3]
    vectors = WordVectors(list("abcdef"), matrix)
    task = AnalogyTask("set", [Question(("a", "b", "c", "d"))], restrict=6)

    assert [result.score for result in task.score(vectors)] == [0.0, 0.0]


def test_only_questions_among_the_most_frequent_words_are_asked(tiny):
    questions = [
        Question(("man", "king", "woman", "queen")),
        Question(("man", "king", "woman", "apple")),
        Question(("man", "king", "woman", "pear")),
    ]

    for restrict, used in ((5, 2), (4, 1)):
        add, _ = AnalogyTask("set", questions, restrict).score(tiny)
        assert (add.items_used, add.items_total) == (used, 3)


def test_a_set_with_no_known_question_is_undefined(tiny):
    results = AnalogyTask("set", [Question(("x", "y", "z", "w"))], restrict=30_000).score(tiny)

    assert {(result.score, result.items_used, result.items_total) for result in results} == {
        (None, 0, 1)
    }
    assert results[0].reason == "no question has its four words among the 30,000 most frequent"


def test_sections_are_scored_when_asked_for(tmp_path, tiny):
    path = tmp_path / "set.txt"
    path.write_text(": royal\nman king woman queen\n: fruit\nman king woman apple\nx y z w\n")

    results = AnalogyTask.read(path, CompareConfig(sections=True)).score(tiny)

    assert [(r.section, r.score, r.items_used, r.items_total) for r in results[::2]] == [
        (None, 0.5, 2, 3),
        ("royal", 1.0, 1, 1),
        ("fruit", 0.0, 1, 2),
    ]
    assert len(AnalogyTask.read(path, CompareConfig()).score(tiny)) == 2


def test_gensim_gives_the_same_accuracy_and_coverage(tmp_path, planted):
    from gensim.models import KeyedVectors

    lines = ANALOGIES.read_text(encoding="utf-8").splitlines()
    path = tmp_path / "tenth.txt"  # gensim takes a while over all of them
    path.write_text("\n".join(li for i, li in enumerate(lines) if i % 10 == 0 or li[0] == ":"))
    restrict = 3 * len(planted.vocabulary) // 4
    theirs = KeyedVectors(planted.matrix.shape[1])
    theirs.add_vectors(list(planted.vocabulary), planted.matrix)

    ours, _ = AnalogyTask.read(path, CompareConfig(restrict=restrict)).score(planted)
    accuracy, sections = theirs.evaluate_word_analogies(str(path), restrict_vocab=restrict)

    assert 0.1 < accuracy < 0.9
    assert ours.score == pytest.approx(accuracy, abs=1e-12)
    asked = len(sections[-1]["correct"]) + len(sections[-1]["incorrect"])
    assert 0 < ours.items_used == asked < ours.items_total
