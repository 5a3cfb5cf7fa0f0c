"""Encoders that attend along the edges of trees: sentences with trees, and those without."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from firth.cli import main as cli
from firth.corpora.common.errors import SettingError
from firth.corpora.encoding.build import open_or_build
from firth.corpora.text.trees import ParsedSentence
from firth.corpora.tokenizer.pieces import CLS, MASK, SEP
from firth.embed.compare.datasets.tagged_words import read_tagged
from firth.embed.compare.tasks.tagging.inputs import state_inputs
from firth.embed.contextual.pooling import PoolConfig, pool_words
from firth.pretrain.data.batches import Rows
from firth.pretrain.huggingface.layouts import layout_problem
from tests.pretrain.small_run import TEXT, small_encoder, write_run
from tests.pretrain.small_training import conllu, random_heads, tree_corpus_of

ENCODER = small_encoder(attention_edges="tree:1", max_length=32)
RNG = np.random.default_rng(1)
SENTENCES = [ENCODER.words(sentence) for sentence in TEXT.replace("\n", " ").split(". ")]
SENTENCES = [sentence[:5] for sentence in SENTENCES if sentence]  # fit a row
NUMBERS = [random_heads(len(sentence), RNG) for sentence in SENTENCES]
NO_TREE = "this encoder attends along the edges of trees (`attention=tree:1`), and it is "


def parsed(words, numbers):
    """Return a sentence with its tree from the numbers of heads."""
    heads = [head - place if head else 0 for place, head in enumerate(numbers, 1)]
    return ParsedSentence(words, np.array(heads))


TREES = [*map(parsed, SENTENCES, NUMBERS)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A corpus of the sentences with other trees."""
    folder = tmp_path_factory.mktemp("corpus")
    return tree_corpus_of(folder, [" ".join(sentence) for sentence in SENTENCES] * 6)


@pytest.fixture(scope="module")
def run(corpus, tmp_path_factory):
    """A run of the encoder."""
    return write_run(tmp_path_factory.mktemp("run") / "run", ENCODER, corpus)


def naive_states(words, numbers, encoder=ENCODER, *, hide=None):
    """Return the last states of the words of one sentence, read alone with its tree."""
    row, owners = [CLS], [-1]
    for place, word in enumerate(words):
        pieces = encoder.pieces.split([word])[0].tolist()
        row += [MASK] * len(pieces) if place == hide else pieces
        owners += [place] * len(pieces)
    row, owners = torch.tensor([[*row, SEP]]), torch.tensor([*owners, -1])
    heads = torch.tensor(
        [numbers[owner] - 1 if owner >= 0 and numbers[owner] else -2 for owner in owners]
    )
    with torch.no_grad():
        rows = replace(Rows.whole(row), tree=torch.stack([owners, heads])[None])
        states = encoder.model.states(rows)[-1][0]
    return torch.stack([states[owners == place].mean(0) for place in range(len(words))]).numpy()


def test_words_are_encoded_with_the_trees_of_their_sentences():
    found = ENCODER.encode(TREES, [2])
    for states, words, numbers in zip(found, SENTENCES, NUMBERS, strict=True):
        np.testing.assert_allclose(states, naive_states(words, numbers), atol=1e-4)

    other = ENCODER.encode([parsed(SENTENCES[0], [0, 1, 2, 3, 4])], [2])[0]
    assert np.abs(other - found[0]).max() > 0.1


def test_masked_words_keep_their_edges():
    tokens = np.array([1, len(SENTENCES[0]) + 2])
    found = ENCODER.encode_masked(TREES, tokens, [2])
    for state, number, place in zip(found, (0, 1), (1, 2), strict=True):
        expected = naive_states(SENTENCES[number], NUMBERS[number], hide=place)[place]
        np.testing.assert_allclose(state, expected, atol=1e-4)


def test_windows_of_a_long_sentence_keep_the_edges_inside_them():
    """In a chain each state depends on two words each side, so that windows change nothing."""
    encoder = small_encoder(attention_edges="tree", positions="none")
    single = [word for word in encoder.words(TEXT) if encoder.n_pieces([word]) == 1]
    words = [*dict.fromkeys(single)][:4] * 8
    chain = parsed(words, range(len(words)))
    assert encoder.n_windows([chain])[0] > 2
    states = encoder.encode([chain], [2])[0]
    short = encoder.encode([parsed(words[:7], range(7))], [2])[0]
    np.testing.assert_allclose(states[8:12], states[16:20], atol=1e-4)
    np.testing.assert_allclose(states[:4], short[:4], atol=1e-4)


@pytest.mark.parametrize(
    "use",
    [
        lambda: ENCODER.encode(SENTENCES, [1]),
        lambda: ENCODER.encode([TREES[0], SENTENCES[1]], [1]),
        lambda: ENCODER.fill_mask("the [MASK] saw"),
        lambda: ENCODER.score(SENTENCES),
        lambda: ENCODER.attention(["saw"]),
    ],
    ids=["encode", "some", "fill", "score", "attention"],
)
def test_text_without_trees_is_refused(use):
    with pytest.raises(SettingError) as error:
        use()
    assert str(error.value).startswith(NO_TREE)
    assert "edges" in str(layout_problem(ENCODER.model.config))


def test_a_text_is_refused_before_it_is_encoded(run, tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    out = ["--out", str(tmp_path / "out.npz")]
    result = CliRunner().invoke(cli, ["encode", str(run), str(tmp_path / "text.txt"), *out])
    assert "the encoder attends along the edges of trees" in result.stderr
    assert not [*tmp_path.glob("out*"), *tmp_path.glob(".out*")]


@pytest.mark.slow
def test_a_comparison_without_trees_reads_the_vectors_of_words(run, tmp_path):
    (tmp_path / "pairs.jsonl").write_text('{"sentence_good": "the saw", "sentence_bad": "saw the"}')
    lines = [f"{word}\t{'X' if word < 'm' else 'Y'}" for sentence in SENTENCES for word in sentence]
    tagged = tmp_path / "tags.tsv"
    tagged.write_text("\n\n".join("\n".join(lines[at : at + 4]) for at in range(0, 60, 4)))
    sets = [str(tmp_path / "pairs.jsonl"), f"{tagged},{tagged}"]

    for _ in range(2):  # the second reads what the first one stored
        result = CliRunner().invoke(cli, ["compare", str(run), *sets, "--baselines", "none"])

        assert result.exit_code == 0, result.output
        reason = "its encoder needs dependency trees"
        assert f"run on tags: {reason}, so its static vectors are scored; trained" in result.output
        assert f"undefined: run on pairs: {reason}\n" in result.output
        assert "best on the development part" not in result.output


def test_a_corpus_without_trees_is_not_pooled(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    corpus = open_or_build(tmp_path / "text.txt")
    with pytest.raises(SettingError, match="keeps no heads of words, which the encoder needs"):
        pool_words(ENCODER, corpus, PoolConfig(source="states", min_count=1))


def test_sentences_with_trees_are_scored():
    assert np.isfinite(ENCODER.score(TREES)).all()


def test_words_are_pooled_with_the_trees_of_the_corpus(corpus):
    config = PoolConfig(source="states", layers="2", min_count=1, contexts_per_word=1000)

    vectors = pool_words(ENCODER, corpus, config).vectors

    view = corpus.view()
    sums = dict.fromkeys(vectors.vocabulary, 0.0)
    for (rows, offsets), heads in zip(view.shards(), view.heads(), strict=True):
        for start, stop in pairwise(offsets.tolist()):
            words = [view.words[row] for row in rows[start:stop]]
            distances = heads[start:stop]
            numbers = [n + head if head else 0 for n, head in enumerate(distances.tolist(), 1)]
            for word, state in zip(words, naive_states(words, numbers), strict=True):
                if word in sums:
                    sums[word] = sums[word] + state / view.counts[view.words.index(word)]
    for word, vector in zip(vectors.vocabulary, vectors.matrix, strict=True):
        np.testing.assert_allclose(vector, sums[word], atol=1e-4)


def test_tagging_reads_the_trees_of_its_files(tmp_path):
    path = tmp_path / "set.conllu"
    path.write_text("".join(map(conllu, SENTENCES, NUMBERS)))
    tagged = read_tagged(path)

    found = state_inputs(ENCODER, tagged.words, tagged.offsets, 2, heads=tagged.heads)

    expected = np.concatenate([*map(naive_states, SENTENCES, NUMBERS)])
    np.testing.assert_allclose(found.table[:-1, :-2], expected, atol=1e-4)
