"""Example sentences of the report, read by the runs' encoders."""

import numpy as np
import pytest

import firth.embed.contextual.in_context
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.embed.compare.inputs.baselines import random_vectors
from firth.embed.compare.inputs.encoder_access import WithEncoder
from firth.embed.compare.report.examples import check_brackets, find_in_context, read_attention
from firth.embed.compare.scoring.open_runs import open_runs
from firth.embed.contextual.in_context import nearest_in_context
from firth.pretrain.inference.attention_weights import attend
from tests.embed.compare.refusals import message_of
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


def test_attention_ignores_the_brackets(run, opened, example):
    plain = example.replace("[", "").replace("]", "")
    expected = attend(run, plain)

    found = read_attention(opened, [example])

    assert list(found) == [str(run)]
    [read] = found[str(run)]
    assert (read.text, read.pieces) == (plain, expected.pieces)
    np.testing.assert_allclose(read.weights, expected.weights, atol=1e-6)
    np.testing.assert_allclose(read.weights.sum(axis=-1), 1.0, atol=1e-5)


def test_in_context_neighbors_match_firth_neighbors(run, opened, example):
    vectors = opened[str(run)].vectors

    found = find_in_context(opened, ["nothing marked", example], 3)

    assert found == {str(run): nearest_in_context(run, vectors, [example], 3)}
    assert find_in_context(opened, ["nothing marked"]) == {}


def test_runs_without_contents_give_a_reason(run, opened):
    def gone():
        raise ArtifactError("the encoder is gone")

    vectors = opened["static"]
    runs = {"mute": WithEncoder(vectors, object), "gone": WithEncoder(vectors, gone, (1,))}

    assert read_attention(runs, ["a"]) == {
        "mute": ["its encoder does not provide attention weights"],
        "gone": ["the encoder is gone"],
    }
    assert find_in_context(runs, ["[a]"]) == {
        "mute": ["its vectors are not averages of encoder states, so they cannot be compared"],
        "gone": ["the encoder is gone"],
    }


def test_an_unreadable_sentence_is_named_and_others_are_read(run, opened, example):
    long = " ".join(list(opened[str(run)].vocabulary) * 40)

    first, empty, too_long, last = read_attention(opened, [example, "", long, example])[str(run)]

    assert first.pieces == last.pieces
    np.testing.assert_array_equal(first.weights, last.weights)
    assert empty == "'': the sentence has no words; remove it"
    assert too_long.startswith(f"'{long[:59]}…': the sentence has ")
    assert too_long.endswith("the encoder reads at most 14; pass a shorter one")


def test_a_word_without_pieces_is_named_and_others_are_read(opened, run, example):
    nothing = "a [\u200b] b"

    found = find_in_context(opened, [nothing, example], 3)[str(run)]

    assert found[0] == f"{nothing!r} has no word in its brackets; write [word]"
    assert found[1:] == find_in_context(opened, [example], 3)[str(run)]
    assert len(found) == 3


def test_an_encoder_is_opened_once_for_all_examples(opened, run, example, monkeypatch):
    real = opened[str(run)]
    times = []

    def opening():
        times.append(1)
        return real.encoder

    monkeypatch.setattr(
        firth.embed.contextual.in_context, "open_encoder", lambda *_: pytest.fail("opened by path")
    )
    counted = {"run": WithEncoder(real.vectors, opening, real.layers)}

    read_attention(counted, [example, example])
    find_in_context(counted, [example, "[a]", example])

    assert times == [1]


@pytest.mark.parametrize("text", ["a [] b", "a [ ] b", "a [b", "b] [a]", "[[a]]"])
def test_empty_or_unbalanced_brackets_are_refused(text):
    assert (
        message_of(SettingError, check_brackets, ["fine [here]", text])
        == f"`example={text!r}`: brackets go around words; write [word]"
    )
