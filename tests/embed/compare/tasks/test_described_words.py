"""Labels and ratings: how files are read, and probes against planted and hand-worked values."""

import numpy as np
import pytest
import scipy.sparse

from firth.corpora.common.errors import SourceError
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.probes.vector_probes import (
    dense,
    label_chances,
    label_scores,
    likeliest,
    ridge,
)
from firth.embed.compare.scoring.sets import read_tasks, split_arguments
from firth.embed.compare.tasks.described_words import LabelsTask, RatingsTask
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.compare.measuring import ask, score, scores
from tests.embed.compare.refusals import message_of

GLASGOW = (
    "Word,Length,Valence,ValenceSD,ValenceN\nsea,3,6.1,1.2,30\nwar,3,NA,,29\nbank (river),4,5,1,9\n"
)
BRYSBAERT = (
    "Word\tBigram\tConc.M\tConc.SD\tDom_Pos\nsea\t0\t4.9\t.3\tNoun\nrun away\t1\t2.5\t\t#N/A\n"
)
N, DIM = 120, 6


@pytest.fixture(scope="module")
def vectors():
    matrix = np.random.default_rng(1).normal(size=(N, DIM)).astype(np.float32)
    return WordVectors([f"w{n}" for n in range(N)], matrix)


def units(vectors):
    return vectors.matrix / np.linalg.norm(vectors.matrix, axis=1, keepdims=True)


def write(path, text):
    path.write_text(text)
    return path


def read(kind, path, **options):
    return read_tasks(CompareConfig(sets=(f"{kind}={path}",), **options))


@pytest.mark.parametrize(
    ("text", "ratings"),
    [
        (GLASGOW, {"Length": [3, 3, 4], "Valence": [6.1, 5]}),
        (BRYSBAERT, {"Conc.M": [4.9, 2.5]}),
        ('"","word","V.Mean.Sum","A.Mean.Sum"\n"1","a",1,2\n"2","b",3,4\n',
         {"V.Mean.Sum": [1, 3], "A.Mean.Sum": [2, 4]}),
    ],
)  # fmt: skip
def test_columns_of_ratings_are_found_without_their_deviations_and_counts(tmp_path, text, ratings):
    path = write(tmp_path / "norms.txt", text)
    assert split_arguments([str(path), f"{path}:{next(iter(ratings))}"])[0] == []

    tasks = read_tasks(CompareConfig(sets=(str(path),)))

    assert {task.dataset: list(task.values) for task in tasks} == {
        f"norms:{name}": values for name, values in ratings.items()
    }
    [one] = read("ratings", f"{path}:{[*ratings][-1].lower()}")
    assert list(one.values) == [*ratings.values()][-1]
    assert RatingsTask.files(f"{path}:{next(iter(ratings))}") == [path]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("word\tlabel\nsea\tnoun\nrun\tnoun\tverb\nsee\tverb\nseen\tverb\n",
         {"sea": ("noun",), "run": ("noun", "verb"), "see": ("verb",), "seen": ("verb",)}),
        ("Node,Dept\n1,law\n2,law\n1,art\n3,art\n4,NA\n5,law\n",
         {"1": ("law", "art"), "2": ("law",), "3": ("art",), "5": ("law",)}),
        ("word,label,freq\na,1,7\nb,2,6\nc,1,5\nd,2,4\n",
         {"a": ("1",), "b": ("2",), "c": ("1",), "d": ("2",)}),
        ("word,label\na,x\nb,y\n", {"a": ("x",), "b": ("y",)}),
    ],
)  # fmt: skip
def test_labels_stand_in_further_columns_or_lines(tmp_path, text, values):
    [task] = read_tasks(CompareConfig(sets=(str(write(tmp_path / "set.tsv", text)),)))
    assert isinstance(task, LabelsTask)
    assert dict(zip(task.words, task.values, strict=True)) == values


def test_a_file_without_header_is_read_by_its_kind(tmp_path):
    [task] = read("labels", write(tmp_path / "a.tsv", "a x y\nb x\nc y\n"))
    assert task.values == [("x", "y"), ("x",), ("y",)]
    [rated] = read("ratings", write(tmp_path / "b.tsv", "a\t1,5\nb\t2\nc\t3\n"))
    assert rated.values == [1.5, 2, 3]


def test_words_of_a_group_and_spellings_of_a_word_are_in_one_fold(tmp_path):
    lines = [f"w{n},{n % 2},g{n // 5}" for n in range(60)]
    [grouped] = read("labels", write(tmp_path / "a", "\n".join(["word,label,group", *lines])))
    folds = grouped.numbers.reshape(-1, 5)
    assert (folds == folds[:, :1]).all()
    assert len(set(folds[:, 0])) == 10
    lines = [f"{w}\t{n % 2}" for n in range(30) for w in (f"w{n}", f"W{n}")]
    [spelled] = read("labels", write(tmp_path / "b", "\n".join(["word\tlabel", *lines])), folds=5)
    assert (spelled.numbers[::2] == spelled.numbers[1::2]).all()
    first = [labels == ("0",) for labels in spelled.values]
    assert np.bincount(spelled.numbers[first]).tolist() == [6] * 5  # each fold has its share


def test_ridge_matches_the_definition_and_leaves_one_out():
    from sklearn.linear_model import RidgeCV

    rng = np.random.default_rng(3)
    rows, new = rng.normal(size=(40, 5)) + 2, rng.normal(size=(7, 5))
    values = rows @ rng.normal(size=5) + rng.normal(size=40) + 4
    squares = np.linalg.eigvalsh(np.cov(rows.T, bias=True) * 40).mean()
    model = RidgeCV(10.0 ** np.arange(-3, 3.5, 0.5) * squares).fit(rows, values)
    np.testing.assert_allclose(ridge(rows, values, new), model.predict(new), rtol=1e-8)
    # nothing to learn from
    np.testing.assert_allclose(ridge(np.zeros((3, 2)), np.array([1.0, 2, 6]), new[:, :2]), 3)


def test_probes_find_what_is_planted(vectors):
    words, folds = vectors.vocabulary, (vectors.vocabulary, 10, 1)
    x = units(vectors)
    rated = RatingsTask("set", words, (x @ np.arange(DIM) + 3).tolist(), *folds)
    assert scores(rated, vectors)["r2"] > 0.999
    one = LabelsTask("set", words, [("high",) if v > 0 else ("low",) for v in x[:, 0]], *folds)
    assert scores(one, vectors)["accuracy"] > 0.9
    assert scores(one, vectors)["macro_f1"] > 0.9
    names = np.array(["a", "b", "c"])
    labels = [tuple(names[row > -0.2].tolist()) or ("d",) for row in x[:, :3]]
    several = LabelsTask("set", words, labels, *folds)
    found = scores(several, vectors)
    assert set(found) == {"micro_f1", "macro_f1", "auc"}
    assert found["micro_f1"] > 0.85
    assert found["auc"] > 0.9


def test_vectors_that_say_nothing_score_as_chance(vectors):
    words, rng = vectors.vocabulary, np.random.default_rng(2)
    one_hot = WordVectors(words, scipy.sparse.csr_matrix(np.eye(N, dtype=np.float32)))
    rated = RatingsTask("set", words, rng.normal(size=N).tolist(), words, 10, 1)
    by_metric = {each.metric: each for each in ask(rated, one_hot)}
    assert by_metric["spearman"].reason == "all predictions are equal"
    assert score(by_metric["r2"]) == pytest.approx(0)
    assert abs(scores(rated, vectors)["spearman"]) < 0.4  # 4 standard errors of 120 words
    for extra in ((), ("z",)):
        labels = [("a", *extra) if n % 3 else ("b",) for n in range(N)]
        for found in ask(LabelsTask("set", words, labels, words, 10, 1), one_hot):
            assert score(found) == pytest.approx(found.chance)


def test_metrics_of_labels_match_scikit_learn(vectors):
    from sklearn.metrics import f1_score, roc_auc_score

    rng = np.random.default_rng(5)
    gold = rng.random((N, 3)) < 0.4
    gold[~gold.any(axis=1), 0] = True
    labels = [tuple(np.array(list("abc"))[row].tolist()) for row in gold]
    task = LabelsTask("set", vectors.vocabulary, labels, vectors.vocabulary, 2, 1)
    found, x = scores(task, vectors), units(vectors).astype(float)
    predicted = np.empty((N, 3))
    for fold in (0, 1):
        out = task.numbers == fold
        predicted[out] = label_scores(x[~out], gold[~out], x[out])
    answers = likeliest(predicted, gold.sum(axis=1))
    assert answers.sum(axis=1).tolist() == gold.sum(axis=1).tolist()
    assert found["micro_f1"] == pytest.approx(f1_score(gold, answers, average="micro"))
    assert found["macro_f1"] == pytest.approx(f1_score(gold, answers, average="macro"))
    within = np.mean(
        [roc_auc_score(gold[task.numbers == f], predicted[task.numbers == f]) for f in (0, 1)]
    )
    assert found["auc"] == pytest.approx(within, abs=0.03)  # of both folds together


def test_labels_are_learned_together_as_by_scikit_learn_one_by_one(vectors):
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(7)
    rows, new = vectors.matrix[:100].astype(float), vectors.matrix[100:].astype(float)
    labels = rows[:, :4] + rng.normal(size=(100, 4)) > [0, 0.5, 1, 9]  # the last is of no row
    found = label_chances(rows, labels, new, 0.1)
    for label in range(3):
        one = LogisticRegression(C=0.1, tol=1e-8, max_iter=1000).fit(rows, labels[:, label])
        assert found[:, label] == pytest.approx(one.predict_proba(new)[:, 1], abs=2e-3)
    assert found[:, 3].max() < 0.01


def test_sparse_rows_have_the_columns_that_rows_share():
    matrix = scipy.sparse.csr_matrix([[1, 0, 2.0], [0, 3, 4]])
    assert dense(matrix).tolist() == [[2], [4]]
    assert dense(scipy.sparse.csr_matrix(np.eye(2))).tolist() == [[0], [0]]


@pytest.mark.parametrize(
    ("kind", "text", "column", "message"),
    [
        ("ratings", GLASGOW, ":Valance", "has no column 'Valance'; its columns are Length, Val"),
        ("ratings", "word,pos\na,noun\nb,verb\n", "", "has no ratings; its columns are pos"),
        ("ratings", BRYSBAERT, ":Dom_Pos", "norms.txt:2: 'Noun' is not a score"),
        ("labels", "word,label\na,x\n", "", "has 1 words or groups; pass at least two"),
        ("labels", "word,label\na,x\n,y\n", "", "norms.txt:3: ',y' is not a word and its labels"),
        ("labels", "", "", "contains no words; expected a header"),
        ("labels", "word,id,pos\na,1,x\nb,2,x\n", "", "has 3 labels of 2 words; name the column"),
    ],
)  # fmt: skip
def test_wrong_files_are_refused(tmp_path, kind, text, column, message):
    path = write(tmp_path / "norms.txt", text)
    said = message_of(SourceError, read, kind, f"{path}{column}")
    assert message in said


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        (0, "no word is known"),
        (2, "all known words have the same labels"),
        (4, "each label is of one known word"),
    ],
)
def test_undefined_scores_give_the_reason(vectors, known, reason):
    words = [*(f"x{n}" for n in range(4 - known)), *vectors.vocabulary[:known]]
    labels = [("a",), ("b",), ("c",), ("c" if known < 4 else "d",)]
    task = LabelsTask("set", words, labels, words, 2, 1)
    assert {each.reason for each in ask(task, vectors)} == {reason}
