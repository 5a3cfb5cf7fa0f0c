"""The pool command on a Hugging Face folder, compared with the run it was exported from."""

import json
import shutil

import numpy as np
import pytest

from firth.corpora.artifacts.artifact import verify
from firth.embed.contextual.encoders import open_encoder
from firth.embed.vectors.word_vectors import WordVectors
from firth.pretrain.huggingface.export import write_huggingface
from tests.calls import command, output, refusal
from tests.pretrain.small_run import small_run

transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a run of train-mlm, exported to ``bert`` beside it."""
    folder = tmp_path_factory.mktemp("made")
    write_huggingface(small_run(folder), folder / "bert")
    return folder


@pytest.fixture
def run(made, tmp_path):
    """The run, beside a copy of its export."""
    shutil.copytree(made / "bert", tmp_path / "bert")
    return made / "run"


def pool(run, folder, *arguments):
    """Pool the folder's ``bert`` over the text of its run."""
    common = ("--out", folder / "pooled", "--corpus", run.parent / "text.txt", "--min-count", 1)
    return output("pool", folder / "bert", *common, "--device", "cpu", *arguments)


def cosines(a, b):
    """Return cosines row by row."""
    units = [matrix / np.linalg.norm(matrix, axis=1, keepdims=True) for matrix in (a, b)]
    return (units[0] * units[1]).sum(axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--layers", "1,2", "--contexts-per-word", "2")])
def test_an_exported_run_pools_to_the_vectors_of_the_run(run, tmp_path, options):
    assert pool(run, tmp_path, *options) == f"{tmp_path / 'pooled'}: 37 words, 16 dimensions\n"
    own = ("--out", tmp_path / "own", "--min-count", 1, "--device", "cpu", "--source", "states")
    output("pool", run, *own, *options)
    ours, theirs = WordVectors.open(tmp_path / "own"), WordVectors.open(tmp_path / "pooled")
    assert list(ours.vocabulary) == list(theirs.vocabulary)
    assert cosines(ours.matrix, theirs.matrix).min() > 0.99999
    verify(tmp_path / "pooled")


@pytest.mark.slow
def test_pooled_input_embeddings_equal_those_read_without_transformers(run, tmp_path):
    pool(run, tmp_path, "--source", "input-embeddings")
    pooled = WordVectors.open(tmp_path / "pooled")
    listed = json.loads(output("similarity", tmp_path / "bert", "king", "queen", "--json"))
    rows = np.stack([pooled.vector(word) for word in ("king", "queen")])
    assert listed["cosine"] == pytest.approx(float(cosines(rows[:1], rows[1:])[0]), abs=1e-6)


def test_the_pooled_run_finds_its_encoder_for_words_in_context(run, tmp_path):
    pool(run, tmp_path)
    own = ("--out", tmp_path / "own", "--min-count", 1, "--device", "cpu", "--source", "states")
    output("pool", run, *own)
    asked = ("neighbors", "--context", "He cut the wood with a [saw]", "-k", 3, "--json")
    both = tmp_path / "own", tmp_path / "pooled"
    answers = [json.loads(output(*asked, where)) for where in both]
    for ours, theirs in zip(*([a["neighbors"] for a in answer] for answer in answers), strict=True):
        assert [n["neighbor"] for n in ours] == [n["neighbor"] for n in theirs]
    config = json.loads((tmp_path / "pooled" / "config.json").read_text())
    assert config["encoder_run"]["path"] == str(tmp_path / "bert")
    assert open_encoder(tmp_path / "pooled", "cpu").n_layers == 2
    asked = ("neighbors", tmp_path / "bert", "--context", "a [saw]")
    assert "not pooled from states; pass --layers to choose layers" in command(*asked).stderr
    output(*asked, "--layers", 0)


def test_a_changed_or_missing_folder_is_refused(run, tmp_path):
    pool(run, tmp_path)
    asked = ("pool", tmp_path / "pooled", "--out", tmp_path / "more", "--device", "cpu")
    weights = tmp_path / "bert" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    assert refusal(*asked).startswith(f"{tmp_path / 'bert'}: has changed since ")
    shutil.rmtree(tmp_path / "bert")
    assert refusal(*asked).startswith(f"{tmp_path / 'bert'}: missing, but ")


def test_a_corpus_is_required_and_the_folder_is_never_overwritten(run, tmp_path):
    folder = tmp_path / "bert"
    assert refusal("pool", folder, "--out", tmp_path / "pooled") == (
        f"{folder}: does not record its training corpus; pass --corpus"
    )
    corpus = ("--corpus", run.parent / "text.txt", "--force")
    before = sorted(path.name for path in folder.iterdir())
    refused = command("pool", folder, "--out", folder, *corpus)
    assert (refused.exit_code, str(folder) in refused.stderr) == (1, True)
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("keep_case", [False, True])
def test_a_lowercased_corpus_for_a_cased_model_prints_a_note(run, tmp_path, keep_case):
    path = tmp_path / "bert" / "tokenizer.json"
    described = json.loads(path.read_text())
    [bert] = [step for step in described["normalizer"]["normalizers"] if "lowercase" in step]
    bert["lowercase"] = False
    vocabulary = described["model"]["vocab"]
    vocabulary["The"] = vocabulary.pop("the")
    path.write_text(json.dumps(described))
    case = ["--keep-case"] if keep_case else []
    output("build-corpus", run.parent / "text.txt", "--out", tmp_path / "corpus", *case)
    common = ("--out", tmp_path / "pooled", "--min-count", 1, "--device", "cpu")
    result = command("pool", tmp_path / "bert", *common, "--corpus", tmp_path / "corpus")
    assert result.exit_code == 0, result.output
    note = (
        f"{tmp_path / 'corpus'}: lowercased, but the encoder is case-sensitive; build the corpus "
        "with --keep-case for better vectors\n"
    )
    assert (note in result.stderr) is not keep_case
    assert ("The" in WordVectors.open(tmp_path / "pooled").vocabulary) is keep_case
