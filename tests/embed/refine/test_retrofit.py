"""Retrofitting against the update rule, and files of related words."""

import numpy as np
import pytest

from firth.corpora.common.errors import SettingError, SourceError
from firth.embed.refine.retrofit import read_related, retrofit
from firth.embed.vectors.word_vectors import WordVectors


def naive_retrofit(rows, pairs, rounds):
    """Equation 1 of Faruqui et al. 2015, word by word, with alpha 1 and beta 1 / degree."""
    q = rows.copy()
    for _ in range(rounds):
        before = q.copy()
        for i in range(len(rows)):
            near = [b for a, b in pairs if a == i] + [a for a, b in pairs if b == i]
            if near:
                beta = 1 / len(near)
                total = sum(beta * before[j] for j in near) + 1 * rows[i]
                q[i] = total / (sum(beta for _ in near) + 1)
    return q


@pytest.mark.parametrize("rounds", [1, 10])
def test_retrofit_matches_the_update_rule(rounds):
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((9, 4))
    pairs = np.array([(0, 1), (0, 2), (1, 2), (3, 8), (4, 8), (2, 8)])
    made = retrofit(rows.astype(np.float32), pairs, rounds=rounds)
    np.testing.assert_allclose(made, naive_retrofit(rows, pairs, rounds), atol=1e-6)
    np.testing.assert_array_equal(made[5:8], rows[5:8].astype(np.float32))  # without relations


def test_ten_rounds_are_near_the_minimum():
    rows = np.array([[1, 0], [0, 1]], np.float32)
    # the solution of q = (start + other) / 2 for both: two thirds and one third
    np.testing.assert_allclose(
        retrofit(rows, np.array([(0, 1)])), [[2 / 3, 1 / 3], [1 / 3, 2 / 3]], atol=2**-10
    )


VECTORS = WordVectors(
    ["sea", "ocean", "lake", "none"],
    np.array([[1, 0], [0, 1], [1, 1], [0, 0]], np.float32),
    name="vectors",
)


def write(tmp_path, text):
    path = tmp_path / "related.txt"
    path.write_bytes(text)
    return path


def test_lists_are_read_in_both_directions_and_counted(tmp_path):
    path = write(
        tmp_path, b"\xef\xbb\xbfocean sea  lake pond\n\nsea ocean\nnone\tsea\nLake ocean\r\n"
    )
    found = read_related(path, VECTORS)
    assert found.pairs.tolist() == [[0, 1], [1, 2]]
    assert found.counts() == {
        "path": str(path), "lines": 4, "found": 4, "unknown": 2, "pairs": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (b"pond pool\nsea\nnone sea\n", SettingError, (
            "{path}: no line has a word and a related one that vectors has, too; pass lists of "
            "its language and spelling"
        )),
        (b"\n", SourceError, "{path}: contains no related words"),
        (b"caf\xe9 bar\n", SourceError, (
            "{path}:1: byte 0xE9 is not UTF-8; convert the file to UTF-8"
        )),
    ],
    ids=["unknown", "empty", "not UTF-8"],
)  # fmt: skip
def test_unusable_lists_are_refused(tmp_path, text, error, message):
    path = write(tmp_path, text)
    with pytest.raises(error) as caught:
        read_related(path, VECTORS)
    assert str(caught.value) == message.format(path=path)
