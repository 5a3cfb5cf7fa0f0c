"""Folds by group: sentences, words and pairs of a group are held out and drawn together."""

import json
from collections import Counter

import numpy as np
import pytest

from firth.corpora.common.errors import FirthError
from firth.embed.compare.api import compare
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.parts import DEV, TEST, TRAIN
from firth.embed.compare.scoring.sets import read_tasks
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.compare.refusals import message_of

N_BOOKS, OF_BOOK = 8, 6
JSON = '{"label": "a", "text": "b"}'


def write(path, text):
    path.write_text(text)
    return path


def sentences(tmp_path, as_json=False):
    """Eight books of six sentences; the first sentence of the first book has no book named."""
    rows = [
        {"label": "ab"[book % 2], "text": f"w{number} w{book}", "Book": f"b{book}"}
        for book in range(N_BOOKS)
        for number in range(OF_BOOK)
    ]
    rows[0]["Book"] = None if as_json else ""
    if as_json:
        return write(tmp_path / "s.jsonl", "\n".join(map(json.dumps, rows)))
    cells = ["\t".join(row.values()) for row in [dict(zip(rows[0], rows[0], strict=True)), *rows]]
    return write(tmp_path / "s.tsv", "\n".join(cells))


def words(tmp_path):
    lines = (f"w{n}\t{'ab'[n % 2]}\tg{n // 4}\n" for n in range(24))
    return write(tmp_path / "words.tsv", f"word\tlabel\tspeaker\n{''.join(lines)}")


def ratings(tmp_path):
    lines = (f"w{n}\t{n % 5}\t{n // 4}\n" for n in range(24))
    return write(tmp_path / "norms.tsv", f"word\tscore\tday\n{''.join(lines)}")


def links(tmp_path):
    lines = (f"w{n}\tw{n + 1}\t{n % 2}\tg{n // 4}\n" for n in range(23))
    return write(tmp_path / "links.tsv", f"a\tb\tlink\tday\n{''.join(lines)}")


def one(kind, path, **options):
    [task] = read_tasks(CompareConfig(sets=(f"{kind}={path}",), **options))
    return task


@pytest.mark.parametrize("as_json", [False, True])
def test_sentences_of_a_group_are_never_divided_between_roles(tmp_path, as_json):
    path = sentences(tmp_path, as_json)

    task = one("sentences", path, groups="Book" if as_json else "book", folds=4)

    groups = np.array(task.folds[0].parts.train.groups)
    assert Counter(groups.tolist()) == {"w0 w0": 1, "b0": 5} | {f"b{n}": 6 for n in range(1, 8)}
    assert len(task.folds) == 4
    for fold in task.folds:
        held_out = set(groups[fold.places(TEST)])
        assert held_out
        assert not held_out & set(groups[fold.roles != TEST])
        assert not set(groups[fold.places(DEV)]) & set(groups[fold.places(TRAIN)])


@pytest.mark.parametrize(
    ("kind", "make", "field"),
    [("labels", words, "speaker"), ("ratings", ratings, "day"), ("links", links, "day")],
)
def test_words_and_pairs_of_a_group_are_in_one_fold_and_folds_are_no_more_than_groups(
    tmp_path, kind, make, field, capsys
):
    path = make(tmp_path)

    task = one(kind, path, groups=field)

    first = [f"g{n // 4}" if kind != "ratings" else f"{n // 4}" for n in range(task.n_items)]
    folds = {}
    for group, number in zip(first, task.numbers.tolist(), strict=True):
        assert folds.setdefault(group, number) == number
    assert len(set(folds.values())) == 6
    assert f": 6 groups by {field!r} in 6 folds\n" in capsys.readouterr().err


def test_results_name_the_field_and_intervals_draw_groups(tmp_path):
    matrix = np.random.default_rng(1).normal(size=(24, 4)).astype(np.float32)
    vectors = WordVectors([f"w{n}" for n in range(24)], matrix, name="run")
    config = {"sets": (f"labels={words(tmp_path)}",), "baselines": "none", "replicates": 100}

    alone, grouped = (
        compare({"run": vectors}, CompareConfig(**config, **more)).document["results"][0]
        for more in ({}, {"groups": "speaker"})
    )

    assert "grouped" not in alone
    assert grouped["grouped"] == {"by": "speaker", "groups": 6, "folds": 6}
    task = one("labels", words(tmp_path), groups="speaker")
    measured = task.measure(vectors, np.ones(24, dtype=bool))
    assert [each.n_independent for each in measured] == [6] * len(measured)


def test_groups_of_the_test_part_that_are_in_training_are_reported(tmp_path, capsys):
    path = sentences(tmp_path)
    task = one("sentences", f"{path},{path}", groups="book")

    assert "9 groups of the test part are also in the training part" in capsys.readouterr().err
    assert len(task.folds) == 1


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("sentences", "label\ttext\tbook\na\tb c\tx\nd\te f\tx\na\tb d\tx\nd\te g\tx\n",
         "{path}: has 1 words or groups; pass at least two"),
        ("sentences", "label\ttext\na\tb c\n",
         "{path}: has no column 'book', which `groups` names; its header names label, text"),
        ("sentences", JSON,
         "{path}:1: {json!r} has no 'book', which `groups` names; add it, if only as null"),
        ("sentences", "a\tb c\n",
         "{path}: has no column 'book', which `groups` names; its header names none"),
        ("labels", "word\tlabel\na\tb\n",
         "{path}: has no column 'book', which `groups` names; its header names label"),
        ("links", "a\tb\tlink\nc\td\t1\n",
         "{path}: has no column 'book', which `groups` names; its header names a, b, link"),
        ("similarity", "a b 1\n",
         "`groups`: {path}, a set of similarity, is not divided into folds; leave it out"),
    ],
)  # fmt: skip
def test_groups_that_cannot_be_kept_are_refused(tmp_path, kind, text, message):
    path = write(tmp_path / "set.txt", text)
    config = CompareConfig(sets=(f"{kind}={path}",), groups="book")

    assert message_of(FirthError, read_tasks, config) == message.format(path=path, json=JSON)
