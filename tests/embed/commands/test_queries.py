"""The commands neighbors, similarity and analogy: exact output."""

import contextlib
import io
import json
import shutil

import numpy as np
import pytest
from rich.cells import cell_len

from firth.corpora.text.segment import TextSettings
from firth.embed.query import prompt
from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import command as invoke
from tests.calls import output, refusal

WORDS = ["man", "king", "woman", "queen", "Paris"]
MATRIX = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [3, 0, 4]], np.float32)


@pytest.fixture
def run(tmp_path):
    """A run with simple cosines whose text settings lowercase words."""
    vectors = WordVectors([word.lower() for word in WORDS], MATRIX)
    vectors.write(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"text": TextSettings().to_json()}))
    return str(tmp_path)


@pytest.fixture
def file(tmp_path):
    """The same vectors as a file without text settings, with Paris capitalized."""
    path = tmp_path / "v.txt"
    rows = [" ".join(map(str, [word, *row])) for word, row in zip(WORDS, MATRIX, strict=True)]
    path.write_text("\n".join(rows) + "\n")
    return str(path)


def test_neighbors_are_printed_one_per_line_or_as_json(run, tmp_path):
    assert output("neighbors", run, "king", "man", "-k", 2) == (
        "king               1  man                   0.7071\n"
        "king               2  queen                 0.5000\n"
        "man                1  king                  0.7071\n"
        "man                2  paris                 0.6000\n"
    )
    assert json.loads(output("neighbors", run, "woman", "-k", 2, "--json")) == {
        "woman": [
            {"neighbor": "paris", "cosine": pytest.approx(0.8)},
            {"neighbor": "queen", "cosine": pytest.approx(0.5**0.5)},
        ]
    }
    piped = output("neighbors", run, "--json", "-k", 1, input="king\n\n man woman\nking\n")
    assert list(json.loads(piped)) == ["king", "man", "woman"]
    (tmp_path / "other").mkdir()
    WordVectors(["naïve", "図書館"], np.eye(2, dtype=np.float32)).write(tmp_path / "other")
    assert '"図書館"' in output("neighbors", tmp_path / "other", "naïve", "--json")


def test_similarities_are_printed_one_per_line_or_as_json(run):
    result = invoke("similarity", run, "PARIS", "Woman")
    assert result.stdout == "paris            woman             0.8000\n"
    assert result.stderr == "'PARIS' is read as 'paris'\n'Woman' is read as 'woman'\n"
    expected = [
        {"a": "woman", "b": "paris", "cosine": pytest.approx(0.8)},
        {"a": "king", "b": "man", "cosine": pytest.approx(0.5**0.5)},
    ]
    assert json.loads(output("similarity", run, "woman", "paris", "--json")) == expected[0]
    piped = output("similarity", run, "--json", input="woman paris\nking\tman\n")
    assert [json.loads(line) for line in piped.splitlines()] == expected


def test_queries_of_a_plain_file_are_tried_as_written_then_lowercased_then_in_any_case(file):
    result = invoke("similarity", file, "Paris", "Woman")
    assert result.stdout == "Paris            woman             0.8000\n"
    assert result.stderr == "'Woman' is read as 'woman'\n"
    result = invoke("similarity", file, "paris", "woman")
    assert result.stdout == "Paris            woman             0.8000\n"
    assert result.stderr == "'paris' is read as 'Paris'\n"
    result = invoke("similarity", file, input=b"\xef\xbb\xbfParis woman\r\n")
    assert (result.stdout, result.stderr) == ("Paris            woman             0.8000\n", "")


def test_analogies_are_printed_one_answer_per_line_or_as_json(run):
    # king - man + woman = (-0.2929, 0.7071, 1), of length 1.2593; queen and paris have the
    # products 0.5 + 0.7071 and 0.8 - 0.6 * 0.2929 with it
    words = ("analogy", run, "man", "king", "woman", "-k")
    assert output(*words, 2) == (
        "man : king = woman : ?    1  queen                 0.9586\n"
        "man : king = woman : ?    2  paris                 0.4957\n"
    )
    score = 0.75 * (1 + 0.5**0.5) / 2 / 0.501
    assert json.loads(output(*words, 1, "--method", "3cosmul", "--json")) == {
        "a": "man", "b": "king", "c": "woman",
        "answers": [{"word": "queen", "score": pytest.approx(score)}],
    }  # fmt: skip
    piped = output("analogy", run, "-k", 1, "--json", input="man king woman\n")
    assert json.loads(piped)["answers"][0]["word"] == "queen"


@pytest.mark.parametrize(
    ("arguments", "known"),
    [
        (["neighbors", "{run}", "king", "kin"], "king"),
        (["similarity", "{run}", "king", "kin"], None),
        (["analogy", "{run}", "king", "kin", "man"], None),
    ],
)
def test_an_unknown_word_is_an_error_unless_skipped(run, arguments, known):
    arguments = [argument.format(run=run) for argument in arguments]
    why = f"{run}: no vector for 'kin'; did you mean 'king' or 'man'?"
    result = invoke(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"Error: {why} (--skip-unknown skips it)\n".replace(" or 'man'", "")
    result = invoke(*arguments, "--skip-unknown")
    assert result.exit_code == 0
    assert result.stderr == f"skipped: {why}\n".replace(" or 'man'", "")
    assert {line.split()[0] for line in result.stdout.splitlines()} == ({known} if known else set())


@pytest.mark.parametrize(
    ("words", "shape"),
    [
        ("similarity {} king xyzzy", {"a": "king", "b": "xyzzy", "cosine": None}),
        ("analogy {} king xyzzy man", {"a": "king", "b": "xyzzy", "c": "man", "answers": []}),
        ("neighbors {} xyzzy", {}),
    ],
    ids=["similarity", "analogy", "neighbors"],
)
def test_json_of_a_skipped_query_keeps_its_shape(run, words, shape):
    answer = output(*words.format(run).split(), "--skip-unknown", "--json")
    assert json.loads(answer) == shape


def test_bytes_that_are_not_utf_8_are_refused_unless_skipped(run):
    message = f"{run}: 'k\\udcff' is not UTF-8; pass UTF-8 (--skip-unknown skips it)"
    assert refusal("neighbors", run, "k\udcff") == message
    skipping = ["neighbors", run, "-k", 1, "--skip-unknown"]
    shown = output(*skipping, input=b"k\xff\nking\n")
    assert shown == "king               1  man                   0.7071\n"


APART = "under this run's text settings; pass single words (--skip-unknown skips it)"


@pytest.mark.parametrize(
    ("arguments", "text", "status", "message"),
    [
        (["similarity", "{run}", "king"], None, 2, "expected A B or A B C, got 1"),
        (["analogy", "{run}", "king"], None, 2, "expected A B C, got 1"),
        (["similarity", "{run}"], "king man\nking\n", 1, "<stdin>:2: expected 2, got 1 (king)"),
        (["neighbors", "{run}", "king", "-k", "0"], None, 1, "k must be at least 1, got 0"),
        (["neighbors", "no/run", "king"], None, 1, "no/run: no such run or vectors file"),
        (
            ["neighbors", "{run}", "New York"], None, 1,
            f"{{run}}: 'New York' is 2 words (new york) {APART}",
        ),
        (["neighbors", "{run}", " "], None, 1, f"{{run}}: ' ' is no word {APART}"),
        (
            ["neighbors", "{run}", "don't"], None, 1,
            f"{{run}}: \"don't\" is 3 words (don ' t) {APART}",
        ),
    ],
    ids=["two", "three", "line", "k", "missing", "phrase", "space", "apostrophe"],
)  # fmt: skip
def test_invalid_queries_are_refused(run, arguments, text, status, message):
    result = invoke(*(argument.format(run=run) for argument in arguments), input=text)
    assert result.exit_code == status
    assert result.stderr.endswith(f"Error: {message.format(run=run)}\n")
    assert status == 2 or result.stderr.count("\n") == 1


def test_a_terminal_is_prompted_and_errors_do_not_end_the_session(run, monkeypatch):
    lines = iter(["kign\n", "king man\n", "king man paris\n", ""])
    monkeypatch.setattr(prompt, "at_terminal", lambda: True)
    monkeypatch.setattr("builtins.input", lambda question: next(lines).rstrip("\n"))
    result = invoke("similarity", run)
    assert result.exit_code == 0
    assert result.stdout == "king             man               0.7071\n"
    assert result.stderr == (
        "end with an empty line or Ctrl-D\nexpected 2, got 1\nexpected 2, got 3\n"
    )
    lines = iter(["kign\n", "king\n"])  # then StopIteration would come; Ctrl-D does
    asked = []

    def ask(question):
        asked.append(question)
        try:
            return next(lines).rstrip("\n")
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", ask)
    result = invoke("neighbors", run, "-k", "1")
    assert result.exit_code == 0
    assert asked == ["neighbors of> "] * 3
    assert result.stdout == "king               1  man                   0.7071\n"
    assert "no vector for 'kign'; did you mean 'king'?" in result.stderr


def test_tabs_separate_words_with_spaces():
    assert prompt.split_query("new york\tparis\n") == ["new york", "paris"]
    assert prompt.split_query(" king  queen \n") == ["king", "queen"]
    assert prompt.split_query("\n") == []


def test_a_pipe_is_not_a_terminal(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("x"))
    assert not prompt.at_terminal()


def test_columns_align_in_any_script(tmp_path):
    path = tmp_path / "mixed.vec"
    path.write_text("sea 1 0\n海 1 .1\n大海洋 1 .2\nocean 1 .3\n", encoding="utf-8")

    for arguments in (["neighbors", path, "sea", "海"], ["analogy", path, "sea", "海", "ocean"]):
        lines = output(*arguments).splitlines()
        assert len({cell_len(line) for line in lines}) == 1, lines


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """A folder with a text and outputs of every kind."""
    folder = tmp_path_factory.mktemp("outputs")
    (folder / "text.txt").write_text("a b c d\n" * 50)
    with contextlib.chdir(folder):
        for line in (
            "build-corpus text.txt --out corpus",
            "train-svd corpus --dim 2 --out run",
            "export run --format glove small.vec",
        ):
            assert invoke(*line.split()).exit_code == 0
    wide = " ".join(["0.5"] * 12)
    (folder / "wide.vec").write_text(f"2 12\nking {wide}\nqueen {wide}\n")
    for kind in ("comparison", "curve"):
        shutil.copytree(folder / "run", folder / kind)
        (folder / kind / f"{kind}.json").write_text("{}")
    shutil.copytree(folder / "run", folder / "study/svd")
    (folder / "study/study.json").touch()
    for name in ("corpus", "mlm"):
        (folder / "study" / name).mkdir()
    shutil.copytree(folder / "run", folder / "new.partial")
    (folder / "new.partial/maker.json").touch()
    return folder


AS_TEXT = ("study {} --out x", "build-corpus {} --out x", "train-svd {} --out x", "recommend {}",
           "train-mlm {} --dry-run", "learning-curve {} --out x")  # fmt: skip
AS_CORPUS = (*AS_TEXT, "corpus-info {}")
AS_RUN = ("neighbors {} a", "similarity {} a b", "compare {}", "export {} --format glove x")
WITH_ENCODER = ("fill-mask {} a[MASK]", "encode {} text.txt --out x.npz", "pool {} --out x")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "commands", "message"),
    [
        ("run", AS_CORPUS, "a run, not a corpus; pass the corpus that it was trained on"),
        ("study", AS_CORPUS, "a study, not a corpus; pass its corpus, study/corpus"),
        ("curve", AS_CORPUS, "a learning curve, not a corpus; pass the corpus that its runs"),
        ("comparison", AS_CORPUS, "a comparison, not a corpus; pass the corpus that its runs"),
        ("wide.vec", AS_TEXT[1:], "word vectors, not text; pass the text or the corpus they were"),
        ("study/svd", AS_CORPUS, "a run, not a corpus; pass the corpus"),
        ("corpus", AS_RUN, "a corpus, not a run; train one with firth train-svd"),
        ("corpus", WITH_ENCODER, "a corpus, not a run; train one with firth train-mlm"),
        ("study", AS_RUN, "a study, not a run; pass a run in it, such as study/svd"),
        ("study", WITH_ENCODER, "a study, not a run; pass a run in it, such as study/mlm"),
        ("text.txt", AS_RUN[:1], "unknown format; expected a run directory, word2vec"),
        ("new.partial", AS_TEXT, "an unfinished output, not a corpus; run its command again"),
    ],
)  # fmt: skip
def test_outputs_of_the_wrong_kind_are_named(
    outputs, monkeypatch, tmp_path, given, commands, message
):
    monkeypatch.chdir(outputs)
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path))
    for line in commands:
        result = invoke(*line.format(given).split())
        assert result.exit_code == 1
        assert result.stderr.splitlines()[-1].startswith(f"Error: {given}: {message}"), line


@pytest.mark.parametrize("line", ["train-svd", "train-cbow --epochs 1 --threads 1 --subsample 0"])
def test_training_says_if_types_occur_too_seldom(tmp_path, monkeypatch, line):
    monkeypatch.chdir(tmp_path)
    # 20 types occur 50 times, 200 twice: all together 1,400 / 220 = 6.4 times
    types = np.repeat([f"w{n}" for n in range(220)], [50] * 20 + [2] * 200)
    lines = np.random.default_rng(2).permutation(types).reshape(35, 40)
    (tmp_path / "text.txt").write_text("\n\n".join(map(" ".join, lines)))
    build = ("build-corpus", "text.txt", "--held-out", "0", "--out")
    for name, options in (("words", ()), ("tokens", ("--tokens",))):
        output(*build, name, *options)
        command, *settings = line.split()
        for most, noted in ((220, True), (20, False)):
            options = ("--dim", 2, "--out", f"{name}-{most}", "--max-vocabulary", most)
            result = invoke(command, name, *settings, *options, "--min-count", 1)
            assert result.exit_code == 0, result.stderr
            assert noted == (
                f"{name}: too little text for useful vectors: 6.4 tokens of a type on average; "
                "below about 20 scores are hardly better than chance\n" in result.stderr
            )


def test_a_folder_of_text_may_not_contain_outputs(outputs, monkeypatch):
    monkeypatch.chdir(outputs.parent)
    result = invoke("build-corpus", outputs.name, "--out", "x")
    assert result.stderr.startswith(f"Error: {outputs.name}/")
    assert result.stderr.endswith("inside the text; move it away, or name the files of the text\n")
