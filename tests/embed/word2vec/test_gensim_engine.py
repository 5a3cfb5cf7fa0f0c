"""The gensim engine: gensim's results in our row order, and every word trained on."""

import tempfile
from pathlib import Path

import numpy as np
import pytest

from firth.corpora.common.reporting import reporting_to
from firth.embed.word2vec.config import CbowConfig, SkipGramConfig
from firth.embed.word2vec.gensim_engine import train_gensim
from firth.embed.word2vec.trainer import build_trainer
from tests.embed.small_corpus import SmallView
from tests.embed.word2vec.word2vec_cases import ViewedCorpus
from tests.reporters import Recorder

gensim_models = pytest.importorskip("gensim.models")
KINDS = {"skipgram": SkipGramConfig, "cbow": CbowConfig}
OPTIONS = {
    "engine": "gensim", "dim": 8, "window": 3, "negatives": 3, "subsample": 0.0,
    "learning_rate": 0.05, "epochs": 2, "seed": 7, "threads": 1,
}  # fmt: skip


def train(view, *, method="skipgram", **options):
    """Return word and context vectors."""
    config = KINDS[method](**{**OPTIONS, **options})
    with tempfile.TemporaryDirectory() as folder:
        train_gensim(build_trainer(ViewedCorpus(view), config), Path(folder))
        return [np.load(Path(folder, f"{name}.npy")) for name in ("vectors", "contexts")]


def skewed_units(n_units=200, n_words=30, seed=3):
    """Units of 0 to 9 words; no two words are equally frequent."""
    rng = np.random.default_rng(seed)
    tokens = np.repeat(np.arange(n_words), np.arange(n_words, 0, -1))
    tokens = rng.permutation(tokens)
    cuts = np.sort(rng.integers(0, len(tokens), n_units))
    return [[f"w{t}" for t in part] for part in np.split(tokens, cuts)]


def gensim_directly(units, **options):
    """Train with gensim's own interface on the words themselves."""
    options = {
        "vector_size": 8, "window": 3, "negative": 3, "sample": 0, "alpha": 0.05,
        "min_alpha": 0.0001, "epochs": 2, "seed": 7, "workers": 1, "min_count": 1, "sg": 1,
        **options,
    }  # fmt: skip
    return gensim_models.Word2Vec(units, **options)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({}, {}),
        ({"subsample": 0.02}, {"sample": 0.02}),
        ({"subsample": 1.0}, {"sample": 0}),
        ({"window_weighting": "flat"}, {"shrink_windows": False}),
        ({"unigram_exponent": 0.5}, {"ns_exponent": 0.5}),
        ({"method": "cbow"}, {"sg": 0}),
        ({"method": "cbow", "combine": "sum"}, {"sg": 0, "cbow_mean": 0}),
        ({"seed": 8, "epochs": 3, "dim": 5}, {"seed": 8, "epochs": 3, "vector_size": 5}),
    ],
)
def test_vectors_equal_those_of_gensim_called_directly(ours, theirs):
    units = skewed_units()
    view = SmallView(units)
    vectors, contexts = train(view, **ours)
    model = gensim_directly(units, **theirs)
    assert model.wv.index_to_key == view.words
    np.testing.assert_array_equal(vectors, model.wv.vectors)
    np.testing.assert_array_equal(contexts, model.syn1neg)
    assert contexts.any(axis=1).all()
    assert vectors.dtype == np.float32


def test_rows_of_equally_frequent_words_keep_their_order():
    # pairs of words that only occur with each other: their vectors show which row is which
    units = [[a, b] for a, b in (("a", "b"), ("c", "d"), ("e", "f")) for _ in range(200)]
    view = SmallView(units, words=list("ecafdb"))
    vectors, _ = train(view, epochs=40, method="cbow", window=1)
    _, contexts = train(view, epochs=40, method="cbow", window=1)
    fits = vectors @ contexts.T
    assert ["ecafdb"[row] for row in fits.argmax(axis=1)] == list("fdbeca")


def test_words_may_contain_white_space():
    units = skewed_units()
    plain = train(SmallView(units))[0]
    spaced = [[word.replace("w", "\u00a0 ") for word in unit] for unit in units]
    words = [word.replace("w", "\u00a0 ") for word in SmallView(units).words]
    np.testing.assert_array_equal(train(SmallView(spaced, words=words))[0], plain)


def first_vectors(view, **options):
    """Return gensim's initial vectors: uniform in (-1, 1) / dim, from the seed."""
    options = {**OPTIONS, **options}
    rng = np.random.default_rng(options["seed"])
    shape = (len(view.counts), options["dim"])
    return (rng.random(shape, dtype=np.float32) * 2 - 1) / options["dim"]


def test_a_long_unit_is_split_with_a_note_and_fully_trained_on(tmp_path, capsys):
    unit = ["early"] * 12_000 + ["late"] * 8_000
    view = SmallView([unit])
    start = first_vectors(view)

    vectors, _ = train(view, epochs=1)

    assert (vectors != start).any(axis=1).all()
    expected = "1 paragraph is longer than gensim's limit, so split every 10,000 words\n"
    assert capsys.readouterr().err == expected
    # gensim itself drops the rest
    theirs = gensim_directly([unit], epochs=1).wv
    np.testing.assert_array_equal(theirs["late"], start[view.words.index("late")])


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("length", [2, 700, 9_999, 10_000, 10_001, 40_000])
def test_every_word_is_trained_on_once_per_epoch(length, threads, monkeypatch):
    rng = np.random.default_rng(length)
    tokens = rng.integers(0, 80, 40_000)
    units = [[f"w{t}" for t in tokens[i : i + length]] for i in range(0, len(tokens), length)]
    trained = []
    original = gensim_models.Word2Vec.train
    monkeypatch.setattr(
        gensim_models.Word2Vec,
        "train",
        lambda self, *args, **kw: trained.append(original(self, *args, **kw)),
    )

    train(SmallView(units), threads=threads, epochs=1, dim=2, negatives=1, window=1)

    assert trained == [(40_000, 40_000)]


def test_progress_is_reported_after_each_epoch():
    view, recorder = SmallView(skewed_units()), Recorder()

    with reporting_to(recorder):
        train(view, epochs=3)

    n = view.n_tokens
    assert [call[:2] for call in recorder.calls] == [(n, 3 * n), (2 * n, 3 * n), (3 * n, 3 * n)]


def test_a_read_error_during_training_is_raised():
    class Damaged(SmallView):
        reads = 0

        def shards(self):
            yield from super().shards()
            self.reads += 1
            if self.reads > 1:  # the first reading only counts
                raise OSError("no more of it")

    with pytest.raises(OSError, match="no more of it"):
        train(Damaged(skewed_units()))
