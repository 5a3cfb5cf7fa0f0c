"""LRCos, and relations in the form of BATS: pairs of lines with several correct answers."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import LogisticRegression

from firth.embed.compare.datasets.questions import Question, Relation
from firth.embed.compare.tasks.analogy import lrcos
from firth.embed.compare.tasks.analogy.analogies import AnalogyTask
from firth.embed.compare.tasks.analogy.lrcos import correct_by_lrcos
from firth.embed.compare.tasks.analogy.offsets import BY_OFFSET
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.compare.measuring import ask, score


def planted(noise, n_lines=12, dim=20, n_fill=60, seed=3):
    """Two sections of lines whose answers form a class, and other words."""
    rng = np.random.default_rng(seed)
    words, rows, relations = [], [], []
    for section in ("plural", "color"):
        side = 1.5 * rng.normal(size=dim)
        for place in range(n_lines):
            word = rng.normal(size=dim)
            answers = tuple(f"{section}{place}{mark}" for mark in "xy"[: 1 + place % 2])
            relations.append(Relation(f"{section}{place}", answers, section))
            words += [f"{section}{place}", *answers]
            rows += [word, *(word + side + noise * rng.normal(size=dim) for _ in answers)]
    words += [f"fill{place}" for place in range(n_fill)]
    rows += list(rng.normal(size=(n_fill, dim)))
    order = rng.permutation(len(words))
    matrix = np.array(rows, dtype=np.float32)[order]
    return relations, WordVectors([words[place] for place in order], matrix)


def naive_lrcos(vectors, relations):
    """LRCos by definition, in float64: a regression on full vectors for each line."""
    unit = vectors.matrix.astype(np.float64)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    right = []
    for number, section in enumerate(dict.fromkeys(line.section for line in relations)):
        lines = [line for line in relations if line.section == section]
        taken = {vectors.row(w) for line in lines for w in (line.word, *line.answers)}
        drawn = np.random.default_rng([lrcos._SEED, number]).permutation(len(unit))
        random = [row for row in drawn if row not in taken][: len(lines)]
        for asked in lines:
            others = [line for line in lines if line is not asked]
            positive = [vectors.row(line.answers[0]) for line in others]
            negative = [vectors.row(line.word) for line in others] + random
            model = LogisticRegression(class_weight="balanced", tol=1e-6, max_iter=1000)
            model.fit(unit[positive + negative], [1] * len(positive) + [0] * len(negative))
            scores = model.predict_proba(unit)[:, 1] * (unit @ unit[vectors.row(asked.word)])
            scores[vectors.row(asked.word)] = -np.inf
            best = vectors.vocabulary[int(scores.argmax())]
            right.append(best in asked.answers)
    return right


@pytest.mark.parametrize("sparse", [False, True])
def test_lrcos_matches_the_definition(sparse, monkeypatch):
    monkeypatch.setattr(lrcos, "_BLOCK", 50)  # several blocks
    relations, vectors = planted(noise=1.1)
    matrix = scipy.sparse.csr_matrix(vectors.matrix) if sparse else vectors.matrix

    found = correct_by_lrcos(
        WordVectors(vectors.vocabulary, matrix),
        np.array([vectors.row(line.word) for line in relations]),
        [np.array([vectors.row(word) for word in line.answers]) for line in relations],
        [line.section for line in relations],
        len(vectors.vocabulary),
    )

    expected = naive_lrcos(vectors, relations)
    assert found.tolist() == expected
    result = ask(AnalogyTask("set", relations, None), vectors)[3]
    assert (result.metric, result.statistic.values.tolist()) == ("accuracy_lrcos", expected)
    assert 0.2 < np.mean(expected) < 0.95


@pytest.mark.parametrize("length", [1.0, 8.0])
def test_regressions_fitted_together_match_those_fitted_one_by_one(length, monkeypatch):
    # sklearn ends where no slope of the mean loss exceeds 1e-12; ours, of the sum, 1e-8
    rng = np.random.default_rng(3)
    features = rng.normal(size=(24, 6))
    features *= length / np.linalg.norm(features, axis=1, keepdims=True)
    labels = np.arange(24) < 8
    used = np.arange(24)[:, None] % 8 != np.arange(9)  # the last column uses all
    used[:8, 3] = False  # one class: zero
    model = LogisticRegression(class_weight="balanced", tol=1e-12, solver="newton-cholesky")

    fit, alone = lrcos._fit, []
    monkeypatch.setattr(lrcos, "_fit", lambda *some: alone.append(some) or fit(*some))
    slopes, intercepts = lrcos._fit_each(features, labels, used)

    assert len(alone) == (0 if length == 1 else 1)  # only what did not converge
    for place in set(range(9)) - {3}:
        model.fit(features[used[:, place]], labels[used[:, place]])
        # those that are long do not converge together, and sklearn's L-BFGS ends at 1e-6
        near = 1e-6 if length == 1 else 1e-3
        np.testing.assert_allclose(slopes[place], model.coef_[0], atol=near)
        np.testing.assert_allclose(intercepts[place], model.intercept_[0], atol=near)
    assert not slopes[3].any()
    assert intercepts[3] == 0


def test_regressions_that_diverge_to_nan_are_fitted_one_by_one(monkeypatch):
    monkeypatch.setattr(lrcos, "_fit", lambda features, labels: (np.full(1, 5), len(labels)))
    features = np.array([[1e160], [2e160], [-1e160], [-2e160]])  # the Hessian overflows
    used = np.array([[1, 1, 1, 1], [1, 1, 0, 0]], dtype=bool).T  # the second has one class

    with np.errstate(all="ignore"):
        slopes, intercepts = lrcos._fit_each(features, np.array([1, 1, 0, 0], dtype=bool), used)

    assert slopes.tolist() == [[5], [0]]
    assert intercepts.tolist() == [4, 0]


def test_questions_are_all_ordered_pairs_of_lines_of_a_section(tiny):
    lines = [
        Relation("man", ("king", "apple"), "royal"),
        Relation("woman", ("queen",), "royal"),
        Relation("apple", ("pear", "queen"), "fruit"),
    ]
    task = AnalogyTask("set", lines, None)

    # the pair man-woman, the pair woman-man, then the three lines
    assert task.n_items == 5
    assert task.known(tiny).tolist() == [True, True, True, True, True]
    first, *_, last = ask(task, tiny)
    assert (first.items.tolist(), first.items_total) == ([0, 1], 2)
    assert (last.items.tolist(), last.items_total) == ([2, 3, 4], 3)


def test_pairs_score_like_explicit_questions():
    relations, vectors = planted(noise=0.8)
    lines = [Relation(line.word, line.answers[:1], line.section) for line in relations]
    questions = [
        Question((one.word, *one.answers, other.word, *other.answers), one.section)
        for one in lines
        for other in lines
        if one.section == other.section and one is not other
    ]

    pairs = ask(AnalogyTask("set", lines, 100, sections=True), vectors)
    written = ask(AnalogyTask("set", questions, 100, sections=True), vectors)
    pairs = [result for result in pairs if result.metric in BY_OFFSET]
    for ours, theirs in zip(pairs, written, strict=True):
        assert (ours.metric, ours.section) == (theirs.metric, theirs.section)
        assert ours.items.tolist() == theirs.items.tolist()
        assert ours.items_total == theirs.items_total
        assert score(ours) == score(theirs)


def test_any_correct_answer_counts(tiny):
    lines = [Relation("man", ("king",), "s"), Relation("woman", ("pear", "apple", "queen"), "s")]

    accuracy, *_ = ask(AnalogyTask("set", lines, None), tiny)

    # man king woman: queen is best; woman pear man cannot be asked
    assert (accuracy.items.tolist(), score(accuracy)) == ([0], 1.0)


def test_words_beyond_the_limit_are_neither_questions_nor_answers(tiny):
    lines = [Relation("man", ("king",), "s"), Relation("woman", ("queen", "apple"), "s")]
    task = AnalogyTask("set", lines, 3)

    assert task.known(tiny).tolist() == [False, False, True, False]
    assert task.known(tiny, "zero").all()
    zero, *_ = ask(task, tiny, "zero")
    assert zero.statistic.values[0] == 0  # of its right answers none is a candidate
    *_, line = ask(task, tiny)
    assert (line.metric, line.items.tolist()) == ("accuracy_lrcos", [2])


def test_lrcos_of_a_single_line_is_the_nearest_word(tiny):
    words = [tiny.row(word) for word in ("man", "queen")]
    answers = [np.array([tiny.row("king")]), np.array([tiny.row("woman")])]

    right = correct_by_lrcos(tiny, np.array(words), answers, ["one", "two"], 5)

    assert right.tolist() == [True, False]  # man is nearest to king, queen to king, too


def test_sections_have_their_own_questions_and_lines():
    relations, vectors = planted(noise=0.8)

    results = ask(AnalogyTask("set", relations, None, sections=True), vectors)

    metrics = [*BY_OFFSET, "accuracy_lrcos"]
    sections = [None, "plural", "color"]
    assert [(r.section, r.metric) for r in results] == [(s, m) for s in sections for m in metrics]
    assert [r.items_total for r in results] == [264, 264, 264, 24, *[132, 132, 132, 12] * 2]
    whole, parts = results[3], (results[7], results[11])
    assert sum(score(part) for part in parts) / 2 == pytest.approx(score(whole))
    assert np.concatenate([part.items for part in parts]).tolist() == whole.items.tolist()
