"""Example sentences of the report: what the encoders of runs make of them."""

import numpy as np
import pytest

from corpora.errors import ArtifactError, SettingError
from embed.compare.contextual import WithEncoder
from embed.compare.opening import open_runs
from embed.compare.page_examples import find_in_context, read_attention, refuse_unmarked
from embed.in_context import nearest_in_context
from embed.onehot import random_vectors
from pretrain.attention_weights import attend
from tests.pretrain.small_run import small_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of train-mlm."""
    return small_run(tmp_path_factory.mktemp("examples"))


@pytest.fixture(scope="module")
def opened(run):
    """The run, and vectors without an encoder."""
    found = open_runs([str(run)])
    words = found.vectors[str(run)].vocabulary
    return found.vectors | {"static": random_vectors(words, 5, 1)}


@pytest.fixture(scope="module")
def example(opened):
    """A sentence with a marked word, marked twice."""
    one, two = next(iter(opened.values())).vocabulary[:2]
    return f"{one} [{two}] {one} [{two}]"


def test_attention_is_that_of_the_encoder_without_the_brackets(run, opened, example):
    plain = example.replace("[", "").replace("]", "")
    expected = attend(run, plain)

    found = read_attention(opened, [example])

    assert list(found) == [str(run)]
    [read] = found[str(run)]
    assert (read.text, read.pieces) == (plain, expected.pieces)
    np.testing.assert_allclose(read.weights, expected.weights, atol=1e-6)
    np.testing.assert_allclose(read.weights.sum(axis=-1), 1.0, atol=1e-5)


def test_words_in_context_are_those_of_firth_neighbors(run, opened, example):
    paths = dict.fromkeys(opened, run)
    vectors = opened[str(run)].vectors

    found = find_in_context(opened, paths, ["nothing marked", example], 3)

    assert found == {str(run): nearest_in_context(run, vectors, [example], 3)}
    assert find_in_context(opened, paths, ["nothing marked"]) == {}


def test_what_cannot_be_told_is_a_line(run, opened):
    def gone():
        raise ArtifactError("the encoder is gone")

    vectors = opened["static"]
    runs = {"mute": WithEncoder(vectors, object), "gone": WithEncoder(vectors, gone, (1,))}

    assert read_attention(runs, ["a"]) == {
        "mute": "its encoder does not give its attention weights",
        "gone": "the encoder is gone",
    }
    found = find_in_context(runs, dict.fromkeys(runs, run), ["[a]"])
    assert (
        found["mute"] == "its vectors are no means of its states, so that nothing is near to both"
    )


def test_a_sentence_that_is_too_long_is_a_line(run, opened):
    long = " ".join(list(opened[str(run)].vocabulary) * 40)
    told = read_attention(opened, [long])[str(run)]
    assert told.startswith("the sentence has ")
    assert told.endswith(" at once; give a shorter one")


@pytest.mark.parametrize("text", ["a [] b", "a [ ] b", "a [b", "b] [a]", "[[a]]"])
def test_brackets_that_mark_nothing_are_refused(text):
    with pytest.raises(SettingError) as refused:
        refuse_unmarked(["fine [here]", text])
    assert str(refused.value) == f"--example {text!r}: brackets go around words; write [word]"
