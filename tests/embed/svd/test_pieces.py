"""train-svd --pieces: the text as pieces, and words as means of their pieces."""

from itertools import pairwise

import numpy as np
import pytest

from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.tokenizer.json_format import open_pieces
from firth.corpora.tokenizer.pieces import FIRST_PIECE, UNK, learn_pieces
from firth.embed.svd.piece_text import PieceText
from firth.embed.svd.train import SvdConfig, train_svd
from firth.embed.vectors.piece_table import PIECE_VECTORS, TOKENIZER, PieceTable
from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import command
from tests.pretrain.small_training import corpus_of

SYLLABLES = ["ba", "de", "ki", "lo", "mu", "na", "po", "ri", "su", "te"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A corpus of words of one to three syllables, and one word in another script."""
    rng = np.random.default_rng(1)
    words = ["".join(rng.choice(SYLLABLES, size=rng.integers(1, 4))) for _ in range(300)]
    lines = [" ".join(rng.choice(words, size=12)) for _ in range(400)]
    return corpus_of(tmp_path_factory.mktemp("corpus"), [*lines, "ba de 図書館 ki"], held_out=0)


def config(**options):
    """Settings of a small training."""
    return SvdConfig(**{"dim": 8, "pieces": 120, "min_count": 1, "threads": 1, **options})


@pytest.fixture(scope="module")
def run(corpus, tmp_path_factory):
    """A run of pieces."""
    return train_svd(corpus, config(), tmp_path_factory.mktemp("run") / "svd")


def test_a_text_of_pieces_is_that_of_its_words_cut_up(corpus):
    view = corpus.view(min_count=1, boundary="paragraph")
    pieces = learn_pieces(view.words, view.counts, size=100)
    text, units = PieceText(view, pieces), []
    for ids, offsets in text.shards():
        units += [ids[a:b].tolist() for a, b in pairwise(offsets)]

    expected = []
    for rows, offsets in view.shards():
        for a, b in pairwise(offsets):
            ids = [pieces.split([view.words[row]])[0].tolist() for row in rows[a:b]]
            expected.append([piece for word in ids for piece in word if UNK not in word])
    assert units == expected
    assert any(UNK in pieces.split([word])[0] for word in view.words)
    every = [piece for unit in units for piece in unit]
    assert text.counts.tolist() == np.bincount(every, minlength=len(pieces)).tolist()
    assert text.n_tokens == len(every)
    assert not text.counts[:FIRST_PIECE].any()


def test_every_word_is_the_mean_of_its_pieces(run):
    pieces, rows = open_pieces(run.path / TOKENIZER), np.load(run.path / PIECE_VECTORS)
    assert len(pieces) == 120 == len(rows)
    several = 0
    for word in run.vocabulary:
        ids = pieces.split([word])[0]
        several += len(ids) > 1
        expected = np.zeros(8) if UNK in ids else rows[ids].mean(axis=0)
        np.testing.assert_allclose(run.vector(word), expected, atol=1e-6)
    assert several > 50


def test_unseen_words_have_a_vector_unless_a_piece_is_unknown(run):
    pieces, rows = open_pieces(run.path / TOKENIZER), np.load(run.path / PIECE_VECTORS)
    unseen = "badekilomu"
    assert unseen not in run
    expected = rows[pieces.split([unseen])[0]].mean(axis=0)
    for vectors in (run, run.in_memory()):
        np.testing.assert_allclose(vectors[unseen], expected, atol=1e-6)
        assert vectors.vector("鼎") is None
        assert vectors.composed_of == "pieces"


def test_the_same_bytes_at_any_number_of_threads(corpus, run, tmp_path):
    other = train_svd(corpus, config(threads=2), tmp_path / "other")
    for name in ("vectors.npy", PIECE_VECTORS, TOKENIZER):
        assert (other.path / name).read_bytes() == (run.path / name).read_bytes()


def test_more_pieces_than_the_text_has_and_a_damaged_table_are_refused(corpus, run, tmp_path):
    with pytest.raises(SettingError, match="pieces"):
        train_svd(corpus, config(pieces=5000), tmp_path / "many")
    with pytest.raises(SettingError, match="`dim=150` is larger than `pieces=120`; pass a smaller"):
        train_svd(corpus, config(dim=150), tmp_path / "wide")
    with pytest.raises(ArtifactError, match="120 pieces do not fit a matrix of shape"):
        PieceTable(open_pieces(run.path / TOKENIZER), np.zeros((7, 8), np.float32))


def test_the_command_trains_and_queries_unseen_words(corpus, tmp_path):
    out = str(tmp_path / "svd")
    options = ["--out", out, "--pieces", "120", "--dim", "8", "--min-count", "1"]
    result = command("train-svd", corpus.path, *options)
    assert "have no pieces with contexts: zero vectors" in result.stderr
    result = command("neighbors", out, "badekilomu", "-k", "2")
    assert "its vector is composed of its pieces" in result.stderr
    assert len(result.stdout.splitlines()) == 2
    assert WordVectors.open(out).pieces is not None


def test_words_of_unordered_items_that_are_means_of_pieces_have_no_context_vectors(
    corpus, tmp_path
):
    vectors = train_svd(corpus, config(window="all"), tmp_path / "all")
    assert vectors.contexts is None
