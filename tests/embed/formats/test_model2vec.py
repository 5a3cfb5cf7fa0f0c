"""Exported Model2Vec folders: tokenizer and rows give the vectors of sentences; the card."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from firth.corpora.artifacts.artifact import CHECKSUMS, fingerprint, read_json, write_json
from firth.corpora.common.errors import ArtifactError
from firth.corpora.text.segment import TextSettings
from firth.embed.contextual.sif import SentenceVectors
from firth.embed.formats.vector_files import load_vectors, write_vectors
from firth.embed.runs.writer import new_run
from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import command

WORDS = ["the", "a", "é", "zoë", ",", "don", "t", "zero"]
MATRIX = np.random.default_rng(2).normal(size=(8, 3)).astype(np.float32)
MATRIX[-1] = 0
COUNTS = np.array([50, 40, 8, 7, 30, 3, 2, 1])
LINES = ["The zoë, é!", "don't a 图 unknown", "zero THE", "x", "Abé the"]


@pytest.fixture
def run(tmp_path):
    """A run that keeps what lines have in common."""
    with new_run(tmp_path / "run", {"command": "made"}) as made:
        WordVectors(WORDS, MATRIX, counts=COUNTS).write(made.path)
        made.describe("svd", {}, TextSettings(), corpus="none", text={"tokens": 141})
    write_json(tmp_path / "run" / "sif.json", {"source": "lines", "common": [0.6, 0.0, 0.8]})
    return load_vectors(tmp_path / "run")


def encoded(folder, lines):
    """Return what the library makes of lines: means of the rows of their ids, 0 without any."""
    rows = load_file(folder / "model.safetensors")["embeddings"]
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    ids = [each.ids for each in tokenizer.encode_batch(lines, add_special_tokens=False)]
    return [rows[each].mean(axis=0) if each else np.zeros(3) for each in ids]


def test_means_of_rows_are_sentence_vectors(run, tmp_path):
    done = command("export", run.path, "--sif", "--format", "model2vec", tmp_path / "out")
    assert done.exit_code == 0, done.stderr
    expected = SentenceVectors.open(run).encode(LINES)
    np.testing.assert_allclose(encoded(tmp_path / "out", LINES), expected, atol=1e-6)
    assert not expected[3].any()
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert (config["model_type"], config["hidden_dim"], config["max_length"]) == (
        "model2vec", 3, None,
    )  # fmt: skip


def test_words_have_their_own_vectors_and_are_read_again(run, tmp_path):
    write_vectors(run, tmp_path / "out", "model2vec")
    np.testing.assert_array_equal(encoded(tmp_path / "out", WORDS[:-1]), MATRIX[:-1])
    read = load_vectors(tmp_path / "out")
    assert list(read.vocabulary) == WORDS[:-1]  # a zero vector has no row
    np.testing.assert_array_equal(read.matrix, MATRIX[:-1])


def test_the_card_has_the_making_and_the_scores_of_comparisons_beside_the_run(run, tmp_path):
    ours = fingerprint(read_json(run.path / CHECKSUMS))
    result = {"run": "r", "dataset": "sts", "metric": "spearman", "score": 0.5, "low": 0.4,
              "high": 0.6, "items_used": 1500, "shared_items": True}  # fmt: skip
    baseline = {**result, "run": "one-hot", "score": 0.3, "low": None}
    document = {
        "runs": [{"run": "r", "fingerprint": ours}, {"run": "one-hot", "fingerprint": None}],
        "results": [result, baseline, {**result, "run": "other"}],
    }
    for name, content in {
        "a": document,
        "b": {"damaged": 1},
        "c": {**document, "runs": []},
    }.items():
        (tmp_path / name).mkdir()
        write_json(tmp_path / name / "comparison.json", content)
    write_vectors(run, tmp_path / "out", "model2vec")
    card = (tmp_path / "out" / "README.md").read_text()
    assert "- method: svd\n" in card
    assert "- tokens: 141\n" in card
    assert f"## Scores of the run {run.path.name}\n" in card
    assert card.splitlines()[-2:] == [
        "| sts | spearman | r | 0.500 [0.400 0.600] | 1,500 |",
        "| sts | spearman | one-hot | 0.300 | 1,500 |",
    ]


def test_what_a_tokenizer_cannot_say_is_refused(tmp_path):
    lemmas = WordVectors(["a"], np.ones((1, 2), np.float32), text=TextSettings(lemmatize="en"))
    with pytest.raises(ArtifactError, match="the words of the corpus are lemmas"):
        write_vectors(lemmas, tmp_path / "out", "model2vec")
    marked = WordVectors(["▁a"], np.ones((1, 2), np.float32))
    with pytest.raises(ArtifactError, match="format model2vec cannot hold the word '▁a'"):
        write_vectors(marked, tmp_path / "out", "model2vec")
    assert not (tmp_path / "out").exists()
