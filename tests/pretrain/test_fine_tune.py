"""Fine-tuning learns what a probe of fixed states may not, the same at each run."""

import json

import numpy as np
import pytest

from firth.embed.contextual.encoders import open_encoder
from firth.pretrain.fine_tune import fine_tune
from tests.calls import command, output
from tests.pretrain.small_run import small_run

WORDS = ["saw", "king", "river", "old", "axe"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return small_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def labeled():
    """Sentences labeled by whether *saw* comes before *king*."""
    rng = np.random.default_rng(1)
    sentences = [rng.permutation(WORDS).tolist() for _ in range(300)]
    labels = np.array([words.index("saw") < words.index("king") for words in sentences], int)
    return sentences, labels


def tuned(run, labeled, **options):
    sentences, labels = labeled
    known = np.where(np.arange(len(sentences)) < 240, labels, -1)
    chosen = {"n_labels": 2, "epochs": 12, "seed": 1, **options}
    return fine_tune(open_encoder(run), sentences, [len(WORDS)] * len(sentences), known, **chosen)


def test_it_learns_order_and_gives_the_same_bytes(run, labeled):
    scores = tuned(run, labeled)
    assert scores.shape == (300, 2)
    # 60 held-out sentences; by chance with less than 1e-4
    assert (scores.argmax(axis=1) == labeled[1])[240:].mean() > 0.75
    assert scores.tobytes() == tuned(run, labeled).tobytes()
    assert scores.tobytes() != tuned(run, labeled, seed=2).tobytes()


def test_tokens_have_scores_of_their_own(run, labeled):
    sentences, _ = labeled
    words = [word for sentence in sentences for word in sentence]
    labels = np.array([WORDS.index(word) for word in words])
    options = {"n_labels": 5, "epochs": 4, "seed": 1}
    scores = fine_tune(open_encoder(run), sentences, [1] * len(words), labels, **options)
    assert (scores.argmax(axis=1) == labels).mean() > 0.9


def test_the_command_compares_it_with_the_probe(run, labeled, tmp_path):
    lines = [f"{'ab'[n]} {' '.join(words)}" for words, n in zip(*labeled, strict=True)][:100]
    (tmp_path / "train.txt").write_text("\n".join(lines))
    printed = output(
        "label", run, "--train", f"sentences={tmp_path / 'train.txt'}", "--apply", "-",
        "--fine-tune", "--epochs", 1, "--json", input="saw old king\n\u2603\n",
    )  # fmt: skip
    found = json.loads(printed)
    assert found["tuned"]["items"] == found["probe"]["items"] >= 7
    assert found["difference"]["difference"] == pytest.approx(
        found["tuned"]["accuracy"] - found["probe"]["accuracy"]
    )
    assert 0 < found["difference"]["p"] <= 1
    assert found["rows"][0]["label"] in {"a", "b"}
    assert [row["note"] for row in found["rows"]] == ["", "unknown"]


def test_words_of_a_list_are_refused(run, tmp_path):
    words = tmp_path / "words.tsv"
    lines = [f"{word}\t{'ab'[number % 2]}" for number, word in enumerate(WORDS)]
    words.write_text("\n".join(["word\tlabel", *lines]))
    done = command("label", run, "--train", words, "--apply", words, "--fine-tune")
    assert "--fine-tune takes labeled sentences or tokens, not a list of words" in done.stderr
