"""Analogies: the definitions, gensim's own evaluation, ties and limits."""

import numpy as np
import pytest
import scipy.sparse

from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.questions import Question, Relation
from firth.embed.compare.datasets.word_pairs import default_sets
from firth.embed.compare.tasks.analogy import offsets
from firth.embed.compare.tasks.analogy.analogies import AnalogyTask
from firth.embed.compare.tasks.analogy.offset_kernels import _SHIFT, invert_distances, score_block
from firth.embed.compare.tasks.analogy.offsets import BY_OFFSET, correct_by_offset, mark
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.compare.measuring import ask, score, scores


def naive_score(unit, d, a, b, c, method):
    """The score of a candidate by the definition."""
    to_a, to_b, to_c = (float(unit[d] @ unit[other]) for other in (a, b, c))
    if method == "accuracy":
        return to_b - to_a + to_c
    if method == "accuracy_3cosmul":
        to_a, to_b, to_c = ((cosine + 1) / 2 for cosine in (to_a, to_b, to_c))
        return to_b * to_c / (to_a + 0.001)
    move, pair = unit[d] - unit[c], unit[b] - unit[a]
    lengths = np.linalg.norm(move) * np.linalg.norm(pair)
    return float(move @ pair / lengths) if lengths > 0 else 0.0


def naive_answer(matrix, a, b, c, restrict, method):
    """The best candidate by the definition, in float64; None if two tie."""
    unit = matrix.astype(np.float64)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    scored = [
        (naive_score(unit, row, a, b, c, method), row)
        for row in range(min(restrict, len(unit)))
        if row not in (a, b, c)
    ]
    best = max(score for score, _ in scored)
    answers = [row for score, row in scored if score > best - 1e-6]
    return answers[0] if len(answers) == 1 else None


@pytest.mark.slow
@pytest.mark.parametrize("restrict", [7, 40, 1000])
@pytest.mark.parametrize("sparse", [False, True])
def test_answers_match_the_definition(restrict, sparse, monkeypatch):
    rng = np.random.default_rng(11)
    matrix = rng.normal(size=(60, 4)).astype(np.float32)
    n_rows = min(restrict, 60)
    asked = rng.integers(0, n_rows, size=(150, 3))
    chosen = {
        method: [naive_answer(matrix, *row, restrict, method) for row in asked]
        for method in BY_OFFSET
    }
    # of each question some rows are right, often the one that a method chooses
    answers = [rng.choice(n_rows, size=rng.integers(0, 3), replace=False) for _ in asked]
    for index, method in enumerate(BY_OFFSET):
        for place in range(index, len(asked), 4):
            if chosen[method][place] is not None:
                answers[place] = np.append(answers[place], chosen[method][place])
    vectors = WordVectors(
        [f"w{row}" for row in range(60)], scipy.sparse.csr_matrix(matrix) if sparse else matrix
    )

    monkeypatch.setattr(offsets, "_BLOCK", 16)  # several blocks and a short last one
    monkeypatch.setattr(offsets, "_QUESTIONS", 5)
    right = correct_by_offset(vectors, asked, answers, restrict)

    for method, found in zip(BY_OFFSET, right, strict=True):
        expected = [
            c is not None and c in rows for c, rows in zip(chosen[method], answers, strict=True)
        ]
        assert found.tolist() == expected
        assert 15 < found.sum() < 150


@pytest.mark.parametrize("n_candidates", [1, 15, 127, 300])
def test_block_maxima_are_those_of_whole_rows(n_candidates):
    # the same float32 operations, so equal to the bit; shorter and longer than the lanes
    rng = np.random.default_rng(5)
    cosines = rng.uniform(-1, 1, size=(9, n_candidates)).astype(np.float32)
    lengths, inverse = np.ones((2, 300), dtype=np.float32), np.empty_like(cosines)
    places, products = rng.integers(9, size=(30, 3)), rng.normal(size=30).astype(np.float32)
    places[15:] = places[:15] * [1, 1, 0]  # shares a and b with a question that is not beside it
    places[14] = places[13]
    excluded = rng.integers(n_candidates + 40, size=(30, 3))
    answers = [rng.integers(n_candidates + 40, size=n) for n in rng.integers(0, 4, size=30)]
    best = np.full((2, 30, 3), -np.inf, dtype=np.float32)

    invert_distances(np.arange(9), cosines, *lengths, inverse)
    score_block(
        np.arange(30), 20, cosines, inverse, places, products, *mark(excluded, answers), *best
    )

    one = np.float32(1)
    for q, (a, b, c) in enumerate(cosines[places]):
        found = np.stack([
            b - a + c,
            (b + one) * (c + one) * (one / (a + _SHIFT)),
            (b - a + products[q]) * (one / np.sqrt(c * -2 + one + one)),
        ])  # fmt: skip
        rows = 20 + np.arange(n_candidates)
        right = np.isin(rows, answers[q]) & ~np.isin(rows, excluded[q])
        wrong = ~np.isin(rows, answers[q]) & ~np.isin(rows, excluded[q])
        for side, chosen in zip(best, (right, wrong), strict=True):
            expected = found[:, chosen].max(axis=1, initial=-np.inf)
            np.testing.assert_array_equal(side[q], expected)


@pytest.mark.parametrize(
    ("words", "right"),
    [
        # queen is nearest to king - man + woman; from woman, apple and queen both lie against
        # king - man, queen less so: -0.53 and -0.85
        ("man king woman queen", 1.0),
        ("man king man king", 0.0),  # no word of the question is an answer
    ],
)
def test_hand_worked_questions(tiny, words, right):
    task = AnalogyTask("set", [Question(tuple(words.split()))], restrict=5)

    assert scores(task, tiny) == dict.fromkeys(BY_OFFSET, right)


def test_a_tie_is_not_a_correct_answer():
    matrix = np.eye(6, dtype=np.float32)
    matrix[4] = matrix[3]
    vectors = WordVectors(list("abcdef"), matrix)
    task = AnalogyTask("set", [Question(("a", "b", "c", "d"))], restrict=6)

    assert scores(task, vectors) == dict.fromkeys(BY_OFFSET, 0.0)


def test_only_questions_among_the_most_frequent_words_are_scored(tiny):
    questions = [
        Question(("man", "king", "woman", "queen")),
        Question(("man", "king", "woman", "apple")),
        Question(("man", "king", "woman", "pear")),
    ]

    for restrict, used in ((None, [0, 1]), (5, [0, 1]), (4, [0])):
        for result in ask(AnalogyTask("set", questions, restrict), tiny):
            assert (result.items.tolist(), result.items_total) == (used, 3)


def test_every_question_is_scored_if_unknown_words_get_a_vector(tiny):
    questions = [
        Question(("man", "king", "woman", "queen")),
        Question(("pear", "king", "woman", "queen")),  # nearest to king + woman
        Question(("man", "king", "woman", "pear")),
    ]
    task = AnalogyTask("set", questions, 5)

    for unknown in ("zero", "mean"):
        result, *_ = ask(task, tiny, unknown)
        assert (len(result.items), result.items_total, result.items_composed) == (3, 3, 0)
        assert score(result) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("restrict", "where"),
    [(30_000, "among the 30,000 most frequent"), (None, "in the vocabulary")],
)
def test_a_set_with_no_known_question_is_undefined(tiny, restrict, where):
    relations = [Relation("x", ("y",), "s"), Relation("u", ("v",), "s")]

    for lines in ([Question(("x", "y", "z", "w"))], relations):
        for result in ask(AnalogyTask("set", lines, restrict), tiny):
            assert (result.statistic, len(result.items)) == (None, 0)
            assert result.reason == f"no question has all its words {where}"


def test_sections_are_scored_on_request(tmp_path, tiny):
    path = tmp_path / "set.txt"
    path.write_text(": royal\nman king woman queen\n: fruit\nman king woman apple\nx y z w\n")

    results = ask(AnalogyTask.read(path, CompareConfig(sections=True)), tiny)

    assert [(r.section, score(r), r.items.tolist(), r.items_total) for r in results[::3]] == [
        (None, 0.5, [0, 1], 3),
        ("royal", 1.0, [0], 1),
        ("fruit", 0.0, [1], 2),
    ]
    assert len(ask(AnalogyTask.read(path, CompareConfig()), tiny)) == len(BY_OFFSET)


def test_options_reach_the_task_in_either_form(tmp_path):
    questions, relations = tmp_path / "questions.txt", tmp_path / "relations.txt"
    questions.write_text("a b c d\n")
    relations.write_text("a\tb/c\n")
    config = CompareConfig(restrict=7, sections=True)

    for path in (questions, relations):
        task = AnalogyTask.read(path, config)
        assert task.n_items == 1
        assert (task.restrict, task.sections) == (7, True)
        assert task.dataset == path.stem


def test_questions_with_a_zero_vector_are_counted():
    matrix = np.eye(5, dtype=np.float32)
    matrix[1] = 0
    vectors = WordVectors(list("abcde"), matrix)
    questions = [Question(tuple("abcd")), Question(tuple("acde")), Question(tuple("cdeb"))]

    for result in ask(AnalogyTask("set", questions, None), vectors):
        assert result.items_zero == 2


@pytest.mark.slow
def test_gensim_gives_the_same_accuracy_and_coverage(tmp_path, synthetic):
    KeyedVectors = pytest.importorskip("gensim.models").KeyedVectors

    lines = default_sets()[2][1].read_text(encoding="utf-8").splitlines()
    path = tmp_path / "tenth.txt"  # gensim takes a while over all of them
    path.write_text("\n".join(li for i, li in enumerate(lines) if i % 10 == 0 or li[0] == ":"))
    restrict = 3 * len(synthetic.vocabulary) // 4
    theirs = KeyedVectors(synthetic.matrix.shape[1])
    theirs.add_vectors(list(synthetic.vocabulary), synthetic.matrix)

    ours, *_ = ask(AnalogyTask.read(path, CompareConfig(restrict=restrict)), synthetic)
    accuracy, sections = theirs.evaluate_word_analogies(str(path), restrict_vocab=restrict)

    assert 0.1 < accuracy < 0.9
    assert score(ours) == pytest.approx(accuracy, abs=1e-12)
    asked = len(sections[-1]["correct"]) + len(sections[-1]["incorrect"])
    assert 0 < len(ours.items) == asked < ours.items_total
