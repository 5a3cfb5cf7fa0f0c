"""``firth align``: its table, JSON, runs and refusals."""

import json

import pytest

from firth.embed.formats.vector_files import write_vectors
from tests.calls import command, refusal
from tests.embed.align.planted_spaces import turned


@pytest.fixture
def spaces(tmp_path, monkeypatch):
    """Two files of vectors in the working folder."""
    monkeypatch.chdir(tmp_path)
    a, b, _ = turned(n_words=50, dim=5)
    for vectors in (a, b):
        write_vectors(vectors, tmp_path / f"{vectors.name}.txt", "word2vec-text")


def firth(*words):
    """Run a command; return exit status, output and error."""
    done = command(*words)
    return done.exit_code, done.stdout, done.stderr


def test_the_table_has_precision_and_what_was_dropped(spaces, tmp_path):
    (tmp_path / "pairs.txt").write_text("".join(f"w{n} w{n}\n" for n in range(60)) + "w1 w1\n")
    status, output, _ = firth("align", "A.txt", "B.txt", "--dictionary", "pairs.txt")
    lines = [line.rstrip() for line in output.splitlines()]
    assert status == 0
    assert lines[0] == "pairs.txt: 50 pairs of 61 lines (10 without a vector in A, 1 repeated)"
    assert lines[2].split("  ")[0] == " retrieval"
    assert lines[4:6] == [
        " cosine      1.000 [1.000 1.000]   1.000 [1.000 1.000]",
        " CSLS        1.000 [1.000 1.000]   1.000 [1.000 1.000]",
    ]
    assert lines[-2:] == [
        "5 held-out words, searched among 50 words of B; 95 % bootstrap intervals",
        "procrustes by 45 pairs",
    ]


def test_json_has_settings_pairs_and_precision(spaces):
    status, output, _ = firth("align", "A.txt", "B.txt", "--max-vocabulary", "20", "--json")
    found = json.loads(output)
    assert status == 0
    assert found["pairs"] == {"used": 18, "held_out": 2, "held_out_words": 2, "searched": 50}
    assert found["settings"]["max_vocabulary"] == 20
    assert found["precision"][0]["retrieval"] == "cosine"


def test_neighbors_of_a_run_of_both(spaces):
    made = firth("align", "A.txt", "B.txt", "--out", "both", "--suffixes", "old,new")
    assert (made[0], made[1].splitlines()[-1]) == (0, "both: both spaces")
    status, output, _ = firth("neighbors", "both", "w3@old", "-k", "1")
    assert (status, "w3@new" in output) == (0, True)


def test_a_source_is_refused_as_output_before_anything_is_mapped(spaces, monkeypatch):
    assert firth("align", "A.txt", "B.txt", "--out", "run")[0] == 0
    monkeypatch.setattr("firth.embed.align.api.align_vectors", None)
    assert refusal("align", "run", "B.txt", "--out", "run", "--force") == (
        "--out run: is one of the two spaces; choose another"
    )


def test_without_held_out_words_there_is_no_precision(spaces):
    status, output, _ = firth("align", "A.txt", "B.txt", "--held-out", "0", "--out", "run")
    assert status == 0
    assert output.splitlines() == [
        "no pairs were held out, so there is no precision",
        "procrustes by 50 pairs",
        "run: A in the space of B",
    ]
    _, output, _ = firth("align", "A.txt", "B.txt", "--held-out", "1")
    assert "\n1 held-out word, searched among 50 words of B" in output


def test_refusals_are_one_line(spaces):
    for words, error in {
        "--method vecmap --out run": (
            "--method vecmap changes the vectors of B, too, so that a run needs both spaces; pass "
            "--suffixes a,b"
        ),
        "--out A.txt": "A.txt: already exists; choose another --out or pass --force",
    }.items():
        assert refusal("align", "A.txt", "B.txt", *words.split()) == error
    status, _, error = firth("align", "A.txt", "B.txt", "--suffixes", "a,b")
    assert (status, error.splitlines()[-1]) == (2, "Error: --suffixes needs --out")
