"""WordVectors: what is saved is what is opened, and damage is named."""

import json

import numpy as np
import pytest
import scipy.sparse

from corpora.artifacts import checksums, write_json
from corpora.errors import ArtifactError
from corpora.segment import TextSettings
from embed.onehot import one_hot
from embed.protocols import StaticVectors
from embed.vectors import WordVectors, load_vectors


def test_a_saved_run_opens_memory_mapped_and_equal(vectors, run):
    opened = load_vectors(run)
    assert isinstance(opened.matrix, np.memmap)
    assert np.array_equal(opened.matrix, vectors.matrix)
    assert opened.vocabulary == vectors.vocabulary
    assert np.array_equal(opened.counts, vectors.counts)
    assert opened.name == str(run)
    assert [opened.row(word) for word in ("the", "図書館", "The")] == [0, 7, None]


def test_a_sparse_run_opens_sparse(tmp_path):
    one_hot(["a", "b", "c"]).save(tmp_path)
    opened = load_vectors(tmp_path)
    assert scipy.sparse.issparse(opened.matrix)
    assert np.array_equal(opened.matrix.toarray(), np.eye(3))
    assert opened.counts is None


def test_word_vectors_keep_the_protocol(vectors):
    assert isinstance(vectors, StaticVectors)


def test_words_pass_through_the_text_settings_of_the_run(run):
    settings = TextSettings(keep_case=True).to_json()
    (run / "config.json").write_text(json.dumps({"text": settings}))
    opened = load_vectors(run)
    assert opened.text == TextSettings(keep_case=True)
    assert opened.words("Naïve men's") == ["Naïve", "men", "'", "s"]


def test_words_of_a_plain_file_are_as_written_then_lower_cased(vectors):
    assert vectors.words("The Paris PARIS KING Kong") == ["the", "Paris", "PARIS", "king", "Kong"]


def test_a_word_with_a_space_is_found_whole():
    vectors = WordVectors(["new york", "new"], np.eye(2, dtype=np.float32))
    assert vectors.words("new york") == ["new york"]
    assert vectors.words("york new") == ["york", "new"]


def test_a_word_with_a_space_is_found_lower_cased():
    vectors = WordVectors(["new york"], np.ones((1, 2), np.float32))
    assert vectors.words("New York") == ["new york"]


def test_words_must_fit_the_matrix():
    with pytest.raises(ArtifactError) as refusal:
        WordVectors(["a"], np.zeros((2, 3), np.float32), name="x")
    assert str(refusal.value) == "x: 1 words do not fit a matrix of shape (2, 3)"


def truncate(run):
    path = run / "vectors.npy"
    path.write_bytes(path.read_bytes()[:-4])
    return (
        "{run}/vectors.npy: is damaged (mmap length is greater than file size); make the run again"
    )


def wrong_kind(run):
    np.save(run / "vectors.npy", np.zeros((8, 4)))
    return "{run}/vectors.npy: holds float64 of shape (8, 4), expected a float32 matrix"


def pickled(run):
    np.save(run / "vectors.npy", np.array([{}], dtype=object), allow_pickle=True)
    why = "Array can't be memory-mapped: Python objects in dtype."
    return f"{{run}}/vectors.npy: is damaged ({why}); make the run again"


def shorter(run):
    np.save(run / "vectors.npy", np.zeros((7, 4), np.float32))
    return "{run}: 8 words do not fit a matrix of shape (7, 4)"


def no_matrix(run):
    (run / "vectors.npy").unlink()
    return "{run}: holds no vectors.npy; is it a finished run?"


def no_words(run):
    (run / "vocabulary.tsv").unlink()
    return "{run}/vocabulary.tsv: no such file; is {run} a finished run?"


def unfinished(run):
    (run / "maker.json").write_text("{}")
    return "{run}: is unfinished; run the command that was making it again"


def broken_zip(run):
    (run / "vectors.npy").unlink()
    (run / "vectors.npz").write_bytes(b"PK\x03\x04 and no more")
    return "{run}/vectors.npz: is damaged (File is not a zip file); make the run again"


def no_config(run):
    (run / "config.json").write_text("[]")
    return "{run}/config.json: is no configuration of a run; make the run again"


def no_text_settings(run):
    (run / "config.json").write_text('{"text": "words"}')
    return "{run}/config.json: is no configuration of a run; make the run again"


@pytest.mark.parametrize(
    "damage",
    [
        truncate, wrong_kind, pickled, shorter, no_matrix, no_words, unfinished, broken_zip,
        no_config, no_text_settings,
    ],
)  # fmt: skip
def test_a_damaged_run_is_refused(run, damage):
    message = damage(run)
    with pytest.raises(ArtifactError) as refusal:
        load_vectors(run)
    assert str(refusal.value) == message.format(run=run)


def test_a_changed_byte_is_found_where_all_is_read(run):
    write_json(run / "checksums.json", checksums(run))
    load_vectors(run, verified=True)
    matrix = run / "vectors.npy"
    matrix.write_bytes(matrix.read_bytes()[:-1] + b"\0")
    load_vectors(run)
    with pytest.raises(ArtifactError, match=r"vectors\.npy: the checksum differs"):
        load_vectors(run, verified=True)


def test_a_vocabulary_that_is_not_utf_8_is_refused_when_it_is_read(run):
    path = run / "vocabulary.tsv"
    path.write_bytes(path.read_bytes().replace(b"Paris", b"Par\xff"))
    vocabulary = load_vectors(run).vocabulary
    for read in (list, lambda words: words[5]):
        with pytest.raises(ArtifactError) as refusal:
            read(vocabulary)
        assert str(refusal.value) == f"{path}: is not UTF-8; make the run again"


def test_opening_a_run_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ArtifactError) as refusal:
        load_vectors(tmp_path / "none")
    assert str(refusal.value) == f"{tmp_path / 'none'}: no such run or vectors file"
    with pytest.raises(ArtifactError) as refusal:
        WordVectors.open(tmp_path)
    assert str(refusal.value) == (
        f"{tmp_path / 'vectors.npy'}: no such file; is {tmp_path} a finished run?"
    )
