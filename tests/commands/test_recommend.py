"""``firth recommend``: three lines, and the evidence behind them."""

import json
import shlex

import pytest
from click.testing import CliRunner

from cli import main
from embed.compare.advice import read_evidence


@pytest.fixture
def text(tmp_path):
    source = tmp_path / "my text.txt"
    source.write_text("the cat sat on the mat and the dog sat on the cat\n" * 50)
    return source


def ask(*arguments):
    return CliRunner().invoke(main, ["recommend", *map(str, arguments)])


def test_the_advice_is_a_command_that_trains_on_this_corpus(text):
    done = ask(text)

    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert max(map(len, lines[3:])) <= 100
    commands = [line.partition(": ")[2] for line in lines if line.startswith("for ")]
    assert commands
    for command in commands:
        program, method, corpus, *options, out, run = shlex.split(command)
        assert (program, corpus, out, run) == ("firth", str(text), "--out", "RUN")
        trained = CliRunner().invoke(main, [method, "--help"])
        assert trained.exit_code == 0
        for option in options[::2]:
            assert f"{option} " in trained.stdout
    [evidence] = [line for line in lines if line.startswith("evidence: ")]
    assert "far from it: firth learning-curve tells more" in evidence  # 650 tokens


def test_the_table_has_every_candidate_with_its_scores(text):
    lines = [" ".join(line.split()) for line in ask(text).stdout.splitlines()]

    for name in read_evidence()["candidates"]:
        [row] = [line for line in lines if line.startswith(f"{name} ")]
        assert row.count("±") == 2
    assert any("*" in line for line in lines)


def test_json_has_advice_and_evidence(text):
    document = json.loads(ask(text, "--json").stdout)

    assert [each["task"] for each in document["advice"]] == ["similarity", "analogy"]
    assert document["tokens"] == 650
    assert document["evidence"] in read_evidence()["samples"]
    for each in document["advice"]:
        assert each["command"].startswith(f"firth train-{each['method']} ")


def test_what_is_no_corpus_is_refused_in_one_line(tmp_path):
    done = ask(tmp_path / "nothing")

    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
