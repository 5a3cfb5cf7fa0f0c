"""Labels of new text: as compare scores them, of unknown text too, and what is refused."""

import json

import numpy as np
import pytest

from firth import LabelConfig, label_text
from firth.corpora.common.errors import ArtifactError, FirthError, SettingError
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
    assert held_out.majority == pytest.approx(score.measured.chance, abs=0.02)


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
    assert found.right == score.score
    assert [row.sentence for row in found.rows[:5]] == [1, 1, 1, 1, 2]
    assert found.held_out.items == 54 * 4  # a tenth of the sentences chooses the decay


def test_new_lines_have_a_row_each_and_unknown_ones_are_noted(files):
    lines = ["good1 dog1", "", "nothing known", "bad7 cat4 unheard"]
    found = label_text(files / "run.vec", files / "films.txt", lines)
    assert [row.text for row in found.rows] == lines
    assert [row.note for row in found.rows] == ["", "unknown", "unknown", ""]
    assert (found.rows[0].label, found.rows[3].label) == ("yes", "no")
    assert found.unknown == 2
    assert all(row.probability + row.second_probability == pytest.approx(1) for row in found.rows)


def test_new_words_are_labeled_and_an_unknown_one_is_noted(files):
    found = label_text(files / "run.vec", files / "words.tsv", [*WORDS[1::2], "unheard"])
    right = [row.label == tag(row.text) for row in found.rows[:-1]]
    assert np.mean(right) > 0.8
    assert [row.text for row in found.rows if row.note] == ["unheard"]


@pytest.mark.parametrize("name", ["plain.txt", "tokens.txt", "text.conllu"])
def test_sentences_of_tokens_are_read_in_every_form(files, tmp_path, name):
    words = [["good1", "dog1"], ["cat3"]]
    text = {
        "plain.txt": "\n".join(map(" ".join, words)),
        "tokens.txt": "\n\n".join(map("\n".join, words)),
        "text.conllu": "\n\n".join(
            "\n".join(f"{n}\t{word}" + "\t_" * 8 for n, word in enumerate(each, 1))
            for each in words
        ),
    }[name]
    (tmp_path / name).write_text(text + "\n")
    out = tmp_path / "out.conllu"
    label = ("label", files / "run.vec", "--train", files / "train.tsv")
    printed = output(*label, "--apply", tmp_path / name, "--out", out, "--json")
    assert json.loads(printed)["right"] is None
    cut = [line.split("\t") for line in out.read_text().splitlines()]
    assert [cells[:4] for cells in cut] == [
        ["1", "good1", "_", "ADJ"],
        ["2", "dog1", "_", "NOUN"],
        [""],
        ["1", "cat3", "_", "NOUN"],
        [""],
    ]
    rest = output(*label, "--apply", out, "--json")
    assert json.loads(rest)["right"] == 1


def test_labeled_text_is_read_without_its_labels(files):
    found = label_text(files / "run.vec", files / "films.txt", files / "films.txt")
    assert not any(row.text.startswith(("yes", "no")) for row in found.rows)
    assert found.right == pytest.approx(found.held_out.accuracy, abs=0.1)


def test_a_corpus_or_standard_input_is_printed_as_lines_with_tabs(files):
    done = command(
        "label", files / "run.vec", "--train", files / "films.txt", "--apply", "-",
        input="good1 dog1\nbad1\n",
    )  # fmt: skip
    header, *rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert header == ["text", "label", "probability", "second", "second_probability", "note"]
    assert [row[1] for row in rows] == ["yes", "no"]
    assert "2 labels; cross-validation: accuracy" in done.stderr


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
none.txt, a, none.txt: no such file of labels
plain.txt, a, plain.txt: has no labels of sentences, tokens or words in a known form; name its \
kind, such as `sentences=plain.txt`
sentences=one.txt, a, one.txt: all 4 sentences have the label 'yes'; a probe needs at \
least two labels
one.tsv, a, one.tsv: has 1 label; a probe needs two labels and three sentences
several.tsv, a, several.tsv: a word has the labels 'a, b'; label prints one: name a column, as \
FILE:COLUMN
films.txt, test.tsv, test.tsv: has a token a line, and TRAIN sentences; pass lines of text
words.tsv, long.txt, long.txt:2: 'what a long line' is not a word, and TRAIN labels words; \
pass one a line
films.txt,films.txt,films.txt, a, `train=films.txt,films.txt,films.txt`: expected TRAIN or \
TRAIN,DEV; pass the test part as text
films.txt, empty.txt, empty.txt: has no text to label; pass lines
""".replace("\\\n", "")
    .strip()
    .splitlines()
)


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(files, case, monkeypatch):
    monkeypatch.chdir(files)
    (files / "plain.txt").write_text("this is a line\nand another that is longer\n")
    (files / "one.txt").write_text("yes a b c\nyes a b d\nyes a c d e\nyes b c d\n")
    (files / "one.tsv").write_text("a\tX\nb\tX\n\na\tX\n\nb\tX\n")
    (files / "several.tsv").write_text("word\tlabel\tlabel2\ngood1\ta\tb\nbad1\tb\tb\n")
    (files / "long.txt").write_text("a\nwhat a long line\n")
    (files / "empty.txt").write_text("\n")
    train, text, message = case.split(", ", 2)
    source = text if (files / text).exists() else [text]
    assert message_of(FirthError, label_text, "run.vec", train, source) == message


def test_fine_tuning_needs_an_encoder_and_text(files):
    tune = LabelConfig(fine_tune=True)
    assert "run.vec: is a file" in message_of(
        ArtifactError, label_text, files / "run.vec", files / "films.txt", ["a"], tune
    )
    assert "takes labeled sentences or tokens" in message_of(
        SettingError, label_text, files / "run.vec", files / "words.tsv", ["a"], tune
    )
