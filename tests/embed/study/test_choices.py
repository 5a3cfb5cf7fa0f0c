"""What a study leaves open is settled by size, language and time."""

import pytest

from corpora.common.errors import FirthError
from embed.compare.recommend import Features
from embed.study import choices
from embed.study.choices import settle
from embed.study.settings import Study

ENGLISH = ["the", "of", "and", "to", "in", "was", "that", "for", "with", "is", "sea"]


class Vocabulary:
    def __init__(self, words):
        self._words = words

    def words(self, first, stop):
        return self._words[first:stop]


class Text:
    """As much of a corpus as choices look at."""

    def __init__(self, words):
        self.vocabulary = Vocabulary(words)


def settled(study, tokens, n_words=10_000, words=ENGLISH):
    return settle(study, Text(words), "text", Features(tokens, n_words, False)).options


@pytest.fixture
def speeds(monkeypatch):
    """Slots a second of each preset; the text has 1,000,000 slots."""
    speeds = {"tiny": 100_000, "mini": 25_000, "small": 5_000, "medium": 1_000}

    def planned(study, path):
        preset = study.options["train-mlm"]["preset"]
        return {
            "tokens_per_second": speeds[preset], "epoch_tokens": 1_000_000, "dtype": "float32",
            "compile": preset != "tiny",
        }  # fmt: skip

    monkeypatch.setattr(choices, "_planned", planned)
    monkeypatch.setattr(choices, "available_threads", lambda: 2)
    return speeds


@pytest.mark.parametrize(
    ("tokens", "n_words", "dim"), [(1e6, 9000, 100), (5e6, 9000, 300), (1e6, 60, 30)]
)
def test_the_width_of_an_svd_follows_from_the_text(tokens, n_words, dim):
    assert settled(Study(("a",), ("svd",)), tokens, n_words)["train-svd"] == {"dim": dim}


@pytest.mark.parametrize(
    ("tokens", "budget", "dim", "epochs"),
    [
        (1e6, "30m", 100, 20),
        (1e7, "30m", 100, 5),
        (1e8, "5h", 300, 5),
        (1e8, "30m", 300, 1),  # a fifth of 1,800 s at a third of a million a second is 1.2 times
        (1e6, "30s", 100, 6),
    ],
)
def test_epochs_of_predictive_methods_fit_into_a_fifth(speeds, tokens, budget, dim, epochs):
    options = settled(Study(("a",), ("cbow", "skipgram"), budget), tokens)

    chosen = {"dim": dim, "epochs": epochs, "deterministic": True}
    assert (options["train-cbow"], options["train-skipgram"]) == (chosen, chosen)


@pytest.mark.parametrize(
    ("budget", "preset", "tokens"),
    [
        ("10s", "tiny", 400_000),  # 0.4 times through the text
        ("100s", "tiny", 4_000_000),
        ("1000s", "mini", 10_000_000),
        ("2000s", "mini", 20_000_000),
        ("100h", "medium", 40_000_000),  # more than forty times is waste
    ],
)
def test_the_largest_encoder_that_sees_the_text_ten_times(speeds, budget, preset, tokens):
    options = settled(Study(("a",), ("mlm",), budget), 1e6)["train-mlm"]

    compiled = "off" if preset == "tiny" else "on"
    assert options == {"preset": preset, "tokens": tokens, "dtype": "float32", "compile": compiled}


def test_what_is_named_stays(speeds):
    study = Study(("a",), ("svd", "mlm")).with_options("train-svd", dim=7)

    named = settled(study.with_options("train-mlm", preset="small"), 1e6)
    assert (named["train-svd"], named["train-mlm"]["preset"]) == ({"dim": 7}, "small")
    steps = settled(study.with_options("train-mlm", steps=5), 1e6)["train-mlm"]
    assert steps == {"steps": 5, "preset": "tiny", "dtype": "float32", "compile": "off"}


def test_a_training_that_cannot_be_planned_is_left_to_say_why(speeds, monkeypatch):
    monkeypatch.setattr(choices, "_planned", lambda study, path: None)

    assert settled(Study(("a",), ("mlm",)), 1e6)["train-mlm"] == {"preset": "tiny"}


def test_a_dry_run_that_is_killed_ends_the_study(monkeypatch):
    monkeypatch.setattr(
        choices, "firth", lambda *words: ["python3", "-c", "import os; os.kill(os.getpid(), 9)"]
    )

    with pytest.raises(FirthError, match="--dry-run: was ended by SIGKILL; try again"):
        settled(Study(("a",), ("mlm",)), 1e6)


def test_sets_that_come_along_are_for_english_texts_and_where_none_is_named():
    svd = Study(("a",), ("svd",))

    assert settled(svd, 1e6)["compare"] == {
        "similarity": ["wordsim353", "simlex999"],
        "analogies": ["questions-words"],
        "tagging": ["two-tags"],
    }
    assert settled(svd, 1e6, words=["der", "die", "und"])["compare"] == {"intrinsic": True}
    named = svd.with_options("compare", odd_one_out=["x.txt"])
    assert settled(named, 1e6)["compare"] == {"odd-one-out": ["x.txt"]}
