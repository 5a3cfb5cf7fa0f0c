"""The score command: its forms of input and output, and exact errors."""

import csv
import json

import pytest

from firth.embed.contextual.line_scores import score_lines
from tests.calls import command, output, refusal
from tests.pretrain.small_run import small_encoder, small_run

PAIRS = [("", "The king saw the river."), ("He cut it", "then nobody saw it.")]
LINES = score_lines(small_encoder(causal=True), PAIRS)
WORDS = [(str(n), *word) for n, line in enumerate(LINES, 1) for word in line.words]
TEXT = "The king saw the river.\nHe cut it\tthen nobody saw it.\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of train-mlm."""
    return str(small_run(tmp_path_factory.mktemp("score"), causal=True))


def words_of(text):
    """The rows of CSV, with numbers as numbers."""
    header, *rows = csv.reader(text.splitlines())
    assert header == ["line", "word", "start", "stop", "bits", "known"]
    bits = [pytest.approx(float(row[4]), rel=1e-5) for row in rows]
    return [(*r[:2], int(r[2]), int(r[3]), b, r[5] == "True") for r, b in zip(rows, bits)]  # noqa: B905


def test_csv_has_a_row_for_each_word(run):
    assert words_of(output("score", run, "-", "--csv", input=TEXT)) == WORDS


def test_json_has_sums_in_nats_and_bits(run):
    found = json.loads(output("score", run, "-", "--json", input=TEXT))
    assert [line["text"] for line in found] == [text for _, text in PAIRS]
    assert [line["context"] for line in found] == [context for context, _ in PAIRS]
    for line, expected in zip(found, LINES, strict=True):
        assert line["bits"] == pytest.approx(expected.bits, rel=1e-5)
        assert line["log_likelihood"] == pytest.approx(expected.log_likelihood, rel=1e-5)
        assert [word["word"] for word in line["words"]] == line["text"].split()


def test_a_table_shows_a_line_and_its_words(run):
    result = command("score", run, "-", input="The king\nThe 図\n")
    line = score_lines(small_encoder(causal=True), ["The king"])[0]
    shown = "  ".join(f"{word.word} {word.bits:.2f}" for word in line.words)
    assert result.stdout.splitlines()[3].strip().split(maxsplit=2) == [
        "1",
        f"{line.bits:.2f}",
        shown,
    ]
    assert "read as unknown, since no piece has their characters: 図\n" in result.stderr


@pytest.mark.parametrize("form", ["a.csv", "a.tsv", "a.jsonl"])
def test_columns_and_fields_are_read_like_lines(run, tmp_path, form):
    rows = [(context, "x, y", text) for context, text in PAIRS]
    path = tmp_path / form
    names = ("before", "other", "sentence")
    if form == "a.jsonl":
        path.write_text("".join(json.dumps(dict(zip(names, row))) + "\n" for row in rows))  # noqa: B905
    else:
        with path.open("w", newline="") as file:
            writer = csv.writer(file, delimiter="\t" if form == "a.tsv" else ",")
            writer.writerows([names, *rows])
    line = ("score", run, path, "--column", "sentence", "--given", "before", "--csv")
    assert words_of(output(*line)) == WORDS


def test_a_table_that_is_read_as_lines_is_noted(run, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n")
    result = command("score", run, tmp_path / "a.csv")
    assert "a.csv: read as lines of text; --column NAME reads one column" in result.stderr


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("a.txt", "a\nb\tc\td\n", "", "FILE:2: has two tabs; leave one, after a context"),
        ("a.csv", "x,y\na,b\n", "--column z", "FILE: no field 'z'; the fields are: x, y"),
        ("a.csv", "x,y\na\n", "--column x", "FILE:2: 1 columns, but the header has 2; fix the row"),
        ("a.csv", "", "--column x", "FILE: no field 'x'; the fields are: (none)"),
        ("a.jsonl", '{"x": 3}\n', "--column x",
         "FILE:1: not a JSON object with text in x; correct it"),
        ("a.jsonl", "[]\n", "--column x --given y",
         "FILE:1: not a JSON object with text in y and x; correct it"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_read_are_refused(run, tmp_path, name, text, options, message):
    (tmp_path / name).write_text(text)
    found = refusal("score", run, tmp_path / name, *options.split())
    assert found == message.replace("FILE", str(tmp_path / name))
