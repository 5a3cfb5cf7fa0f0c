"""Labels of new text: as compare scores them, of unknown text too, and what is refused."""

import json

import numpy as np
import pytest

from firth import LabelConfig, label_text
from firth.corpora.common.errors import ArtifactError, FirthError
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.parts import TEST
from firth.embed.compare.probes import window
from firth.embed.compare.scoring.open_runs import compare_opened, open_runs
from firth.embed.compare.scoring.sets import read_tasks
from firth.embed.compare.tasks.sentences.folds import read_folds
from firth.embed.compare.tasks.sentences.pooling_probes import pool_sentences
from tests.calls import command, output
from tests.embed.compare.refusals import message_of

KINDS = ["good", "bad", "dog", "cat"]  # two adjectives and two nouns, told apart by a dimension
WORDS = [f"{kind}{n}" for kind in KINDS for n in range(12)]
TAGS = {"good": "ADJ", "bad": "ADJ", "dog": "NOUN", "cat": "NOUN"}


def tag(word):
    return TAGS[word.rstrip("0123456789")]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Vectors; labeled sentences, tagged words and words with labels, not all of them easy."""
    folder, rng = tmp_path_factory.mktemp("label"), np.random.default_rng(1)
    rows = []
    for word in WORDS:
        noise = rng.normal(size=5)
        noise[KINDS.index(word.rstrip("0123456789"))] += 2
        rows.append(f"{word} {' '.join(map(str, noise.round(3)))}")
    (folder / "run.vec").write_text("\n".join([f"{len(WORDS)} 5", *rows]) + "\n")
    lines = []
    for number in range(120):
        words = [
            *rng.choice(WORDS[24:], rng.integers(2, 8)),
            rng.choice(WORDS[:12] if number % 2 else WORDS[12:24]),
        ]
        lines.append(f"{('no', 'yes')[number % 2 ^ (number % 11 == 0)]} {' '.join(words)}")
    (folder / "films.txt").write_text("\n".join(lines) + "\n")
    for name, n in (("train.tsv", 60), ("test.tsv", 20)):
        sentences = [rng.choice(WORDS, 4).tolist() for _ in range(n)]
        tagged = ["".join(f"{word}\t{tag(word)}\n" for word in words) for words in sentences]
        (folder / name).write_text("\n".join(tagged))
    labels = [f"{word}\t{tag(word)}" for word in WORDS[::2]]
    (folder / "words.tsv").write_text("\n".join(["word\tlabel", *labels]) + "\n")
    return folder


def compared(run, named):
    """Return the first score of compare on a set."""
    config = CompareConfig(sets=(str(named),), baselines="none")
    [first, *_] = compare_opened(open_runs([run]), read_tasks(config), config).scores
    return first


def test_cross_validation_of_words_scores_as_compare_does(files):
    held_out = label_text(files / "run.vec", files / "words.tsv", WORDS).held_out
    score = compared(files / "run.vec", files / "words.tsv")
    assert (held_out.accuracy, held_out.low, held_out.high) == (score.score, score.low, score.high)
    assert held_out.majority == 0.5


def test_cross_validation_of_sentences_has_the_folds_and_probes_of_compare(files):
    [vectors] = open_runs([files / "run.vec"]).vectors.values()
    folds = read_folds(files / "films.txt", CompareConfig())
    right = [
        pooled.means[pooled.source].predictions == fold.labels[fold.places(TEST)]
        for fold, pooled in pool_sentences(vectors, folds)
    ]
    held_out = label_text(files / "run.vec", files / "films.txt", ["good1 dog2"]).held_out
    assert held_out.accuracy == np.concatenate(right).mean() < 1
    assert held_out.low < held_out.accuracy < held_out.high


def test_tokens_of_a_tagged_text_are_labeled_as_compare_scores_them(files, monkeypatch):
    monkeypatch.setattr(window, "_MAX_STEPS", 1)  # of another metric
    monkeypatch.setattr(window, "_MAX_EPOCHS", 1)
    found = label_text(files / "run.vec", files / "train.tsv", files / "test.tsv")
    score = compared(files / "run.vec", f"{files / 'train.tsv'},{files / 'test.tsv'}")
    given = [line.split("\t") for line in (files / "test.tsv").read_text().splitlines() if line]
    assert [row.text for row in found.rows] == [word for word, _ in given]
    right = [row.label == tag for row, (_, tag) in zip(found.rows, given, strict=True)]
    assert np.mean(right) == pytest.approx(score.score)
    assert [row.number for row in found.rows[:5]] == [1, 1, 1, 1, 2]
    assert found.held_out.items == 54 * 4  # a tenth of the sentences chooses the decay


def test_new_lines_have_a_row_each_and_unknown_ones_are_noted(files):
    lines = ["good1 dog1", "", "nothing known", "bad7 cat4 unheard"]
    found = label_text(files / "run.vec", files / "films.txt", lines)
    assert [row.text for row in found.rows] == lines
    assert [row.note for row in found.rows] == ["", "unknown", "unknown", ""]
    assert (found.rows[0].label, found.rows[3].label) == ("yes", "no")
    assert all(0.5 <= row.probability <= 1 for row in found.rows)
    unknown = {(row.label, row.probability) for row in found.rows if row.note}
    assert unknown == {("yes", round(61 / 120, 4))}  # its share of the labeled lines


def test_new_words_are_labeled_and_an_unknown_one_is_noted(files):
    found = label_text(files / "run.vec", files / "words.tsv", [*WORDS[1::2], "unheard"])
    right = [row.label == tag(row.text) for row in found.rows[:-1]]
    assert np.mean(right) > 0.8
    assert [row.text for row in found.rows if row.note] == ["unheard"]


@pytest.mark.parametrize("name", ["plain.txt", "text.conllu"])
def test_sentences_of_tokens_are_read_as_lines_or_conllu_and_written(files, tmp_path, name):
    lines = ["1\tgood1", "2\tdog1", "", "1\tcat3", ""]
    conllu = "\n".join(line and line + "\t_" * 8 for line in lines)
    text = {"plain.txt": "good1 dog1\n\ncat3\n", "text.conllu": conllu}[name]
    (tmp_path / name).write_text(text)
    out = tmp_path / "out.jsonl"
    label = ("label", files / "run.vec", "--train", files / "train.tsv")
    printed = json.loads(output(*label, "--apply", tmp_path / name, "--out", out, "--json"))
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    cells = [(row["text"], row["label"], row["number"]) for row in rows]
    assert cells == [("good1", "ADJ", 1), ("dog1", "NOUN", 1), ("cat3", "NOUN", 2)]
    assert [row["label"] for row in printed["rows"]] == ["ADJ", "NOUN", "NOUN"]


def test_standard_input_is_printed_as_lines_with_tabs(files):
    done = command(
        "label", files / "run.vec", "--train", files / "films.txt", "--apply", "-",
        input="good1 dog1\nbad1\n",
    )  # fmt: skip
    header, *rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert header == ["text", "label", "probability", "note", "number"]
    assert [row[1] for row in rows] == ["yes", "no"]
    assert "cross-validation: accuracy" in done.stderr


def test_a_probe_that_learned_nothing_is_reported(files, tmp_path):
    lines = [f"{'ab'[n % 2]} {WORDS[n % 7]} {WORDS[n % 5]} {n}" for n in range(60)]
    (tmp_path / "train.txt").write_text("\n".join(lines))
    done = command(
        "label", files / "run.vec", "--train", f"sentences={tmp_path / 'train.txt'}", "--apply",
        files / "films.txt",
    )  # fmt: skip
    assert "not surely better than always giving the most frequent label" in done.stderr


REFUSALS = (
    """
none.txt, a, none.txt: no such file
similarity=films.txt, a, `train=similarity=films.txt`: expected a kind of sentences, tagging, labels
plain.txt, a, plain.txt: contains 2 labels for 2 sentences, such as 'this'; expected lines of a \
label and a sentence, a table with a header, or JSON lines
one.tsv, a, one.tsv: a probe needs two labels or more in three sentences or more
several.tsv, a, several.tsv: a word has several labels; name one column, as FILE:COLUMN
vectorless.tsv, a, vectorless.tsv: a probe needs words of two labels that have vectors
films.txt, empty.txt, empty.txt: has no text to label; pass lines
""".replace("\\\n", "")
    .strip()
    .splitlines()
)


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(files, case, monkeypatch):
    monkeypatch.chdir(files)
    (files / "plain.txt").write_text("this is a line\nand another that is longer\n")
    (files / "one.tsv").write_text("a\tX\nb\tX\n\na\tX\n\nb\tX\n")
    (files / "several.tsv").write_text("word\tlabel\tlabel2\ngood1\ta\tb\nbad1\tb\tb\n")
    (files / "vectorless.tsv").write_text("word\tlabel\na\tX\nb\tY\ngood1\tX\n")
    (files / "empty.txt").write_text("\n")
    train, text, message = case.split(", ", 2)
    source = text if (files / text).exists() else [text]
    assert message_of(FirthError, label_text, "run.vec", train, source) == message


@pytest.mark.parametrize(
    "form", ["{label} {text}", "{text}\t{label}", '{{"text": "x", "label": "{label}"}}']
)
def test_labels_in_the_text_are_noted(files, tmp_path, form):
    labeled = [line.split(" ", 1) for line in (files / "films.txt").read_text().splitlines()]
    lines = [form.format(label=label, text=text) for label, text in labeled[:9]]
    for given, noted in ((lines, True), ([*lines, "dog1 good1", "{"], False)):
        (tmp_path / "text.txt").write_text("\n".join(given))
        done = command(
            "label", files / "run.vec", "--train", files / "films.txt", "--apply",
            tmp_path / "text.txt",
        )  # fmt: skip
        assert ("which are read as text" in done.stderr) is noted


def test_fine_tuning_needs_an_encoder(files):
    tune = LabelConfig(fine_tune=True)
    assert "run.vec: is a file" in message_of(
        ArtifactError, label_text, files / "run.vec", files / "films.txt", ["a"], tune
    )
