"""Default settings of a study, by text size, language and budget."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

from firth.corpora.common.console import show_progress
from firth.corpora.common.errors import SettingError, SourceError
from firth.embed.compare.datasets import word_pairs
from firth.embed.compare.recommend import Features
from firth.embed.study import choices
from firth.embed.study.choices import choose_settings
from firth.embed.study.settings import Study

CORPUS = SimpleNamespace(held_out_units=1)


def settled(study, tokens, n_words=10_000, english=True):
    features = Features(tokens, n_words, False, english=english)
    return choose_settings(study, CORPUS, features)[0].options


@pytest.fixture
def speeds(monkeypatch):
    """Tokens per second of each preset; an epoch has 1,000,000 tokens."""
    speeds = {"tiny": 100_000, "micro": 50_000, "mini": 25_000, "small": 5_000, "medium": 1_000}
    weights = {"tiny": 1e6, "micro": 2e6, "mini": 5e6, "small": 8e6, "medium": 11e6}

    def planned(study, corpus):
        preset = study.options["train-mlm"]["preset"]
        return {
            "tokens_per_second": speeds[preset], "epoch_tokens": 1_000_000, "dtype": "float32",
            "compile": preset != "tiny", "parameters": weights[preset],
            "tokens": study.options["train-mlm"].get("minutes", 0) * 60 * speeds[preset],
        }  # fmt: skip

    monkeypatch.setattr(choices, "_estimate", planned)
    monkeypatch.setattr(choices, "available_threads", lambda: 2)
    return speeds


@pytest.mark.parametrize(
    ("tokens", "n_words", "dim"), [(1e6, 9000, 100), (8e6, 9000, 300), (1e6, 60, 30)]
)
def test_the_width_of_an_svd_depends_on_the_text(tokens, n_words, dim):
    assert settled(Study(("a",), ("svd",)), tokens, n_words)["train-svd"] == {"dim": dim}


@pytest.mark.parametrize(
    ("tokens", "budget", "dim", "epochs"),
    [
        (1e6, "30m", 100, 20),
        (1e7, "30m", 100, 13),  # 20 times the square root of 4M / 10M
        (1e8, "5h", 300, 5),
        (1e8, "30m", 300, 1),  # a fifth of 1,800 s at a third of a million a second is 1.2 times
        (1e6, "30s", 100, 6),
    ],
)
def test_word2vec_epochs_fit_into_a_fifth_of_the_budget(speeds, tokens, budget, dim, epochs):
    options = settled(Study(("a",), ("cbow", "skipgram"), budget), tokens)

    chosen = {"dim": dim, "epochs": epochs, "deterministic": True}
    assert (options["train-cbow"], options["train-skipgram"]) == (chosen, chosen)


@pytest.mark.parametrize(
    ("budget", "preset", "epochs"),
    [
        ("10s", "tiny", 0.4),
        ("399s", "tiny", 15.96),
        ("400s", "micro", 8.0),  # four slots for each weight
        ("2000s", "mini", 20.0),
        ("100h", "small", 40.0),  # medium would need 44 epochs, and 40 are the most
    ],
)
def test_the_largest_preset_that_reads_enough_text_is_chosen(speeds, budget, preset, epochs):
    options = settled(Study(("a",), ("mlm",), budget), 1e6)["train-mlm"]

    compiled = "off" if preset == "tiny" else "on"
    assert options == {"preset": preset, "epochs": epochs, "dtype": "float32", "compile": compiled}


@pytest.mark.parametrize(("minutes", "preset"), [(1, "tiny"), (14, "mini")])
def test_a_preset_is_chosen_by_the_budget_of_the_masked_lm(speeds, minutes, preset):
    study = Study(("a",), ("mlm",), "10s").with_options("train-mlm", minutes=minutes)
    compiled = "off" if preset == "tiny" else "on"
    chosen = {"preset": preset, "dtype": "float32", "compile": compiled}
    assert settled(study, 1e6)["train-mlm"] == chosen | {"minutes": minutes}
    study = Study(("a",), ("svd", "mlm")).with_options("train-svd", dim=7)
    named = settled(study.with_options("train-mlm", preset="small"), 1e6)
    assert (named["train-svd"], named["train-mlm"]["preset"]) == ({"dim": 7}, "small")


def test_no_step_is_timed_if_nothing_is_left_to_choose(monkeypatch):
    monkeypatch.delattr(choices, "_estimate")
    options = {"steps": 5, "preset": "mini", "dtype": "bfloat16", "compile": "on"}

    study = Study(("a",), ("mlm",)).with_options("train-mlm", **options)
    assert settled(study, 1e6)["train-mlm"] == options


@pytest.mark.parametrize(("options", "units"), [({}, 1), ({}, 0), ({"steps": 5}, 0)])
def test_a_refused_estimate_leaves_the_method_out_and_says_why(monkeypatch, capsys, options, units):
    def refuse(corpus, config):
        raise SettingError("`dim=9`: no text")

    monkeypatch.setattr("firth.pretrain.training.dry_run.estimate_mlm", refuse)
    study = Study(("a",), ("mlm",), options={"train-mlm": options})
    features = Features(10**6, 10_000, False, english=True)

    with show_progress():
        corpus = SimpleNamespace(held_out_units=units)
        chosen, left_out = choose_settings(study, corpus, features)
    assert left_out["train-mlm"] == "--dim 9: no text"
    assert chosen.options["train-mlm"] == options
    assert "left out: firth train-mlm: --dim 9: no text\n" in capsys.readouterr().err


def test_bundled_sets_are_used_for_english_texts_without_given_sets():
    pytest.importorskip("gensim")
    svd = Study(("a",), ("svd",))

    assert settled(svd, 1e6)["compare"] == {
        "sets": ["wordsim353", "simlex999", "questions-words", "two-tags"]
    }
    assert settled(svd, 1e6, english=False)["compare"] == {"intrinsic": True}
    named = svd.with_options("compare", sets=["x.txt"])
    assert settled(named, 1e6)["compare"] == {"sets": ["x.txt"]}


def test_sets_that_cannot_be_downloaded_are_left_out(monkeypatch, capsys):
    def gensim_file(name):
        if name not in reachable:
            raise SourceError(f"{name}: cannot be reached")
        return Path(name)

    monkeypatch.setattr(word_pairs, "gensim_file", gensim_file)

    reachable = {"simlex999.txt"}
    options = settled(Study(("a",), ("svd",)), 1e6)["compare"]
    assert options == {"sets": ["simlex999", "two-tags"]}
    left_out = "wordsim353, questions-words: wordsim353.tsv: cannot be reached"
    assert f"left out: firth compare: {left_out}\n" in capsys.readouterr().err
    reachable = set()
    options = settled(Study(("a",), ("svd",)), 1e6)["compare"]
    assert options == {"sets": ["two-tags"], "intrinsic": True}


def test_probes_are_left_out_without_torch(monkeypatch, capsys):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "torch" else found(name)
    )

    options = settled(Study(("a",), ("svd",)), 1e6)["compare"]
    assert options == {"sets": ["wordsim353", "simlex999", "questions-words"]}
    left_out = "two-tags needs the package torch; pip install torch (without CUDA: "
    assert f"left out: firth compare: {left_out}" in capsys.readouterr().err
