"""Predicted ratings against a naive count of CV+, coverage, axes, and what is refused."""

import json

import numpy as np
import pytest

from firth import predict_ratings
from firth.corpora.common.errors import SettingError, SourceError, UnknownWordError
from firth.embed.compare.probes.vector_probes import ridge
from firth.embed.predict import api
from firth.embed.vectors.search import unit_length
from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import command, output
from tests.embed.compare.refusals import message_of

N, RATED, DIM = 400, 150, 5


@pytest.fixture(scope="module")
def vectors():
    matrix = np.random.default_rng(1).normal(size=(N, DIM)).astype(np.float32)
    return WordVectors([f"w{n}" for n in range(N)], matrix)


@pytest.fixture(scope="module")
def truth(vectors):
    noise = np.random.default_rng(2).normal(size=N)
    return 4 + unit_length(vectors.matrix.astype(float)) @ np.arange(DIM) + noise / 2


@pytest.fixture(scope="module")
def table(truth, tmp_path_factory):
    path = tmp_path_factory.mktemp("ratings") / "norms.csv"
    lines = [f"w{n},{truth[n]},1" for n in range(RATED)]
    path.write_text("\n".join(["Word,Valence,ValenceSD", *lines, "unknown,3,1"]) + "\n")
    return path


def test_words_without_a_rating_are_predicted_with_intervals_that_hold(vectors, truth, table):
    found = predict_ratings(vectors, table)
    assert [row.word for row in found.rows] == vectors.vocabulary[RATED:]
    assert (found.rating, found.learned_from) == ("Valence", RATED)
    inside = np.mean([r.low <= truth[int(r.word[1:])] <= r.high for r in found.rows])
    # 250 words: below .88 with a chance of 1e-5, if each is inside with .95
    assert 0.88 < inside < 1
    assert 0.88 < found.coverage < 1
    assert f"{found.coverage:.1%} of 150 ratings" in found.intervals


def test_a_column_of_tokens_is_one_of_words_if_each_is_one(vectors, table, tmp_path):
    (tmp_path / "norms.csv").write_text(table.read_text().replace("Word", "token", 1))
    assert predict_ratings(vectors, tmp_path / "norms.csv") == predict_ratings(vectors, table)


def test_intervals_are_those_of_the_definition(monkeypatch):
    rng = np.random.default_rng(4)
    rows, new, folds = rng.normal(size=(43, 3)), rng.normal(size=(6, 3)), np.arange(43) % 4
    values = rows @ [1.0, 2, 3] + rng.normal(size=43)
    monkeypatch.setattr(api, "_CELLS", 100)
    ends = zip(*api._cv_plus(rows, values, folds, new)[1:], strict=True)
    for place, found in enumerate(ends):
        lows, highs = [], []
        for n in range(43):
            rest = folds != folds[n]
            center, own = ridge(rows[rest], values[rest], np.array([new[place], rows[n]]))
            lows.append(center - abs(values[n] - own))
            highs.append(center + abs(values[n] - own))
        # of 44 places, 42 are the least that are 95 %
        assert found == pytest.approx((sorted(lows)[1], sorted(highs)[41]))


def test_the_fewest_words_are_enough(vectors, truth, tmp_path):
    lines = [f"w{n},{truth[n]}" for n in range(30)]
    (tmp_path / "few.csv").write_text("\n".join(["word,valence", *lines]))
    found = predict_ratings(vectors, tmp_path / "few.csv", ["w300"])
    assert found.rows[0].low < found.rows[0].rating < found.rows[0].high


def test_nothing_is_learned_from_the_rating_of_a_word_that_is_asked_for(
    vectors, truth, table, tmp_path
):
    other = tmp_path / "other.csv"
    lines = table.read_text().splitlines()
    other.write_text("\n".join([lines[0], "w0,99,1", *lines[2:]]) + "\n")
    both = [predict_ratings(vectors, path, ["w0", "w200"]) for path in (table, other)]
    assert both[0].rows == both[1].rows
    assert both[0].learned_from == RATED - 1
    assert predict_ratings(vectors, other, ["w200"]).rows != both[0].rows[1:]


def test_an_axis_of_pairs_has_intervals_over_these(vectors):
    units = unit_length(vectors.matrix[:8].astype(float))
    found = predict_ratings(vectors, words=["w6", "w7"], axis="w0,w1,w2:w3,w4,w5")
    differences = units[:3] - units[3:6]
    axes = unit_length(differences.sum(axis=0) - np.vstack([np.zeros(DIM), differences]))
    cosines = units[6:] @ axes.T
    for row, (value, *without) in zip(found.rows, cosines, strict=True):
        error = np.sqrt(2 / 3 * ((without - np.mean(without)) ** 2).sum())
        ends = value - 4.302653 * error, value + 4.302653 * error  # t of 2 degrees of freedom
        assert (row.rating, row.low, row.high) == pytest.approx((value, *ends))
    assert len(found.left_out) == 3
    assert found.p is not None
    single = predict_ratings(vectors, axis="w0,w3")
    assert len(single.rows) == N - 2
    assert (single.rows[0].low, single.p) == (None, None)
    assert single.intervals.startswith("no intervals: the axis has one pair")


def test_wrong_arguments_are_refused(vectors, table, tmp_path):
    several, few, pairs = (tmp_path / name for name in ("several.csv", "few.csv", "pairs.csv"))
    pairs.write_text("sequence,valence\n" + "".join(f"w{n} w{n + 1},{n}\n" for n in range(40)))
    several.write_text("word,valence,arousal\nw0,1,2\nw1,2,3\n")
    few.write_text("word,valence\n" + "".join(f"w{n},{n}\n" for n in range(19)))
    for given, kind, message in (
        ({}, SettingError, "pass either `ratings` or `axis`"),
        ({"ratings": table, "axis": "w0,w1"}, SettingError, "pass either"),
        ({"ratings": table, "resamples": 20}, SettingError, "`resamples` is for an axis"),
        ({"ratings": several}, SourceError, f"valence, arousal; name one, as in {several}:valence"),
        ({"ratings": few}, SourceError, "rates 19 of the vocabulary; at least 30 of 3 groups are"),
        ({"ratings": pairs}, SourceError, "pairs.csv: rates sequences; pass ratings of single"),
        ({"ratings": table, "words": ["gone"]}, UnknownWordError, "no vector for 'gone'"),
        ({"axis": "w0,w1:w2"}, SettingError, "`axis=w0,w1:w2`: expected large,small or as many"),
        ({"axis": "w0"}, SettingError, "expected large,small"),
        ({"axis": "w0,w0"}, SettingError, "a pair has two equal vectors"),
    ):  # fmt: skip
        assert message in message_of(kind, predict_ratings, vectors, **given)


def test_the_command_prints_a_table_that_it_reads(vectors, table, tmp_path):
    vectors.save(tmp_path / "run")
    done = command("predict", tmp_path / "run", table, "w300", "w0")
    head, *lines = done.stdout.splitlines()
    assert head == "word\tValence\tlow\thigh"
    assert [line.split("\t")[0] for line in lines] == ["w300", "w0"]
    assert "149 ratings are inside" in done.stderr
    printed = output("predict", tmp_path / "run", table, "--csv")
    (tmp_path / "predicted.csv").write_text(printed)
    assert len(printed.splitlines()) == 1 + N - RATED
    assert output("predict", tmp_path / "run", f"{tmp_path / 'predicted.csv'}:Valence", "w0")
    axis = ("predict", tmp_path / "run", "--axis", "w0,w1:w2,w3", "w4")
    document = json.loads(output(*axis, "--json"))
    assert (document["rating"], document["rows"][0]["word"]) == ("w0,w1:w2,w3", "w4")
    assert "lie along the others' axis (p " in command(*axis).stderr
    assert "pass RATINGS or --axis" in command("predict", tmp_path / "run").stderr
