"""neighbors --context: different neighbors for the same word in two places."""

import json

import numpy as np
import pytest

from firth.corpora.common.errors import SettingError
from firth.embed.contextual.in_context import nearest_in_context
from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import command, output, refusal
from tests.pretrain.small_run import small_corpus, small_encoder, small_run, write_run

CONTEXT = "He [saw] the old [saw]."
WITHOUT = "--context cannot be combined with --add-contexts or --skip-unknown"
WORDS = ["he", "saw", "the", "old", "saw", "."]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of train-mlm whose vectors are means of states."""
    folder = tmp_path_factory.mktemp("context")
    corpus = small_corpus(folder)
    return str(write_run(folder / "run", small_encoder(seed=4), corpus, source="states"))


def by_hand(run, layers, place, k):
    """Return cosines of one occurrence with all static vectors, without the word itself."""
    [states] = small_encoder(seed=4).encode([WORDS], layers)
    vectors, state = WordVectors.open(run), states[place]
    matrix = np.array(vectors.matrix, dtype=np.float64)
    cosines = matrix @ state / np.linalg.norm(matrix, axis=1) / np.linalg.norm(state)
    best = [row for row in np.argsort(-cosines) if vectors.vocabulary[row] != WORDS[place]][:k]
    return [(vectors.vocabulary[row], pytest.approx(cosines[row], abs=1e-5)) for row in best]


def test_each_bracketed_word_is_queried_in_the_layers_of_the_runs_vectors(run):
    found = json.loads(output("neighbors", run, "--context", CONTEXT, "-k", 4, "--json"))
    assert [answer["context"] for answer in found] == [CONTEXT] * 2
    assert [answer["word"] for answer in found] == ["saw", "saw"]
    for answer, place in zip(found, (1, 4), strict=True):
        pairs = [(n["neighbor"], n["cosine"]) for n in answer["neighbors"]]
        assert pairs == by_hand(run, (1, 2), place, 4)
    assert found[0]["neighbors"] != found[1]["neighbors"]


def test_joined_vectors_are_queried_by_joined_ones_of_the_masked_word(tmp_path):
    run = small_run(tmp_path, seed=4)
    answers = nearest_in_context(run, WordVectors.open(run), [CONTEXT], 4)

    vectors, encoder = WordVectors.open(run), small_encoder(seed=4)
    again = nearest_in_context(run, vectors.in_memory(), [CONTEXT], 4)
    assert [answer.neighbors for answer in again] == [answer.neighbors for answer in answers]
    matrix, [pieces] = np.array(vectors.matrix), encoder.n_pieces(["saw"])
    for answer, place in zip(answers, (1, 4), strict=True):
        [masked] = encoder.encode_masked([WORDS], np.array([place]), (2,))
        masked -= np.load(run / "centers.npy")[min(pieces, 4) - 1]
        own = encoder.input_embeddings(["saw"])[0]  # the run started at random
        query = np.concatenate([own / np.linalg.norm(own), 0.7 * masked / np.linalg.norm(masked)])
        expect(answer, vectors, matrix, query)
    with pytest.raises(SettingError, match="`layers=1`: the vectors of"):
        nearest_in_context(run, vectors, [CONTEXT], layers="1")


def expect(answer, vectors, matrix, query):
    """Hold that an answer is the nearest words of a query, without *saw* itself."""
    cosines = matrix @ query / np.linalg.norm(matrix, axis=1) / np.linalg.norm(query)
    cosines[vectors.row("saw")] = -1
    best = np.argsort(-cosines)[:4]
    assert [each.word for each in answer.neighbors] == [vectors.vocabulary[b] for b in best]
    scores = [each.score for each in answer.neighbors]
    np.testing.assert_allclose(scores, cosines[best], atol=1e-5)


def test_a_bracket_changes_no_other_answer_and_masked_vectors_are_queried_masked(tmp_path):
    corpus, encoder = small_corpus(tmp_path), small_encoder(seed=4)
    run = write_run(tmp_path / "run", encoder, corpus, source="masked")
    vectors, words = WordVectors.open(run), ["he", "saw", *["the", "old"] * 4, "saw", "it"]
    one, two = " ".join(words).split("saw", 1)[0], " ".join(words[2:])
    alone = nearest_in_context(run, vectors, [f"{one}[saw] {two}"], 4)
    both = nearest_in_context(run, vectors, [f"{one}[saw] {two.replace('saw', '[saw]')}"], 4)
    assert alone[0].neighbors == both[0].neighbors
    assert len(both) == 2
    [masked] = encoder.encode_masked([words], np.array([1]), (2,))
    expect(alone[0], vectors, np.array(vectors.matrix), masked)


def test_layers_can_be_chosen(run):
    words = ("--context", CONTEXT, "--layers", "2", "--json")
    [first, _] = json.loads(output("neighbors", run, *words))
    assert [(n["neighbor"], n["cosine"]) for n in first["neighbors"]] == by_hand(run, (2,), 1, 10)


def test_only_several_answers_are_numbered(run):
    lines = output("neighbors", run, "--context", CONTEXT, "--context", "an [axe]", "-k", 1)
    assert [line.split()[:2] for line in lines.splitlines()] == [
        ["saw", "[1]"], ["saw", "[2]"], ["axe", "[3]"],
    ]  # fmt: skip
    one = output("neighbors", run, "--context", "an [axe] .", "-k", 2).splitlines()
    assert [line.split()[:2] for line in one] == [["axe", "1"], ["axe", "2"]]


def test_unknown_words_and_phrases_have_neighbors_in_context(run):
    found = json.loads(
        output("neighbors", run, "--context", "the [Zebra] saw [the king]", "--json")
    )
    assert [answer["word"] for answer in found] == ["zebra", "the king"]
    assert all(len(answer["neighbors"]) == 10 for answer in found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--context", "I saw a saw"],
            "'I saw a saw' has no word in brackets; write [word] around the one to query",
        ),
        (["--context", "I [ ] a saw"], "'I [ ] a saw' has no word in its brackets; write [word]"),
        (["--context", "[caf\udce9]"], r"'caf\udce9' is not UTF-8; pass UTF-8"),
        (
            ["--context", "[I]", "--layers", ""],
            "--layers : expected comma-separated numbers like 0,1, or auto",
        ),
        (
            ["--context", "[I]", "--layers", "7"],
            "--layers 7: no layer 7; the encoder has layers 0 (embeddings) to 2",
        ),
        (["king", "--context", "[I]"], "--context cannot be combined with WORDs"),
        (["--add-contexts", "--context", "[I]"], WITHOUT),
        (["--skip-unknown", "--context", "[I]"], WITHOUT),
        (["king", "--layers", ""], "--layers requires --context"),
    ],
)
def test_invalid_contexts_and_conflicting_options_are_refused(run, arguments, message):
    result = command("neighbors", run, *arguments)
    assert result.exit_code == 1 + (" requires " in message or "combined" in message)
    assert result.stderr.splitlines()[-1] == f"Error: {message}"


def test_runs_of_input_embeddings_need_layers(run, tmp_path):
    out, asked = tmp_path / "looked-up", ("--context", "an [axe]")
    output("pool", run, "--out", out, "--source", "input-embeddings", "--min-count", 1)
    assert refusal("neighbors", out, *asked) == (
        f"{out}: its vectors were not pooled from states; pass --layers to choose layers"
    )
    output("neighbors", out, *asked, "--layers", 1)
