"""gensim as an engine: its own results, our rows, and no word lost on the way."""

from types import SimpleNamespace

import numpy as np
import pytest

from corpora.common.errors import SettingError
from embed.word2vec.gensim_engine import refuse_for_gensim, train_gensim
from tests.embed.small_corpus import SmallView

gensim_models = pytest.importorskip("gensim.models")
DEFAULTS = {
    "dim": 8, "window": 3, "window_weighting": "dynamic", "negatives": 3,
    "unigram_exponent": 0.75, "subsample": 0.0, "learning_rate": 0.05, "final_rate": 0.001,
    "epochs": 2, "seed": 7, "boundary": "paragraph", "deterministic": False,
    "hierarchical_softmax": False, "subwords": None, "init": None, "sum": False,
}  # fmt: skip


HS = {"hs": 1, "negative": 0}
REFUSED_ONE = "--engine gensim does not go with --subwords; leave it out or pass --engine firth"
REFUSED_TWO = (
    "--engine gensim does not go with --init and --deterministic; "
    "leave them out or pass --engine firth"
)
REFUSED_SEED = "--engine gensim takes seeds below 4294967296, got 4294967296; pass a smaller --seed"


def config(**options):
    return SimpleNamespace(**{**DEFAULTS, **options})


def train(view, tmp_path, *, skip_gram=True, threads=1, tell=lambda *_: None, **options):
    return train_gensim(
        view, config(**options), skip_gram=skip_gram, directory=tmp_path, threads=threads, tell=tell
    )


def skewed_units(n_units=200, n_words=30, seed=3):
    """Units of 0 to 9 words; no two words are equally frequent."""
    rng = np.random.default_rng(seed)
    tokens = np.repeat(np.arange(n_words), np.arange(n_words, 0, -1))
    tokens = rng.permutation(tokens)
    cuts = np.sort(rng.integers(0, len(tokens), n_units))
    return [[f"w{t}" for t in part] for part in np.split(tokens, cuts)]


def by_hand(units, tmp_path, **options):
    """gensim as its documentation has it, words as they are."""
    path = tmp_path / "by_hand.txt"
    path.write_text("".join(" ".join(unit) + "\n" for unit in units), encoding="utf-8")
    options = {
        "vector_size": 8, "window": 3, "negative": 3, "sample": 0, "alpha": 0.05,
        "min_alpha": 0.001, "epochs": 2, "seed": 7, "workers": 1, "min_count": 1, "sg": 1,
        **options,
    }  # fmt: skip
    return gensim_models.Word2Vec(corpus_file=str(path), **options)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({}, {}),
        ({"subsample": 0.02}, {"sample": 0.02}),
        ({"subsample": 1.0}, {"sample": 0}),
        ({"window_weighting": "flat"}, {"shrink_windows": False}),
        ({"unigram_exponent": 0.5}, {"ns_exponent": 0.5}),
        ({"hierarchical_softmax": True, "subsample": 0.02}, {**HS, "sample": 0.02}),
        ({"hierarchical_softmax": True}, {**HS, "sample": 0.5}),  # at 0 gensim has no seed
        ({"skip_gram": False}, {"sg": 0}),
        ({"skip_gram": False, "sum": True}, {"sg": 0, "cbow_mean": 0}),
        ({"skip_gram": False, "hierarchical_softmax": True}, {**HS, "sg": 0, "sample": 0.5}),
        ({"seed": 8, "epochs": 3, "dim": 5}, {"seed": 8, "epochs": 3, "vector_size": 5}),
    ],
)
def test_vectors_equal_those_of_gensim_called_by_hand(ours, theirs, tmp_path):
    units = skewed_units()
    view = SmallView(units)
    vectors, contexts = train(view, tmp_path, **ours)
    model = by_hand(units, tmp_path, **theirs)
    assert model.wv.index_to_key == view.words
    np.testing.assert_array_equal(vectors, model.wv.vectors)
    if ours.get("hierarchical_softmax"):
        assert contexts is None
    else:
        np.testing.assert_array_equal(contexts, model.syn1neg)
        assert contexts.any(axis=1).all()
    assert vectors.dtype == np.float32


def test_rows_stay_in_our_order_among_words_equally_frequent(tmp_path):
    # pairs of words that keep apart: their vectors tell which row is whose
    units = [[a, b] for a, b in (("a", "b"), ("c", "d"), ("e", "f")) for _ in range(200)]
    view = SmallView(units, words=list("ecafdb"))
    vectors, _ = train(view, tmp_path, epochs=40, skip_gram=False, window=1)
    _, contexts = train(view, tmp_path, epochs=40, skip_gram=False, window=1)
    fits = vectors @ contexts.T
    assert ["ecafdb"[row] for row in fits.argmax(axis=1)] == list("fdbeca")


def test_words_that_hold_white_space_are_words(tmp_path):
    units = skewed_units()
    plain = train(SmallView(units), tmp_path)[0]
    spaced = [[word.replace("w", "\u00a0 ") for word in unit] for unit in units]
    words = [word.replace("w", "\u00a0 ") for word in SmallView(units).words]
    np.testing.assert_array_equal(train(SmallView(spaced, words=words), tmp_path)[0], plain)


def first_vectors(view, **options):
    """What gensim starts from: uniform in (-1, 1) / dim, from the seed."""
    options = {**DEFAULTS, **options}
    rng = np.random.default_rng(options["seed"])
    shape = (len(view.counts), options["dim"])
    return (rng.random(shape, dtype=np.float32) * 2 - 1) / options["dim"]


def test_a_long_unit_is_cut_and_told_and_trained_to_its_end(tmp_path, capsys):
    unit = ["early"] * 12_000 + ["late"] * 8_000
    view = SmallView([unit])
    start = first_vectors(view)

    vectors, _ = train(view, tmp_path, epochs=1)

    assert (vectors != start).any(axis=1).all()
    told = "1 paragraph is longer than gensim takes at a time, and cut at every 9,999 words\n"
    assert capsys.readouterr().err == told
    # why it is cut: gensim alone drops the rest
    theirs = by_hand([unit], tmp_path, epochs=1).wv
    np.testing.assert_array_equal(theirs["late"], start[view.words.index("late")])


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("length", [1, 2, 700, 9_998, 9_999, 10_000, 10_001, 40_000])
def test_every_word_is_trained_on_once_an_epoch(length, threads, tmp_path, monkeypatch):
    rng = np.random.default_rng(length)
    tokens = rng.integers(0, 80, 40_000)
    units = [[f"w{t}" for t in tokens[i : i + length]] for i in range(0, len(tokens), length)]
    trained = []
    original = gensim_models.Word2Vec.train
    monkeypatch.setattr(
        gensim_models.Word2Vec, "train", lambda self, **kw: trained.append(original(self, **kw))
    )

    train(SmallView(units), tmp_path, threads=threads, epochs=1, dim=2, negatives=1, window=1)

    # the second number counts what gensim reads: padding, too
    assert [words for words, _ in trained] == [40_000]


@pytest.mark.parametrize("hierarchical_softmax", [False, True])
def test_one_thread_gives_the_same_vectors_again(hierarchical_softmax, tmp_path):
    view = SmallView(skewed_units())
    first, *others = (
        train(view, tmp_path, hierarchical_softmax=hierarchical_softmax)[0] for _ in range(4)
    )
    for other in others:
        np.testing.assert_array_equal(other, first)


def test_progress_is_told_after_each_epoch_and_the_text_is_removed(tmp_path):
    view, told = SmallView(skewed_units()), []

    train(view, tmp_path, epochs=3, tell=lambda done, total: told.append((done, total)))

    n = view.n_tokens
    assert told == [(n, 3 * n), (2 * n, 3 * n), (3 * n, 3 * n)]
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_leaves_no_text(tmp_path):
    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(SmallView(skewed_units()), tmp_path, tell=interrupt)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subwords": "3-6"}, REFUSED_ONE),
        ({"deterministic": True, "init": "run"}, REFUSED_TWO),
        ({"seed": 2**32}, REFUSED_SEED),
    ],
)
def test_what_gensim_cannot_do_is_refused(options, message, tmp_path):
    with pytest.raises(SettingError) as caught:
        train(SmallView([["a", "b"]]), tmp_path, **options)
    assert str(caught.value) == message


def test_what_gensim_can_do_is_not_refused():
    refuse_for_gensim(config(seed=2**32 - 1))
