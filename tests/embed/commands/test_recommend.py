"""The recommend command: its advice and evidence."""

import dataclasses
import json
import random
import shlex
from functools import partial

import pytest

from firth.embed.compare.recommend import KINDS, Margin, read_evidence
from tests.calls import command, output


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A text of 400 words, in random order."""
    source = tmp_path_factory.mktemp("texts") / "my text.txt"
    words = [a + b + c for a in "bdfgklmnpr" for b in "aeiou" for c in "lmnprstv"]
    draw = random.Random(1)
    lines = (" ".join(draw.choices(words, k=12)) for _ in range(500))
    source.write_text("".join(f"{line}\n" for line in lines))
    return source


ask = partial(output, "recommend")


def test_the_recommended_commands_run_on_this_corpus(text, tmp_path):
    document = json.loads(ask(text, "--json"))
    assert (document["tokens"], document["words"], document["is_far"]) == (5_400, 400, True)
    assert document["evidence"] in read_evidence()["samples"]
    assert sorted(kind for each in document["advice"] for kind in each["kinds"]) == sorted(KINDS)
    for each in document["advice"]:
        program, *typed, run = shlex.split(each["command"])
        assert (program, typed[1], run) == ("firth", str(text), "RUN")
        epochs = [] if each["method"] == "svd" else ["--epochs", "1"]
        out = tmp_path / each["candidate"]
        output(*typed, out, *epochs)
        assert (out / "vectors.npy").exists()


def test_the_lines_name_the_command_the_evidence_and_every_candidate(text):
    lines = ask(text).splitlines()
    document = json.loads(ask(text, "--json"))
    chosen = [line for line in lines if " --out RUN" in line]
    for line, each in zip(chosen, document["advice"], strict=True):
        assert line.endswith(f": {each['command']}")
    [evidence] = [line for line in lines if line.startswith("evidence: ")]
    assert f"yours has 5.4k and {document['words']}" in evidence
    assert evidence.endswith("; yours is very different, so use firth learning-curve")
    plain = [" ".join(line.split()) for line in lines]
    rows = [
        row for name in read_evidence()["candidates"] for row in plain if row.startswith(f"{name} ")
    ]
    assert len(rows) == len(read_evidence()["candidates"])
    assert {row.count("±") for row in rows} == {3}
    assert sum(row.count("*") for row in rows) == 3


@pytest.mark.parametrize(
    ("difference", "line"),
    [
        (0.05, "similarity: 0.050 ± 0.020 better than cbow-100"),
        (-0.05, "similarity: 0.050 ± 0.020 worse than cbow-100"),
        (0.01, "similarity: no clear difference from cbow-100 (+0.010 ± 0.020)"),
    ],
)
def test_the_margin_over_the_next_candidate_is_shown(text, monkeypatch, difference, line):
    margin = Margin("cbow-100", difference, 0.02 / read_evidence()["factor"])
    monkeypatch.setattr("firth.embed.compare.recommend.margin_of", lambda *_: margin)

    assert f"    {line}" in ask(text).splitlines()
    first = json.loads(ask(text, "--json"))["advice"][0]
    assert first["margins"][first["kinds"][0]] == dataclasses.asdict(margin)


def test_training_times_are_a_column_if_the_evidence_has_them(text, monkeypatch):
    evidence = read_evidence()
    for sample in evidence["samples"]:
        sample["seconds"] = dict.fromkeys(evidence["candidates"], 1234.0)
    monkeypatch.setattr("firth.embed.compare.recommend.read_evidence", lambda: evidence)

    lines = [line.rstrip() for line in ask(text).splitlines()]

    assert sum(line.endswith(" training, s") for line in lines) == 1
    assert sum(line.endswith(" 1,234") for line in lines) == len(evidence["candidates"])


@pytest.mark.parametrize("content", ["a few words only\n", "...\n! !\n"])
def test_too_little_text_prints_a_one_line_error(tmp_path, content):
    source = tmp_path / "tiny.txt"
    source.write_text(content)

    done = command("recommend", source)
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1] == (
        "Error: too little text for a recommendation: 0 words occur 5 times or more; add text"
    )
