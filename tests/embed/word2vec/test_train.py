"""Runs of skip-gram and CBOW: their files, what they learn, and their errors."""

import dataclasses
import errno
import json

import numpy as np
import pytest

from firth.corpora.artifacts.artifact import verify
from firth.corpora.common.errors import ArtifactError, FirthError
from firth.corpora.datasets.synthetic import SyntheticConfig, write_synthetic
from firth.corpora.datasets.synthetic_language import synthetic_language
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import BuildOptions, make_request
from firth.embed.formats.vector_files import load_vectors
from firth.embed.vectors.subwords import ngram_buckets
from firth.embed.word2vec.config import CbowConfig, SkipGramConfig, Tuning
from firth.embed.word2vec.tables import Tables
from firth.embed.word2vec.train import make_run, train_cbow, train_skipgram
from firth.embed.word2vec.trainer import build_trainer
from firth.embed.word2vec.workers import Workers
from tests.embed.word2vec.word2vec_cases import corpus_of

METHODS = {"skipgram": (train_skipgram, SkipGramConfig), "cbow": (train_cbow, CbowConfig)}
SMALL = {"dim": 8, "epochs": 1, "min_count": 1, "threads": 1, "subsample": 0.0}
FILES = [
    "checksums.json", "config.json", "contexts.npy", "held_out.npy", "metrics.jsonl",
    "provenance.json", "vectors.npy", "vocabulary.tsv",
]  # fmt: skip


def skewed_lines(n=200, n_words=30, seed=2):
    """Return lines of 1 to 12 Zipf-distributed words."""
    rng = np.random.default_rng(seed)
    return [
        " ".join(f"w{w}" for w in (rng.zipf(1.3, rng.integers(1, 13)) - 1) % n_words)
        for _ in range(n)
    ]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A corpus of some lines, a fifth of them held out."""
    return corpus_of(tmp_path_factory.mktemp("corpus"), skewed_lines(), held_out=0.2)


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """A synthetic corpus with known word classes."""
    folder = tmp_path_factory.mktemp("planted")
    write_synthetic(folder / "text.txt", SyntheticConfig(n_tokens=80_000))
    request = make_request(
        [folder / "text.txt"], options=BuildOptions(held_out=0.0, threads=1)
    )  # fmt: skip
    return encode_corpus(request, folder / "corpus")


def train(corpus, out, method="skipgram", *, force=False, tuning=None, **options):
    """Train and return the folder of the run."""
    function, kind = METHODS[method]
    config = kind(**{**SMALL, **options})
    if tuning is None:
        return function(corpus, config, out, force=force).path
    return make_run(build_trainer(corpus, config, tuning), out, force=force)


def tables_of(run):
    """Return the bytes of the arrays of a run."""
    return {path.name: path.read_bytes() for path in run.glob("*.npy")}


def names_in(run):
    """Return the sorted names in a folder."""
    return sorted(path.name for path in run.iterdir())


@pytest.mark.parametrize("method", METHODS)
def test_a_run_has_vectors_contexts_and_all_options(method, corpus, tmp_path):
    run = train(corpus, tmp_path / "run", method, dim=12, window=3)

    view = corpus.view(min_count=1, punctuation="drop", boundary="paragraph")
    assert names_in(run) == FILES
    verify(run)
    config = json.loads((run / "config.json").read_text())
    assert (config["format"], config["method"], config["window"]) == (1, method, 3)
    assert config["text"] == corpus.text.to_json()
    assert {"engine", "init", "subwords", "deterministic", "seed"} < config.keys()
    assert ("combine" in config) == (method == "cbow")
    provenance = json.loads((run / "provenance.json").read_text())
    assert (provenance["corpus"], provenance["threads"]) == (corpus.fingerprint, 1)
    assert provenance["seeds"] == [1]
    vectors = load_vectors(run)
    assert vectors.vocabulary == view.words
    assert list(vectors.counts) == view.counts.tolist()
    contexts = np.load(run / "contexts.npy")
    assert vectors.matrix.shape == contexts.shape == (len(view.words), 12)
    assert vectors.matrix.dtype == contexts.dtype == np.float32
    assert np.isfinite(vectors.matrix).all()
    assert contexts.any(axis=1).all()
    last = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    assert (last["epoch"], last["tokens"]) == (1, view.n_tokens)
    assert last["held_out_pairs"] > 0
    losses, pairs = np.load(run / "held_out.npy")
    assert np.count_nonzero(pairs) == last["held_out_units"] > 1
    assert last["held_out_loss"] == pytest.approx(losses.sum() / pairs.sum())
    assert last["held_out_loss"] > 0
    assert not (tmp_path / "run.partial").exists()


def test_a_run_with_subwords_also_has_rows_of_words_and_buckets(corpus, tmp_path):
    run = train(corpus, tmp_path / "run", subwords="2-3", buckets=500)

    assert names_in(run) == sorted([*FILES, "buckets.npy", "inputs.npy"])
    vectors = load_vectors(run)
    inputs, buckets = np.load(run / "inputs.npy"), np.load(run / "buckets.npy")
    assert inputs.dtype == np.float32
    assert buckets.dtype == np.int64
    assert len(inputs) == len(vectors.vocabulary) + len(buckets)

    def rows(word):
        found = np.searchsorted(buckets, ngram_buckets(word, 2, 3, 500))
        return inputs[len(vectors.vocabulary) + found]

    for row, word in enumerate(vectors.vocabulary):
        expected = np.vstack([inputs[row], rows(word)]).mean(axis=0)
        np.testing.assert_allclose(vectors.matrix[row], expected, rtol=1e-5, atol=1e-6)
    # <w, w1, 1>, <w1 and so on are n-grams of known words
    unseen = vectors.vector("w1w")
    assert "w1w" not in vectors.vocabulary
    known = [b for b in ngram_buckets("w1w", 2, 3, 500) if b in buckets]
    expected = inputs[len(vectors.vocabulary) + np.searchsorted(buckets, known)].mean(axis=0)
    np.testing.assert_allclose(unseen, expected, rtol=1e-5, atol=1e-6)
    assert (json.loads((run / "config.json").read_text())["subwords"]) == "2-3"


def accuracy(vectors):
    """How many of the planted nouns have a nearest noun of their own class."""
    known = {
        word.lower(): name
        for name, words in synthetic_language().classes.items()
        for word in words
        if vectors.row(word.lower()) is not None
    }
    rows = vectors.matrix[[vectors.row(word) for word in known]]
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -2)
    names = np.array(list(known.values()))
    assert len(names) > 80
    assert len(set(names)) == 10
    return (names[cosines.argmax(axis=1)] == names).mean()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("skipgram", {}),
        ("skipgram", {"threads": 2}),
        ("skipgram", {"deterministic": True, "threads": 2}),
        ("skipgram", {"window_weighting": "flat", "negatives": 2}),
        ("cbow", {}),
        ("cbow", {"combine": "sum", "learning_rate": 0.01}),
    ],
)
def test_planted_classes_are_learned(method, options, planted, tmp_path):
    # at random, one noun in ten has a nearest neighbor of its own class
    settings = {"dim": 32, "epochs": 5, "min_count": 5, "subsample": 1e-3, "learning_rate": 0.05}
    run = train(planted, tmp_path / "run", method, **{**settings, **options})
    assert accuracy(load_vectors(run)) > 0.9


# Initial vectors.


def test_training_starts_from_another_run(corpus, tmp_path):
    first = train(corpus, tmp_path / "first", learning_rate=0.05)
    more = corpus_of(tmp_path, ["w1 w2 new newer", "new w0 , newer w1"], name="more")
    options = {"init": str(first), "learning_rate": 1e-6}

    run = train(more, tmp_path / "run", **options)

    old, new = load_vectors(first), load_vectors(run)
    assert set(new.vocabulary) == {*old.vocabulary, "new", "newer"}
    contexts = np.load(run / "contexts.npy")
    for word in old.vocabulary:  # at this rate vectors hardly change
        np.testing.assert_allclose(new.vector(word), old.vector(word), atol=1e-4)
        there = np.load(first / "contexts.npy")[old.row(word)]
        np.testing.assert_allclose(contexts[new.row(word)], there, atol=1e-4)
    old_counts = dict(zip(old.vocabulary, old.counts, strict=True))
    counts = dict(zip(new.vocabulary, new.counts, strict=True))
    assert counts["w1"] == old_counts["w1"] + 2
    assert counts["new"] == 2
    assert json.loads((run / "config.json").read_text())["init"] == str(first)


def test_training_starts_from_a_file_of_vectors(corpus, tmp_path):
    (tmp_path / "old.txt").write_text("3 8\n" + "".join(f"{w} {'2 ' * 8}\n" for w in "abc"))
    more = corpus_of(tmp_path, ["a b other", "other a"], name="more")
    run = train(more, tmp_path / "run", init=str(tmp_path / "old.txt"), learning_rate=1e-4)
    vectors = load_vectors(run)
    assert sorted(vectors.vocabulary) == ["a", "b", "c", "other"]
    np.testing.assert_allclose(vectors.vector("c"), [2] * 8)  # not in the text, so not trained
    np.testing.assert_allclose(vectors.vector("a"), [2] * 8, atol=0.05)


def test_training_with_subwords_starts_from_runs_with_and_without_subwords(corpus, tmp_path):
    ngrams = {"subwords": "2-3", "buckets": 300}
    first = train(corpus, tmp_path / "first", **ngrams)
    plain = train(corpus, tmp_path / "plain")
    still = {"learning_rate": 1e-9}
    again = load_vectors(train(corpus, tmp_path / "a", init=str(first), **ngrams, **still))
    old = load_vectors(first)
    assert set(again.vocabulary) == set(old.vocabulary)
    for word in [*old.vocabulary, "w2w1"]:
        np.testing.assert_allclose(again.vector(word), old.vector(word), atol=1e-5)
    run = train(corpus, tmp_path / "b", init=str(plain), **ngrams, **still)
    own = np.load(run / "inputs.npy")
    for row, word in enumerate(load_vectors(run).vocabulary):
        np.testing.assert_allclose(own[row], load_vectors(plain).vector(word), atol=1e-5)


# Errors raised before any training.


def refusal_of(corpus, out, **options):
    """Return the error message."""
    with pytest.raises(FirthError) as refusal:
        train(corpus, out, **options)
    return str(refusal.value)


def test_options_that_do_not_fit_the_corpus_are_one_line_errors(corpus, tmp_path):
    out = tmp_path / "run"
    assert refusal_of(corpus, out, min_count=10**6) == (
        f"{corpus.path}: no word occurs 1000000 times or more in its train documents; "
        "pass a smaller `min_count`"
    )
    assert refusal_of(corpus, out, max_vocabulary=1) == (
        f"{corpus.path}: only one word occurs; pass more text or a smaller `min_count`"
    )
    uneven = corpus_of(tmp_path, ["a a a a a a b"], name="uneven")
    assert refusal_of(uneven, out, unigram_exponent=10.0) == (
        "`unigram_exponent=10`: nearly all negative samples would be one word; "
        "pass a value closer to 0"
    )


def test_initial_vectors_that_do_not_fit_are_refused(corpus, tmp_path):
    narrow, out = tmp_path / "old.txt", tmp_path / "run"
    narrow.write_text("2 3\na 1 2 3\nb 1 2 3\n")
    name = load_vectors(narrow).name
    assert refusal_of(corpus, out, init=str(narrow)) == (
        f"`dim=8` differs from the 3 dimensions of {name}; pass `dim=3`"
    )
    ngrams = train(corpus, tmp_path / "ngrams", subwords="2-3", buckets=300)
    assert refusal_of(corpus, out, init=str(ngrams)) == (
        f"`init={load_vectors(ngrams).name}`: was trained with `subwords=2-3` `buckets=300`; "
        "pass the same"
    )
    assert not out.exists()
    assert not (tmp_path / "run.partial").exists()


def test_an_existing_run_is_replaced_only_with_force(corpus, tmp_path):
    run = train(corpus, tmp_path / "run")
    assert refusal_of(corpus, run) == (
        f"{run}: already exists; choose another `out` or pass `force=True`"
    )
    again = train_skipgram(corpus, SkipGramConfig(**{**SMALL, "seed": 2}), run, force=True).path
    assert json.loads((again / "config.json").read_text())["seed"] == 2


# Interruptions.


def interrupt_after(monkeypatch, n):
    """Interrupt the n-th batch of the next training."""
    train_batch = Workers.train
    left = iter(range(1, n))

    def interrupted(workers, batch, rates):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return train_batch(workers, batch, rates)

    monkeypatch.setattr(Workers, "train", interrupted)


MANY_BATCHES = Tuning(chunk_tokens=40, batch_chunks=4)


def test_an_interrupted_training_resumes(corpus, tmp_path, monkeypatch, capsys):
    options = {"epochs": 2, "tuning": MANY_BATCHES}
    whole = train(corpus, tmp_path / "whole", **options)
    capsys.readouterr()
    with monkeypatch.context() as patch:
        interrupt_after(patch, 4)
        with pytest.raises(KeyboardInterrupt):
            train(corpus, tmp_path / "cut", **options)
    assert "interrupted; run the same command to resume\n" in capsys.readouterr().err
    assert (tmp_path / "cut.partial" / "checkpoints").is_dir()
    cut = train(corpus, tmp_path / "cut", **options)
    assert tables_of(cut) == tables_of(whole)
    assert names_in(cut) == names_in(whole)
    assert not (tmp_path / "cut.partial").exists()


@pytest.mark.parametrize("other", [{"seed": 2}, {"window": 2}, {"learning_rate": 0.03}])
def test_other_options_start_over_only_with_force(other, corpus, tmp_path, monkeypatch):
    fresh = train(corpus, tmp_path / "fresh", tuning=MANY_BATCHES, **other)
    with monkeypatch.context() as patch:
        interrupt_after(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            train(corpus, tmp_path / "cut", tuning=MANY_BATCHES)
    with pytest.raises(ArtifactError, match=f"left unfinished with different {next(iter(other))};"):
        train(corpus, tmp_path / "cut", tuning=MANY_BATCHES, **other)
    again = train(corpus, tmp_path / "cut", force=True, tuning=MANY_BATCHES, **other)
    assert tables_of(again) == tables_of(fresh)


def test_a_full_disk_at_the_end_does_not_lose_the_training(corpus, tmp_path, monkeypatch):
    tuning = dataclasses.replace(MANY_BATCHES, checkpoint_seconds=-1)
    trained, train_batch = [], Workers.train

    def counted(workers, batch, rates):
        trained.append(batch)
        return train_batch(workers, batch, rates)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Workers, "train", counted)
    whole = train(corpus, tmp_path / "whole", tuning=tuning)
    n_batches = len(trained)
    with monkeypatch.context() as patch:
        patch.setattr(Tables, "save", full)
        assert refusal_of(corpus, tmp_path / "run", tuning=tuning).endswith(
            "run: the disk is full; free some space or choose another `out`"
        )
    trained.clear()

    assert tables_of(train(corpus, tmp_path / "run", tuning=tuning)) == tables_of(whole)
    assert len(trained) < n_batches
    assert names_in(tmp_path / "run") == FILES


# Small and unusual corpora.


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize(
    ("lines", "options"),
    [
        (["a b"], {}),
        (["a b a b b"], {"dim": 1, "window": 1, "negatives": 1}),
        (["a b c", "d", "e f"], {"window": 1000, "window_weighting": "flat"}),
        (["a b c d e f g"] * 3, {"threads": 7}),
        (["a b c d"] * 9, {"boundary": "document", "dim": 17, "negatives": 40}),
        (["a a a a a a b"] * 9, {"subsample": 0.1}),
        (["a", "b a", "c a b d e " * 1000], {"window": "all"}),
        (["a b c d"] * 9, {"subwords": "1-1", "buckets": 1}),
    ],
)
def test_small_corpora_are_trained_on(method, deterministic, lines, options, tmp_path):
    text = corpus_of(tmp_path, lines)
    run = train(text, tmp_path / "run", method, deterministic=deterministic, **options)
    vectors = load_vectors(run)
    assert len(vectors.vocabulary) == len({word for line in lines for word in line.split()})
    assert np.isfinite(vectors.matrix).all()
    line = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    assert line["held_out_loss"] is None


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("engine", ["firth", "gensim"])
@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (
            ["a", "b", "c"] * 9, {},
            "no two of the 3 words occur in the same paragraph; pass a wider `boundary`",
        ),
        (
            ["a b c d"] * 99, {"subsample": 1e-12},
            "`subsample=1e-12` leaves no two types of a paragraph of ",
        ),
    ],
    ids=["a word a line", "subsampling"],
)  # fmt: skip
def test_a_text_without_contexts_is_refused(method, engine, lines, options, message, tmp_path):
    text = corpus_of(tmp_path, lines)
    with pytest.raises(FirthError) as refusal:
        train(text, tmp_path / "run", method, engine=engine, **options)
    assert message in str(refusal.value)
    assert not (tmp_path / "run").exists()


def test_words_without_a_context_are_named(tmp_path, capsys):
    text = corpus_of(tmp_path, ["a b c", "d", "a d", "e", "f"])
    train(text, tmp_path / "run", "skipgram")
    assert (
        "2 of 6 types are never in a paragraph with another, so nothing is learned of them: e, f\n"
    ) in capsys.readouterr().err


@pytest.mark.parametrize("method", METHODS)
def test_long_windows_and_many_negatives_are_not_mistaken_for_divergence(method, tmp_path):
    text = corpus_of(tmp_path, [" ".join(skewed_lines(100))])
    for options in ({"window": 400, "window_weighting": "flat"}, {"negatives": 500}):
        run = train(text, tmp_path / str(len(options)), method, learning_rate=1e-3, **options)
        line = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
        assert 0 < line["epoch_loss"] <= np.log(2) * (1 + options.get("negatives", 5)) * 1.01
