"""Collocates: counts against the definition, measures by hand, intervals over documents."""

import csv
import io
import json
import math
from collections import Counter

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import t as student_t

from firth import cli
from firth.corpora.common.errors import SettingError, UnknownWordError
from firth.corpora.store.collocates import (
    Counts,
    collocates,
    log_dice,
    log_likelihood,
    log_odds_ratio,
    ppmi,
    z_score,
)
from firth.corpora.store.statistics import frequent_words
from tests.corpora.small_corpora import build
from tests.corpora.store.searched import documents_of, searched_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Return a corpus of several shards."""
    return searched_corpus(tmp_path_factory.mktemp("collocates"))


def corpus_of(folder, lines, documents="line"):
    """Build a corpus of a text, all of it for training."""
    return build(folder, "\n".join(lines), documents=documents, held_out=0)


def counts_near(sentences, phrases, window):
    """Count the words near phrases by the definition, and those of the phrases.

    Each token counts once, and punctuation does not.
    """
    found, of_phrases = Counter(), Counter()
    for sentence in sentences:
        near, own = set(), set()
        for words in phrases:
            for place in range(len(sentence)):
                if sentence[place : place + len(words)] == words:
                    own |= set(range(place, place + len(words)))
                    near |= set(range(max(0, place - window), place + len(words) + window))
        inside = [sentence[i] for i in near - own if i < len(sentence)]
        found.update(word for word in inside if word not in (",", "."))
        of_phrases.update(sentence[i] for i in own)
    return found, of_phrases


def count_of(rows):
    """Return the two counts of each word."""
    return {row.word: (row.near, row.other) for row in rows}


@pytest.mark.parametrize(
    ("query", "phrases", "window"),
    [
        ("sea", [["sea"]], 1),
        ("sea", [["sea"]], 3),
        ("new york", [["new", "york"], ["new_york"]], 2),
        ("s*", [["sea"], ["seal"], ["ship"]], 2),
    ],
)
def test_words_near_a_query_are_counted_once_within_the_sentence(corpus, query, phrases, window):
    sentences = [sentence for each in documents_of(corpus) for sentence in each]
    near, own = counts_near(sentences, phrases, window)
    every = Counter(word for sentence in sentences for word in sentence if word not in (",", "."))
    every -= own

    found = collocates(corpus, query, window=window, min_count=1)

    assert count_of(found.rows) == {word: (n, every[word] - n) for word, n in near.items()}
    assert (found.n_near, found.n_other) == (near.total(), every.total() - near.total())
    assert found.lowest == []


def test_two_words_are_compared_by_what_is_near_each(corpus):
    sentences = [sentence for each in documents_of(corpus) for sentence in each]
    first, second = (counts_near(sentences, [[word]], 2)[0] for word in ("sea", "ship"))

    found = collocates(
        corpus, "sea", window=2, min_count=1, versus="ship", measure="log-likelihood"
    )

    # "ship" is often near "sea", but never near itself
    others = (first | second).keys() - {"sea", "ship"}
    expected = {word: (first[word], second[word]) for word in others}
    rows = [*found.rows, *found.lowest]
    assert count_of(rows).items() <= expected.items()
    assert len(rows) >= len(expected) - 1  # a word as frequent near both may be on neither side
    assert all(row.score > 0 for row in found.rows)
    assert all(row.score < 0 for row in found.lowest)
    for side, sign in ((found.rows, 1), (found.lowest, -1)):
        assert [sign * row.score for row in side] == sorted(
            (sign * row.score for row in side), reverse=True
        )


def test_documents_of_a_field_are_compared_with_the_others(corpus):
    by_year = [Counter(), Counter()]
    near = [Counter(), Counter()]
    for number, sentences in enumerate(documents_of(corpus)):
        side = int(number % 3 != 1)
        by_year[side].update(w for each in sentences for w in each if w not in (",", "."))
        near[side] += counts_near(sentences, [["sea"]], 5)[0]

    whole = collocates(corpus, None, versus_documents="year=1901")
    words = collocates(corpus, "sea", versus_documents="year=1901", min_count=1)

    for found, expected in ((whole, by_year), (words, near)):
        for word, pair in count_of([*found.rows, *found.lowest]).items():
            assert pair == (expected[0][word], expected[1][word])
        assert (found.n_near, found.n_other) == tuple(each.total() for each in expected)


def test_measures_are_their_formulas():
    near, n_near, other, n_other, share, hits = 20, 100, 30, 900, 0.04, 25
    c = Counts(*map(np.array, (near, n_near, other, n_other, share, hits)))

    def g(observed, expected):
        return 2 * observed * math.log(observed / expected)

    p = 50 / 1000
    g2 = g(20, 100 * p) + g(80, 100 * (1 - p)) + g(30, 900 * p) + g(870, 900 * (1 - p))
    assert log_likelihood(c) == pytest.approx(g2)
    assert log_dice(c) == pytest.approx(14 + math.log2(2 * 20 / (25 + 50)))
    assert ppmi(c) == pytest.approx(math.log2(20 * 1000 / (100 * 50)))
    # a prior of 1,000 tokens, of which 40 are the word
    delta = math.log(60 / (1100 - 60)) - math.log(70 / (1900 - 70))
    assert z_score(c) == pytest.approx(delta / math.sqrt(1 / 60 + 1 / 70))
    rarer = Counts(*map(np.array, (1, 100, 99, 900, 0.1, 25)))
    assert log_likelihood(rarer) < 0
    assert ppmi(rarer) == 0


def test_a_word_that_one_document_repeats_has_a_wide_interval(tmp_path):
    lines = ["sea repeated " * 20 if n == 7 else "sea common sand" for n in range(60)]
    corpus = corpus_of(tmp_path, lines)
    found = {row.word: row for row in collocates(corpus, "sea", measure="log-dice").rows}
    repeated, common = found["repeated"], found["common"]
    assert repeated.high - repeated.low > 2 * (common.high - common.low)
    for row in found.values():
        assert row.low <= row.score <= row.high


def test_nothing_is_associated_with_a_frequent_word_of_random_text(tmp_path):
    rng = np.random.default_rng(3)
    words = [["sea", *(f"w{n}" for n in range(30))][n] for n in rng.choice(31, 9000, p=[
        0.4, *[0.02] * 30
    ])]  # fmt: skip
    lines = [" ".join(words[n : n + 30]) for n in range(0, len(words), 30)]
    corpus = corpus_of(tmp_path, lines)
    rows = collocates(corpus, "sea", window=1, top=30).rows
    # a mean of 30 log odds, each with a standard error of some .2; 4 standard errors
    assert len(rows) == 30
    assert abs(np.mean([row.score for row in rows])) < 4 * 0.2 / math.sqrt(30)


@pytest.mark.parametrize("measure", ["log-odds", "log-likelihood", "log-dice", "ppmi"])
def test_intervals_hold_the_true_value(tmp_path, measure):
    """Intervals of 95 % hold the population's value in 34 to 40 of 40 texts.

    The chance of fewer is below 1 % if they hold it in 94 % of texts.
    """
    rng, lines = np.random.default_rng(5), [""] * 60
    for word in range(40):
        # in half of the documents, half of all sentences have the word; in others a tenth
        for number, share in enumerate(rng.choice([0.5, 0.1], size=len(lines))):
            salt = f"salt{word}" if rng.random() < share else "sand"
            lines[number] += f"sea{word} {salt} . far{word} sand . "
            lines[number] += f"salt{word} . " * int(rng.random() < 0.2)
    corpus = corpus_of(tmp_path, lines)
    # tokens of a document: 1 near, 159.X elsewhere, of which .3 and .2 are the word
    near, elsewhere = 0.3, 0.2
    total = 1 + (40 * 4 - 2) + 40 * 0.2
    expected = {
        "log-dice": 14 + math.log2(2 * near / (1 + near + elsewhere)),
        "ppmi": math.log2(near * total / (near + elsewhere)),
    }.get(measure, math.log(near / (1 - near)) - math.log(elsewhere / (total - 1 - elsewhere)))

    held = 0
    for word in range(40):
        found = collocates(corpus, f"sea{word}", window=1, measure=measure)
        [salt] = [row for row in found.rows if row.word == f"salt{word}"]
        held += salt.low <= expected <= salt.high
    assert 34 <= held <= 40


def test_the_interval_of_the_log_odds_ratio_is_worked_by_hand():
    # of 3 documents: 2, 1 and 1 of 10, 9 and 9 tokens near, 1, 0 and 1 of 100 elsewhere
    near, other = np.array([[2], [1], [1]]), np.array([[1], [0], [1]])
    units = Counts(near, near + 8, other, np.full((3, 1), 100), np.zeros(1), near)

    [value], [low], [high] = log_odds_ratio(units)

    parts = [
        n / 4.5 - 8 / 24.5 - m / 2.5 + (100 - m) / 298.5
        for n, m in zip((2, 1, 1), (1, 0, 1), strict=True)
    ]
    variance = sum(part**2 for part in parts)
    error = math.sqrt(variance * 3 / 2 + 0.5 * sum(t**-2 for t in (4.5, 24.5, 2.5, 298.5)))
    freedom = variance**2 / sum(part**4 for part in parts) - 1
    assert value == pytest.approx(math.log(4.5 / 24.5) - math.log(2.5 / 298.5))
    assert high - value == pytest.approx(student_t.ppf(0.975, max(freedom, 3)) * error)
    assert value - low == pytest.approx(high - value)


@pytest.mark.parametrize(
    ("query", "options", "error", "message"),
    [
        ("whale", {}, UnknownWordError, "does not contain 'whale'"),
        (None, {}, SettingError, "pass a word, or `versus_documents`"),
        ("sea", {"measure": "t"}, SettingError, "`measure=t`: expected one of log-odds"),
        ("sea", {"window": 0}, SettingError, "`window` must be at least 1, got 0"),
        ("sea", {"versus": "ship", "versus_documents": "year=1901"}, SettingError, "exclude"),
        ("sea", {"versus": "ship", "measure": "ppmi"}, SettingError, "`measure=ppmi` is of one"),
    ],
)
def test_bad_options_are_refused(corpus, query, options, error, message):
    with pytest.raises(error, match=message):
        collocates(corpus, query, **options)


def test_paragraphs_are_drawn_if_there_are_few_documents(tmp_path):
    corpus = corpus_of(tmp_path, ["the salt sea\n", "the old sea\n"] * 40, documents="file")
    found = collocates(corpus, "sea", measure="log-dice")
    assert (corpus.n_documents, found.unit) == (1, "paragraph")
    salt = {row.word: row for row in found.rows}["salt"]
    assert 12 < salt.low < salt.score < salt.high < 14


def test_samples_are_refused(corpus):
    with pytest.raises(SettingError, match="a sample is not searched"):
        collocates(corpus.sample(100), "sea")


def test_a_phrase_that_does_not_occur_has_no_collocates(corpus):
    found = collocates(corpus, "york ocean york ocean york sea")
    assert (found.rows, found.n_near) == ([], 0)


def test_the_commands_print_tables_csv_and_json(corpus):
    def run(*arguments):
        result = CliRunner().invoke(cli.main, [arguments[0], str(corpus.path), *arguments[1:]])
        assert result.exit_code == 0, result.stderr
        return result.stdout

    found = collocates(corpus, "sea").rows
    assert {type(number) for row in found for number in (row.log_odds_ratio, row.low)} == {float}
    rows = json.loads(run("collocates", "sea", "-n", "3", "--json"))["rows"]
    table = list(csv.DictReader(io.StringIO(run("collocates", "sea", "-n", "3", "--csv"))))
    assert [row["word"] for row in table] == [row["word"] for row in rows]
    assert [float(row["log-odds"]) for row in table] == [row["score"] for row in rows]
    ratios = [row["log_odds_ratio"] for row in rows]
    assert [float(row["log odds ratio"]) for row in table] == ratios
    assert [float(row["low"]) for row in table] == [row["low"] for row in rows]
    assert "log odds ratio" in run("collocates", "sea", "-n", "3")
    dice = run("collocates", "sea", "--measure", "log-dice", "--csv").splitlines()
    assert dice[0] == "word,near,other,log-dice,low,high"
    assert json.loads(run("collocates", "sea", "--json"))["interval_of"] == "log odds ratio"
    shown = run("collocates", "sea", "-n", "3", "--versus", "ship")
    assert "near sea" in shown
    assert "near ship" in shown
    words = list(csv.DictReader(io.StringIO(run("corpus-info", "-n", "4", "--csv"))))
    assert words == [{k: str(v) for k, v in row.items()} for row in frequent_words(corpus, 4)]
    assert not {",", "."} & {row["word"] for row in words}
