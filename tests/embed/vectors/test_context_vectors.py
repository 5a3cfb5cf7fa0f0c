"""Context vectors of a run: opened, added, refused."""

import numpy as np
import pytest

from firth.corpora.common.errors import ArtifactError, SettingError
from firth.embed.compare.inputs.baselines import one_hot
from firth.embed.formats.vector_files import load_vectors
from firth.embed.vectors.context_vectors import with_contexts
from firth.embed.vectors.word_vectors import WordVectors


@pytest.fixture
def contexts(vectors, run):
    """Context vectors, written into the run."""
    contexts = np.random.default_rng(6).standard_normal(vectors.matrix.shape).astype(np.float32)
    np.save(run / "contexts.npy", contexts)
    return contexts


def test_the_sum_adds_each_words_own_context_vector(vectors, run, contexts):
    summed = with_contexts(load_vectors(run))
    assert np.array_equal(summed.matrix, vectors.matrix + contexts)
    assert summed.matrix.dtype == np.float32
    assert summed.vocabulary == vectors.vocabulary
    assert np.array_equal(summed.counts, vectors.counts)
    assert summed.name == str(run)
    found = load_vectors(run).contexts
    assert isinstance(found, np.memmap)
    assert np.array_equal(found, contexts)
    (run / "config.json").write_text('{"text": {"keep_case": true}}')
    assert with_contexts(load_vectors(run)).words("Paris") == ["Paris"]


def test_vectors_read_into_memory_keep_their_contexts(vectors, run, contexts):
    kept = load_vectors(run).in_memory("mine")
    assert kept.path is None
    assert np.array_equal(with_contexts(kept).matrix, vectors.matrix + contexts)


def test_vectors_without_a_run_have_no_contexts(vectors, run, contexts, tmp_path):
    (tmp_path / "sparse").mkdir()
    one_hot(["a"]).write(tmp_path / "sparse")
    for other in (vectors, load_vectors(tmp_path / "sparse"), with_contexts(load_vectors(run))):
        assert other.contexts is None
    assert load_vectors(run).path == run


def test_the_error_for_a_run_without_contexts_names_the_methods_with_them(run):
    with pytest.raises(SettingError) as refusal:
        with_contexts(load_vectors(run))
    assert str(refusal.value) == (
        f"`add_contexts`: {run} has no context vectors (contexts.npy); only runs of skip-gram and "
        "CBOW with negative sampling have them"
    )


def test_damaged_contexts_are_refused(run, contexts):
    path = run / "contexts.npy"
    np.save(path, contexts[:, :3])
    message = r"has float32 of shape \(8, 3\), expected float32 of shape \(8, 4\); train the run"
    with pytest.raises(ArtifactError, match=message):
        with_contexts(load_vectors(run))
    path.write_bytes(path.read_bytes()[:-4])
    message = r"contexts\.npy: is damaged .*; train the run again$"
    with pytest.raises(ArtifactError, match=message):
        _ = load_vectors(run).contexts
    np.save(path, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ArtifactError, match=message):
        _ = load_vectors(run).contexts


def test_contexts_are_added_in_a_single_dimension(tmp_path):
    WordVectors(["a"], np.array([[1]], np.float32)).write(tmp_path)
    np.save(tmp_path / "contexts.npy", np.array([[2]], np.float32))
    assert with_contexts(load_vectors(tmp_path)).matrix.tolist() == [[3.0]]
