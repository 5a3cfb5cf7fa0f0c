"""Settings files of studies: reading, checking, writing, and command-line options."""

import re
import tomllib
from pathlib import Path

import pytest

from firth.corpora.common.errors import SettingError
from firth.embed.study.settings import (
    Study,
    command_options,
    make_config,
    parse_budget,
    read_study,
    study_from_json,
    write_toml,
)
from firth.pretrain.config import MlmConfig

FULL = """
sources = ["texts/a.txt", "texts/b.txt"]
methods = ["svd", "mlm"]
budget = "90s"
words = ["sea"]

[build-corpus]
keep-case = true
keep = ["date", "author"]

[train-svd]
dim = 50
singular-power = 0.5

[train-mlm]
pieces = 500
compile = "off"

[compare]
sets = ["a.tsv", "b.tsv"]
sections = false
"""


def read(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    return read_study(path)


def test_a_settings_file_gives_every_entry_and_round_trips(tmp_path):
    study = read(tmp_path, FULL)
    assert (study.sources, study.methods) == (("texts/a.txt", "texts/b.txt"), ("svd", "mlm"))
    assert (study.words, study.seconds) == (("sea",), 90)
    assert study.options["train-svd"] == {"dim": 50, "singular-power": 0.5}
    more = study.with_options("train-svd", dim=300, min_count=2)  # given ones stay
    assert more.options["train-svd"] == {"dim": 50, "min-count": 2, "singular-power": 0.5}

    write_toml(study, tmp_path / "again.toml")
    assert read_study(tmp_path / "again.toml") == study
    assert study_from_json(tomllib.loads((tmp_path / "again.toml").read_text())) == study

    study = read(tmp_path, '\ufeffsources = ["a"]')  # after a byte order mark
    assert study == Study(("a",))
    assert (study.methods, study.seconds) == (("svd", "cbow", "skipgram", "mlm"), 1800)


def test_an_option_named_like_a_keyword_of_python_is_read(tmp_path):
    study = read(tmp_path, 'sources = ["a"]\n[train-mlm]\ncontinue = "run"')
    assert make_config(MlmConfig, study.options["train-mlm"]).continue_ == "run"
    assert command_options(study.options["train-mlm"], "train-mlm") == ["--continue", "run"]


def test_options_become_command_line_arguments(tmp_path):
    study = read(tmp_path, FULL)
    arguments = {
        command: command_options(options, command) for command, options in study.options.items()
    }

    assert arguments == {
        "build-corpus": ["--keep-case", "--keep", "date", "--keep", "author"],
        "train-svd": ["--dim", "50", "--singular-power", "0.5"],
        "train-mlm": ["--pieces", "500", "--compile", "off"],
        "compare": ["a.tsv", "b.tsv"],
    }
    assert command_options({"keep-case": False}, "build-corpus") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'sources: missing; name a corpus or texts: sources = ["my-texts"]'),
        ("sources = []", "sources: empty; pass at least one"),
        ('sources = "a"', "sources: must be a list of strings, [\"...\", ...], got 'a'"),
        ('sources = ["a"]\nbudget = 10', 'budget: must be a string such as "10m", got 10'),
        (
            'sources = ["a"]\nbudget = "soon"',
            "`budget` must be a time such as 90s, 10m or 1.5h, got 'soon'",
        ),
        (
            'sources = ["a"]\nmethods = ["lsa"]',
            "method: lsa: unknown; choose one of svd, skipgram, cbow, nplm, autoencoder, mlm",
        ),
        ('sources = ["a"]\ntrain-svd = 3', "train-svd: must be a table, [train-svd], got 3"),
        (
            'sources = ["a"]\n[train-svd]\nwidth = 3',
            (
                "[train-svd] width: cannot be set in a study; expected one of add-contexts, "
                "best, boundary, context-side, context-smoothing, device, dim, exact-walks, "
                "max-vocabulary, memory, min-count, pieces, punctuation, seed, shift, side-means, "
                "singular-power, subsample, threads, weighting, window, window-weighting"
            ),
        ),
        ('sources = ["a"]\n[train-svd]\ndim = 0', "[train-svd] `dim` must be at least 1, got 0"),
        (
            'sources = ["a"]\n[train-svd]\ndim = "x"',
            "[train-svd] `dim` must be of type int, got 'x'",
        ),
        (
            'sources = ["a"]\n[compare]\nsets = [3]',
            'sets: must be a list of strings, ["...", ...], got [3]',
        ),
        (
            'sources = ["a"]\n[compare]\nsets = "b.tsv"',
            "sets: must be a list of strings, [\"...\", ...], got 'b.tsv'",
        ),
        ('sources = ["a\\u0000b"]', "'a\\x00b': cannot be written to a settings file; rename it"),
    ],
)
def test_an_invalid_setting_is_refused_by_name(tmp_path, text, message):
    with pytest.raises(SettingError) as refused:
        read(tmp_path, text)

    assert str(refused.value).endswith(message)
    assert str(refused.value).startswith(f"{tmp_path / 'study.toml'}: ")


@pytest.mark.parametrize("content", [b"sources = [", b"\xff\xfe"], ids=["cut", "no UTF-8"])
def test_a_file_that_is_not_toml_is_refused(tmp_path, content):
    path = tmp_path / "study.toml"
    path.write_bytes(content)
    with pytest.raises(SettingError, match=f"^{re.escape(str(path))}: not TOML: "):
        read_study(path)
    message = "sauces: unknown setting; expected one of methods, sources"
    with pytest.raises(SettingError, match=message):
        read(tmp_path, 'sauces = ["a"]')


@pytest.mark.parametrize("text", ["", "10", "m", "-1m", "0s", "1d", "1m30s", "١m"])
def test_an_invalid_time_is_refused(text):
    with pytest.raises(SettingError, match="must be a time such as 90s"):
        parse_budget(text)


def test_one_source_method_or_word_need_not_be_a_tuple():
    one = Study(Path("texts"), "svd", words="king")
    assert one == Study(("texts",), ("svd",), words=("king",))
    assert Study(["a", "b"], ["svd"]) == Study(("a", "b"), ("svd",))
