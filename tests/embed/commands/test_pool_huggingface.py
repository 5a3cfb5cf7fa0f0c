"""The pool command on a Hugging Face folder, compared with the run it was exported from."""

import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from firth import cli
from firth.corpora.artifacts.artifact import verify
from firth.embed.contextual.encoders import open_encoder
from firth.embed.vectors.word_vectors import WordVectors
from firth.pretrain.huggingface.export import write_huggingface
from tests.pretrain.small_run import TEXT, small_run

transformers = pytest.importorskip("transformers")


@pytest.fixture
def run(tmp_path):
    """A run of train-mlm, exported to ``bert`` beside it."""
    run = small_run(tmp_path)
    write_huggingface(run, tmp_path / "bert")
    return run


def invoke(*arguments):
    """Run one command."""
    return CliRunner().invoke(cli.main, [str(argument) for argument in arguments])


def pool(folder, *arguments):
    """Pool the folder's ``bert`` over the text of its run."""
    common = ("--out", folder / "pooled", "--corpus", folder / "text.txt", "--min-count", "1")
    return invoke("pool", folder / "bert", *common, "--device", "cpu", *arguments)


def cosines(a, b):
    """Return cosines row by row."""
    units = [matrix / np.linalg.norm(matrix, axis=1, keepdims=True) for matrix in (a, b)]
    return (units[0] * units[1]).sum(axis=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [(), ("--layers", "0"), ("--layers", "1,2", "--contexts-per-word", "2")]
)
def test_an_exported_run_pools_to_the_vectors_of_the_run(run, tmp_path, options):
    result = pool(tmp_path, *options)
    assert (result.exit_code, result.stdout) == (
        0,
        f"{tmp_path / 'pooled'}: 37 words, 16 dimensions\n",
    )
    own = ("--out", tmp_path / "own", "--min-count", "1", "--device", "cpu")
    assert invoke("pool", run, *own, "--source", "states", *options).exit_code == 0
    ours, theirs = WordVectors.open(tmp_path / "own"), WordVectors.open(tmp_path / "pooled")
    assert list(ours.vocabulary) == list(theirs.vocabulary)
    assert cosines(ours.matrix, theirs.matrix).min() > 0.99999
    verify(tmp_path / "pooled")


@pytest.mark.slow
def test_pooled_input_embeddings_equal_those_read_without_transformers(run, tmp_path):
    assert pool(tmp_path, "--source", "input-embeddings").exit_code == 0
    pooled = WordVectors.open(tmp_path / "pooled")
    listed = json.loads(invoke("similarity", tmp_path / "bert", "king", "queen", "--json").stdout)
    rows = np.stack([pooled.vector(word) for word in ("king", "queen")])
    assert listed["cosine"] == pytest.approx(float(cosines(rows[:1], rows[1:])[0]), abs=1e-6)


def test_the_pooled_run_finds_its_encoder_for_words_in_context(run, tmp_path):
    assert pool(tmp_path).exit_code == 0
    own = ("--out", tmp_path / "own", "--min-count", "1", "--device", "cpu", "--source", "states")
    assert invoke("pool", run, *own).exit_code == 0
    asked = ("neighbors", "--context", "He cut the wood with a [saw]", "-k", "3", "--json")
    both = tmp_path / "own", tmp_path / "pooled"
    answers = [json.loads(invoke(*asked, where).stdout) for where in both]
    for ours, theirs in zip(*([a["neighbors"] for a in answer] for answer in answers), strict=True):
        assert [n["neighbor"] for n in ours] == [n["neighbor"] for n in theirs]
    config = json.loads((tmp_path / "pooled" / "config.json").read_text())
    assert config["encoder_run"]["path"] == str(tmp_path / "bert")
    assert open_encoder(tmp_path / "pooled", "cpu").n_layers == 2


def refusal(result):
    """Return the error message of a failed command."""
    assert result.exit_code == 1, result.output
    return result.stderr.splitlines()[-1]


def test_a_changed_or_missing_folder_is_refused(run, tmp_path):
    assert pool(tmp_path).exit_code == 0
    asked = ("pool", tmp_path / "pooled", "--out", tmp_path / "more", "--device", "cpu")
    weights = tmp_path / "bert" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    assert refusal(invoke(*asked)) == (
        f"Error: {tmp_path / 'bert'}: has changed since {tmp_path / 'pooled'} was pooled from it; "
        "run firth pool again"
    )
    shutil.rmtree(tmp_path / "bert")
    assert refusal(invoke(*asked)) == (
        f"Error: {tmp_path / 'bert'}: missing, but {tmp_path / 'pooled'} was pooled from it; "
        "pass another run"
    )


def test_a_corpus_is_required_and_the_folder_is_never_overwritten(run, tmp_path):
    folder = tmp_path / "bert"
    assert refusal(invoke("pool", folder, "--out", tmp_path / "pooled")) == (
        f"Error: {folder}: does not record its training corpus; pass --corpus"
    )
    corpus = ("--corpus", tmp_path / "text.txt", "--force")
    before = sorted(path.name for path in folder.iterdir())
    assert str(folder) in refusal(invoke("pool", folder, "--out", folder, *corpus))
    assert sorted(path.name for path in folder.iterdir()) == before


def test_words_in_context_of_the_folder_itself_need_layers(run, tmp_path):
    asked = ("neighbors", tmp_path / "bert", "--context", "a [saw]")
    assert refusal(invoke(*asked)) == (
        f"Error: {tmp_path / 'bert'}: its vectors were not pooled from states; pass --layers to "
        "choose layers"
    )
    assert invoke(*asked, "--layers", "0").exit_code == 0


@pytest.mark.parametrize("keep_case", [False, True])
def test_a_lowercased_corpus_for_a_cased_model_prints_a_note(tmp_path, keep_case):
    write_cased(tmp_path)
    build = ["build-corpus", tmp_path / "text.txt", "--out", tmp_path / "corpus"]
    assert invoke(*build, *(["--keep-case"] if keep_case else [])).exit_code == 0
    common = ("--out", tmp_path / "pooled", "--min-count", "1", "--device", "cpu")
    result = invoke("pool", tmp_path / "bert", *common, "--corpus", tmp_path / "corpus")
    assert result.exit_code == 0, result.output
    note = (
        f"{tmp_path / 'corpus'}: lowercased, but the encoder is case-sensitive; build the corpus "
        "with --keep-case for better vectors\n"
    )
    assert (note in result.stderr) is not keep_case
    assert ("The" in WordVectors.open(tmp_path / "pooled").vocabulary) is keep_case


def write_cased(folder):
    """Write a text and a model whose tokenizer keeps case."""
    (folder / "text.txt").write_text(TEXT, encoding="utf-8")
    write_huggingface(small_run(folder), folder / "bert")
    path = folder / "bert" / "tokenizer.json"
    described = json.loads(path.read_text())
    described["normalizer"]["lowercase"] = False
    vocabulary = described["model"]["vocab"]
    vocabulary["The"] = vocabulary.pop("the")
    path.write_text(json.dumps(described))
