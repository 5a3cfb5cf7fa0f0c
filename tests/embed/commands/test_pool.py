"""The pool command: the runs it makes and the encoders they refer to."""

import json
import shutil
from itertools import pairwise

import numpy as np
import pytest

from firth.corpora.artifacts.artifact import fingerprint, read_json, verify, write_json
from firth.corpora.store.corpus import Corpus
from firth.embed.contextual.encoders import open_encoder
from firth.embed.runs.run import Run
from firth.embed.vectors.word_vectors import WordVectors
from firth.pretrain.config import MlmConfig
from firth.pretrain.train import make_mlm_run
from tests import calls
from tests.calls import command
from tests.pretrain.small_run import small_encoder, small_run
from tests.pretrain.small_training import SMALL, corpus_of


@pytest.fixture
def run(tmp_path):
    """A run of train-mlm."""
    return small_run(tmp_path)


def words_of(run, out, *words):
    """Return the words of a command."""
    return ["pool", run, "--out", out, "--min-count", 1, "--device", "cpu", *words]


def invoke(*words):
    """Run one command."""
    return command(*words_of(*words))


def refusal(*words):
    """Return the error of one command."""
    return calls.refusal(*words_of(*words))


def config_of(run):
    """Return the config of a run."""
    return json.loads((run / "config.json").read_text())


def sentences_of(corpus):
    """Return the training sentences of a corpus as words."""
    view = Corpus.open(corpus).view()
    return [
        [view.words[row] for row in rows[a:b]]
        for rows, offsets in view.shards()
        for a, b in pairwise(offsets)
    ]


def test_a_pooled_run_has_vectors_and_names_encoder_corpus_and_layers(run, tmp_path):
    out = tmp_path / "pooled"
    result = invoke(run, out, "--source", "states", "--layers", "2", "--contexts-per-word", "1000")
    assert (result.exit_code, result.stdout) == (0, f"{out}: 37 words, 16 dimensions\n")
    verify(out)
    config, vectors = config_of(out), WordVectors.open(out)
    assert config["method"] == "pool"
    assert config["encoder_run"]["path"] == str(run)
    assert Run.open(out).corpus().fingerprint == Run.open(run).corpus().fingerprint
    assert config["pooling"]["layers"] == [2]
    assert "." not in vectors.vocabulary

    sentences = sentences_of(Run.open(out).corpus().path)
    assert any("." in sentence for sentence in sentences)
    states = small_encoder().encode(sentences, (2,))
    found = [s[i] for words, s in zip(sentences, states, strict=True)
             for i, word in enumerate(words) if word == "saw"]  # fmt: skip
    assert len(found) == 7
    np.testing.assert_allclose(vectors.vector("saw"), np.mean(found, axis=0), atol=1e-5)


def test_masked_words_are_the_mean_of_what_their_contexts_say(run, tmp_path):
    out = tmp_path / "pooled"
    options = ("--source", "masked", "--layers", "2", "--contexts-per-word", "1000")
    assert invoke(run, out, *options).exit_code == 0
    sentences = sentences_of(Run.open(out).corpus().path)
    vectors = WordVectors.open(out)
    words = np.array([word for sentence in sentences for word in sentence])
    tokens = np.flatnonzero([word in vectors for word in words.tolist()])
    states = small_encoder().encode_masked(sentences, tokens, (2,))
    saws = states[words[tokens] == "saw"]
    assert len(saws) == 7
    np.testing.assert_allclose(vectors.vector("saw"), saws.mean(axis=0), atol=1e-5)


def test_the_defaults_give_the_vectors_of_the_run_itself(run, tmp_path):
    assert invoke(run, tmp_path / "pooled").exit_code == 0
    assert (tmp_path / "pooled/vectors.npy").read_bytes() == (run / "vectors.npy").read_bytes()


def test_input_embeddings_are_looked_up(run, tmp_path):
    assert invoke(run, tmp_path / "pooled", "--source", "input-embeddings").exit_code == 0
    vectors = WordVectors.open(tmp_path / "pooled")
    expected = small_encoder().input_embeddings(list(vectors.vocabulary))
    np.testing.assert_allclose(vectors.matrix, expected, atol=1e-6)


def test_a_run_pooled_from_a_pooled_run_refers_to_the_encoders_run(run, tmp_path):
    assert invoke(run, tmp_path / "one", "--layers", "2").exit_code == 0
    assert invoke(tmp_path / "one", tmp_path / "two").exit_code == 0
    assert (tmp_path / "two/vectors.npy").read_bytes() == (run / "vectors.npy").read_bytes()
    assert config_of(tmp_path / "two")["encoder_run"] == config_of(tmp_path / "one")["encoder_run"]
    assert config_of(tmp_path / "two")["encoder_run"]["path"] == str(run)
    shutil.rmtree(tmp_path / "one")
    assert open_encoder(tmp_path / "two", "cpu").name == str(run)


def test_a_chain_of_pooled_runs_leads_to_the_encoder(run, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    for out in (one, two):
        assert invoke(run, out).exit_code == 0
    config = config_of(two)
    mark = fingerprint(json.loads((one / "checksums.json").read_text()))
    config["encoder_run"] = {"path": str(one), "fingerprint": mark}
    (two / "config.json").write_text(json.dumps(config))
    assert open_encoder(two, "cpu").name == str(run)


def test_unknown_words_are_left_out_with_a_note(run, tmp_path):
    (tmp_path / "other.txt").write_text("The 図書館 saw the king. The king saw ひらがな.\n")
    result = invoke(run, tmp_path / "pooled", "--corpus", str(tmp_path / "other.txt"))
    assert result.exit_code == 0
    assert result.stdout == f"{tmp_path / 'pooled'}: 3 words, 32 dimensions\n"
    vectors = WordVectors.open(tmp_path / "pooled")
    assert sorted(vectors.vocabulary) == ["king", "saw", "the"]
    unknown = config_of(tmp_path / "pooled")["pooling"]["unknown"]
    assert unknown > 1
    note = f"{unknown} words unknown to the encoder get no vector, for example "
    assert [line for line in result.stderr.splitlines() if line.startswith(note)]


def test_a_corpus_that_moved_must_be_given(run, tmp_path):
    made = read_json(run / "provenance.json")
    moved, gone = tmp_path / "moved", tmp_path / "gone"
    shutil.copytree(made["corpus_path"], moved)
    write_json(run / "provenance.json", {**made, "corpus_path": str(gone)})
    assert refusal(run, tmp_path / "pooled") == (
        f"{run}: its corpus {gone} (checksum {made['corpus']}) was not found; pass --corpus"
    )
    assert invoke(run, tmp_path / "pooled", "--corpus", str(moved)).exit_code == 0
    assert Run.open(tmp_path / "pooled").corpus().path == moved


def test_a_changed_corpus_is_refused(run, tmp_path):
    made = read_json(run / "provenance.json")
    write_json(run / "provenance.json", {**made, "corpus": "0" * 16})
    assert refusal(run, tmp_path / "pooled") == (
        f"{run}: its corpus {made['corpus_path']} (checksum {'0' * 16}) has changed; pass --corpus"
    )


def test_a_corpus_with_other_text_settings_is_refused(run, tmp_path):
    config = config_of(run)
    config["text"]["keep_case"] = True
    (run / "config.json").write_text(json.dumps(config))
    error = refusal(run, tmp_path / "pooled")
    assert "splits text into words by {'keep_case': False," in error
    assert error.endswith("build the corpus again with the same options")


def test_a_changed_or_missing_encoder_is_refused(run, tmp_path):
    assert invoke(run, tmp_path / "pooled").exit_code == 0
    checksums = (run / "checksums.json").read_text()
    (run / "checksums.json").write_text(checksums.replace("a", "b", 1))
    assert refusal(tmp_path / "pooled", tmp_path / "more") == (
        f"{run}: has changed since {tmp_path / 'pooled'} was pooled from it; run firth pool again"
    )
    shutil.rmtree(run)
    assert refusal(tmp_path / "pooled", tmp_path / "more") == (
        f"{run}: missing, but {tmp_path / 'pooled'} was pooled from it; pass another run"
    )
    assert not (tmp_path / "more").exists()


@pytest.mark.slow
@pytest.mark.parametrize("through", ["run", "link", "pooled"])
def test_the_encoders_own_run_is_not_overwritten_even_with_force(run, tmp_path, through):
    assert invoke(run, tmp_path / "pooled").exit_code == 0
    (tmp_path / "link").symlink_to(run)
    out = tmp_path / "link" if through == "link" else run
    assert refusal(tmp_path / through, out, "--force") == (
        f"--out {out}: contains the encoder and would be overwritten; choose another"
    )
    verify(run)
    assert open_encoder(run, "cpu").n_layers == 2


def test_a_pooled_run_can_overwrite_itself(run, tmp_path):
    pooled = tmp_path / "pooled"
    assert invoke(run, pooled).exit_code == 0
    assert invoke(pooled, pooled, "--layers", "2", "--force").exit_code == 0
    assert config_of(pooled)["pooling"]["layers"] == [2]
    assert open_encoder(pooled, "cpu").n_layers == 2


def test_impossible_settings_leave_nothing_behind(run, tmp_path):
    before = sorted(tmp_path.iterdir())
    assert refusal(run, tmp_path / "pooled", "--layers", "9") == (
        "--layers 9: no layer 9; the encoder has layers 0 (embeddings) to 2"
    )
    assert refusal(run, run) == f"{run}: already exists; choose another --out or pass --force"
    assert sorted(tmp_path.iterdir()) == before


# ---- after real training, which records its corpus


@pytest.fixture(scope="module")
def chains(tmp_path_factory):
    """A corpus of chains of words, a tenth held out."""
    return corpus_of(tmp_path_factory.mktemp("corpus"))


@pytest.mark.slow
@pytest.mark.parametrize("sampled", [False, True])
def test_a_trained_run_is_pooled_over_its_text_as_training_itself_pooled(chains, tmp_path, sampled):
    text = chains.sample(1_000, seed=3) if sampled else chains
    run = make_mlm_run(text, MlmConfig(**{**SMALL, "steps": 2}), tmp_path / "run")
    result = invoke(run, tmp_path / "pooled")
    assert result.stdout == f"{tmp_path / 'pooled'}: 40 words, 56 dimensions\n"
    verify(tmp_path / "pooled")
    for made in (run, tmp_path / "pooled"):
        assert Run.open(made).corpus().fingerprint == text.fingerprint
    pooled, trained = WordVectors.open(tmp_path / "pooled"), WordVectors.open(run)
    assert list(pooled.vocabulary) == list(trained.vocabulary)
    assert pooled.matrix.tobytes() == trained.matrix.tobytes()
    assert pooled.counts.sum() == text.training_tokens
    pooling = config_of(tmp_path / "pooled")["pooling"]
    assert {**pooling, "dtype": "float32"} == config_of(run)["pooling"]
