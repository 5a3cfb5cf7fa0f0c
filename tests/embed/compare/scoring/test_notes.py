"""Notes on how runs were scored are deduplicated; scores on sets that chose defaults have one."""

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from firth.corpora.artifacts.artifact import write_json
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.scoring.notes import (
    PUBLISHED,
    Note,
    chosen_defaults,
    gather_notes,
    words_digest,
)
from firth.embed.compare.scoring.sets import read_tasks
from firth.embed.registry import METHODS
from firth.embed.runs.run import Run
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.word2vec.config import SkipGramConfig
from tests.calls import command, output
from tests.embed.compare.measuring import read_task

CHOSEN_HERE = "default settings were chosen on this set, so scores may be too high"


def test_a_note_on_a_set_is_not_repeated_for_sections_or_own_items():
    found = [
        (run, "set", section, shared, "odd")
        for shared in (True, False)
        for section in (None, "part")
        for run in ("a", "b")
    ]
    assert gather_notes(found) == [Note(("a", "b"), "set", "odd")]


def test_notes_on_sections_and_own_items_name_them():
    found = [
        ("a", "set", None, False, "own"),
        ("a", "set", None, True, None),
        ("a", "set", "part", True, "here"),
        ("a", "other", None, True, "own"),
        *(("b", "set", section, True, "odd") for section in "uvwxyz"),
    ]
    assert gather_notes(found) == [
        Note(("a",), "set: part", "here"),
        Note(("a",), "other", "own"),
        Note(("b",), "set: u, v, w, x, y and 1 more", "odd"),
        Note(("a",), "set, on all items it covers", "own"),
    ]
    assert gather_notes(found[4:6]) == [Note(("b",), "set: u, v", "odd")]


def options_of(method, **changed):
    """Return the options that a run of a method stores, after JSON."""
    config = METHODS[method].config_class()(**changed)
    return json.loads(json.dumps({"method": method, **dataclasses.asdict(config)}))


@pytest.mark.parametrize("method", METHODS)
def test_chosen_settings_exist_and_their_sets_are_recognized(method):
    config_class = METHODS[method].config_class()
    chosen = config_class.chosen
    assert set(chosen.settings) <= {field.name for field in dataclasses.fields(config_class)}
    assert set(chosen.sets) <= set(PUBLISHED.values())
    assert np.datetime64(chosen.date) > np.datetime64("2026-11-01")
    assert chosen_defaults(Run(Path(), options_of(method))) == chosen


@pytest.mark.parametrize(
    ("method", "changed", "applies"),
    [
        ("svd", {"window": 5}, False),
        ("svd", {"singular_power": 1.0}, False),
        ("svd", {"dim": 100, "seed": 3}, True),
        ("skipgram", {"learning_rate": 0.05}, False),
        ("skipgram", {"epochs": 3, "subwords": "3-6"}, True),
        ("cbow", {"window": 5}, False),
        ("cbow", {"threads": 1}, True),
        ("mlm", {"preset": "tiny"}, True),
    ],
    ids=lambda value: str(value),
)
def test_a_changed_setting_is_no_chosen_default(method, changed, applies):
    assert (chosen_defaults(Run(Path(), options_of(method, **changed))) is not None) == applies


@pytest.mark.parametrize(
    "options", [{}, {"method": "compare"}, {"model_type": "bert"}], ids=["none", "other", "hf"]
)
def test_other_runs_have_no_chosen_defaults(options):
    assert chosen_defaults(Run(Path(), options)) is None


def test_the_digest_of_a_set_ignores_order_case_and_repetition():
    a, b, other = (
        SimpleNamespace(texts=lambda words=words: words.split())
        for words in ("Tiger cat tiger", "cat tiger CAT", "cat")
    )
    assert words_digest(a) == words_digest(b) != words_digest(other)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "file", "name"),
    [
        ("similarity", "similarity/ws353.tsv", "WS-353"),
        ("similarity", "similarity/ws353-sim.tsv", "WS-353"),
        ("similarity", "similarity/ws353-rel.tsv", "WS-353"),
        ("similarity", "similarity/simlex999.tsv", "SimLex-999"),
        ("similarity", "similarity/mturk287.tsv", "MTurk-287"),
        ("similarity", "similarity/rg65.tsv", "RG-65"),
        ("analogy", "analogy/questions-words.txt", "Google analogies"),
        ("analogy", "analogy/msr.txt", "MSR analogies"),
        ("categorization", "categorisation/ap.csv", "AP"),
        ("categorization", "categorisation/bless.csv", None),
        ("similarity", "multilingual/de/simlex999.txt", None),
    ],
    ids=lambda value: str(value),
)
def test_other_copies_of_published_sets_are_recognized(shared_data, task, file, name):
    found = read_task(task, shared_data / "evaluation" / file, CompareConfig())
    assert PUBLISHED.get(words_digest(found)) == name


@pytest.mark.slow
def test_the_default_sets_are_recognized():
    read = read_tasks(CompareConfig())
    names = [PUBLISHED[words_digest(task)] for task in read]
    assert names == ["WS-353", "SimLex-999", "Google analogies"]


@pytest.fixture
def runs(tmp_path):
    """Runs with words of WS-353: two seeds with chosen defaults, and one with another window."""
    words = ["tiger", "cat", "king", "queen", "book", "library", "stock", "market"]
    made = {"sg-1": {"seed": 1}, "sg-2": {"seed": 2}, "wide": {"window": 8}}
    for number, (name, changed) in enumerate(made.items()):
        folder = tmp_path / name
        folder.mkdir()
        matrix = np.random.default_rng(number).normal(size=(8, 4)).astype(np.float32)
        WordVectors(words, matrix).write(folder)
        write_json(folder / "config.json", options_of("skipgram", **changed))
        write_json(folder / "provenance.json", {"corpus": "abc"})
    return [str(tmp_path / name) for name in made]


@pytest.mark.slow
def test_table_json_and_page_note_defaults_chosen_on_the_set(runs, tmp_path, monkeypatch):
    chosen = dataclasses.replace(SkipGramConfig.chosen, sets=("WS-353", "AP"))
    monkeypatch.setattr(SkipGramConfig, "chosen", chosen)
    page = tmp_path / "page.html"
    asked = ["compare", *runs, "wordsim353", "--bands"]

    table = output(*asked, "--report", page)
    document = json.loads(output(*asked, "--json"))

    [line] = [line for line in table.splitlines() if CHOSEN_HERE in line]
    assert line == f"sg-* on wordsim353: {CHOSEN_HERE}"  # neither the bands nor the other run
    assert page.read_text(encoding="utf-8").count(CHOSEN_HERE) == 1
    noted = {
        result["run"] for result in document["results"] if CHOSEN_HERE in result.get("remark", "")
    }
    assert noted == {*runs[:2], str(tmp_path / "sg-*")}
    about = {run["run"]: run.get("defaults_chosen") for run in document["runs"]}
    assert about[runs[0]]["sets"] == ["WS-353", "AP"]
    assert about[runs[2]] is None


def test_sets_that_chose_nothing_have_no_note(runs, tmp_path):
    pairs = tmp_path / "wordsim353.tsv"  # the name of the set, not its words
    pairs.write_text("tiger\tcat\t7\nking\tqueen\t8\nbook\tmarket\t1\n", encoding="utf-8")
    assert CHOSEN_HERE not in output("compare", *runs, pairs)


@pytest.mark.slow
@pytest.mark.parametrize("named", [[], ["wordsim353"]], ids=["default", "named"])
def test_english_sets_are_said_to_be_wrong_for_a_run_of_another_language(runs, tmp_path, named):
    words = [f"wort{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(300)]
    matrix = np.random.default_rng(1).normal(size=(308, 4)).astype(np.float32)
    (tmp_path / "fremd").mkdir()
    WordVectors([*words, "tiger", "cat", "king", "queen", "book", "library", "stock", "market"],
                matrix, counts=np.arange(308, 0, -1)).write(tmp_path / "fremd")  # fmt: skip

    done = command("compare", runs[0], tmp_path / "fremd", *named)

    assert done.exit_code == 0
    assert done.stderr.startswith(
        f"{tmp_path / 'fremd'}: does not look English, but all bundled evaluation sets are: their "
    )
    foreign = "fremd on wordsim353: the set is English, the run does not look so"
    assert sum(line.startswith(foreign) for line in done.stdout.splitlines()) == 1
    assert "sg-1 on wordsim353: the set" not in done.stdout
    assert "result: Left out: fremd at similarity of words (wordsim353" in done.stdout


def test_words_without_counts_may_be_in_any_order_so_no_language_is_told(runs, tmp_path):
    words = sorted(
        {"tiger", "cat", *(f"a{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(300))}
    )
    (tmp_path / "listed").mkdir()
    WordVectors(words, np.eye(len(words), 4, dtype=np.float32)).write(tmp_path / "listed")

    done = command("compare", runs[0], tmp_path / "listed", "wordsim353")

    assert done.exit_code == 0
    assert "English" not in done.output
