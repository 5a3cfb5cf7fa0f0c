"""Burrows' Delta against the definition, and as a row of long labeled texts."""

import re
from collections import Counter

import numpy as np

from firth.embed.compare.api import compare
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.parts import TEST
from firth.embed.compare.scoring.sets import read_tasks
from firth.embed.compare.tasks.sentences.delta import predict_delta
from firth.embed.vectors.word_vectors import WordVectors

WORDS = [f"{a}{b}" for a in "abcdefghijklm" for b in "pqrstuvwxyzaeiou"]
N_WORDS = 10


def task_of(tmp_path, length, **options):
    """Return eight books of four passages by two authors, who differ in frequent words."""
    rng = np.random.default_rng(3)
    lines = ["label\tbook\ttext"]
    for book in range(8):
        weights = 1 / np.arange(1, len(WORDS) + 1)
        weights[book % 2 : 20 : 2] *= 1.5
        for _ in range(4):
            text = " ".join(rng.choice(WORDS, length, p=weights / weights.sum())).capitalize()
            lines.append(f"{'AB'[book % 2]}\t{book}\t{text}.")
    path = tmp_path / f"passages{length}.tsv"
    path.write_text("\n".join(lines))
    options |= {"sets": (f"sentences={path}",), "groups": "book", "folds": 4}
    config = CompareConfig(**options)
    return read_tasks(config)[0], config


def naive_delta(fold):
    """Return predictions by the definition, one text and one word at a time."""
    split = [re.findall(r"\w+", text.lower()) for text in fold.texts]
    known = [n for n, role in enumerate(fold.roles) if role != TEST]
    totals = Counter(word for n in known for word in split[n])
    assert totals.most_common(N_WORDS + 1)[-1][1] < totals.most_common(N_WORDS)[-1][1]  # no tie
    z = np.zeros((len(split), N_WORDS))
    for column, (word, _) in enumerate(totals.most_common(N_WORDS)):
        shares = [words.count(word) / len(words) for words in split]
        of_known = [shares[n] for n in known]
        z[:, column] = (np.array(shares) - np.mean(of_known)) / np.std(of_known)
    predicted = []
    for text in np.flatnonzero(fold.roles == TEST):
        deltas = []
        for label in range(len(fold.classes)):
            mean = np.mean([z[n] for n in known if fold.labels[n] == label], axis=0)
            deltas.append(np.mean(np.abs(z[text] - mean)))
        predicted.append(int(np.argmin(deltas)))
    return predicted


def test_delta_is_the_mean_difference_of_z_scores(tmp_path):
    task, _ = task_of(tmp_path, 300)
    for fold in task.folds:
        assert predict_delta(fold, N_WORDS).tolist() == naive_delta(fold)


def test_delta_is_one_row_of_long_texts_alone(tmp_path):
    vectors = WordVectors(WORDS, np.eye(len(WORDS), 4, dtype=np.float32))
    for length, has_delta in ((99, False), (100, True)):
        task, config = task_of(
            tmp_path, length, pooling="mean", baselines="one-hot", replicates=100
        )
        compared = compare({"a": vectors}, config).document
        rows = {row["run"]: row for row in compared["results"] if row["shared_items"]}
        assert ("delta" in rows) == has_delta
        assert {*rows} - {"delta"} == {"a mean", "one-hot mean"}
    folds = [predict_delta(fold) == fold.labels[fold.places(TEST)] for fold in task.folds]
    assert rows["delta"]["score"] == np.concatenate(folds).mean()
    assert rows["delta"]["grouped"] == rows["a mean"]["grouped"]
    assert rows["delta"]["grouped"]["groups"] == 8
    tested = {frozenset((pair["a"], pair["b"])) for pair in compared["pairs"]}
    assert frozenset(("delta", "a mean")) in tested
