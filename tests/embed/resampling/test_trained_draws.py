"""Draws of methods that train again: what is kept, resumed, read and refused."""

import json

import numpy as np
import pytest

from firth.corpora.artifacts.artifact import read_json, write_json
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.common.reporting import reporting_to
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import BuildOptions, make_request
from firth.corpora.store.corpus import Corpus
from firth.embed.resampling.drawn_text import DrawnCorpus, text_of_units, training_documents
from firth.embed.resampling.intervals import neighbor_intervals, similarity_intervals
from firth.embed.resampling.trained_draws import train_draws, trained_draws
from firth.embed.vectors.search import unit_matrix
from firth.embed.word2vec.config import SkipGramConfig
from firth.embed.word2vec.train import train_skipgram
from tests.calls import command, output, refusal
from tests.reporters import Recorder

CONFIG = SkipGramConfig(dim=8, epochs=2, min_count=2, threads=1, seed=4, learning_rate=0.2)
OPTIONS = ("--dim", 8, "--epochs", 1, "--min-count", 2, "--threads", 1)
THEMES = [[f"{theme}{n}" for n in range(6)] for theme in ("sea", "sun", "ink")]
N_DRAWS = 4


def text_of(n_documents):
    """Documents of two paragraphs on a theme; three have words of their own."""
    rng = np.random.default_rng(3)
    documents = [
        [[*rng.choice(THEMES[n % 3], 9).tolist(), "the"] for _ in range(2)]
        for n in range(n_documents)
    ]
    documents[1][0] += ["twice"] * 3
    documents[2][0] += ["twice"]
    documents[0][1] += ["alone"] * 5
    return documents


def build(folder, documents, **options):
    """Build a corpus of documents."""
    with open(folder / "a.jsonl", "w", encoding="utf-8") as file:
        for paragraphs in documents:
            text = "\n\n".join(map(" ".join, paragraphs))
            file.write(json.dumps({"text": text}) + "\n")
    request = make_request([folder / "a.jsonl"], options=BuildOptions(**{"held_out": 0, **options}))
    return encode_corpus(request, folder / "corpus")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    return build(tmp_path_factory.mktemp("text"), text_of(120))


@pytest.fixture
def run(corpus, tmp_path):
    """A run without draws."""
    return train_skipgram(corpus, CONFIG, tmp_path / "run")


@pytest.fixture(scope="module")
def drawn(corpus, tmp_path_factory):
    """A run with draws."""
    vectors = train_skipgram(corpus, CONFIG, tmp_path_factory.mktemp("drawn") / "run")
    train_draws(vectors.path, corpus, CONFIG, N_DRAWS)
    return vectors


def test_draws_are_trainings_on_halves_of_the_documents(corpus, drawn, monkeypatch):
    draws = trained_draws(drawn)
    assert (draws.unit, draws.n_draws) == ("document", N_DRAWS)
    words = [word for word in drawn.vocabulary if word not in ("alone", "twice")]
    rows = np.array([drawn.row(word) for word in words])
    pairs = np.array([(a, b) for a in rows for b in rows])
    cosines = draws.cosines(pairs)
    for number in range(N_DRAWS):
        order = np.random.default_rng([CONFIG.seed, number]).permutation(120)
        copies = np.zeros(120, np.int64)
        copies[order[:60]] = 2
        half = DrawnCorpus(corpus, corpus.stored, copies, "half")
        again = train_skipgram(half, SkipGramConfig(**{**vars(CONFIG), "seed": 5 + number}))
        units = unit_matrix(again.matrix, np.array([again.row(word) for word in words]))
        # each of 8 entries is off by at most half a 127th of the largest
        np.testing.assert_allclose(cosines[:, number], (units @ units.T).ravel(), atol=0.03)
    monkeypatch.setattr("firth.embed.resampling.trained_draws._PAIRS", 7)
    np.testing.assert_array_equal(draws.cosines(pairs), cosines)


def test_sizes_are_those_of_the_training_text(drawn):
    draws = trained_draws(drawn)
    assert draws.tokens(drawn.row("the")) == 240
    assert draws.tokens(drawn.row("the"), drawn.row("alone")) == 5
    assert draws.spread(drawn.row("the")) == pytest.approx(120)
    assert draws.spread(drawn.row("alone")) == pytest.approx(1)
    assert draws.spread(drawn.row("twice")) == pytest.approx(4**2 / (3**2 + 1))


def test_a_draw_that_lacks_a_word_is_left_out(drawn):
    draws, alone = trained_draws(drawn), drawn.row("alone")
    cosines = draws.cosines(np.array([[alone, drawn.row("the")]]))[0]
    lacking = np.array([not codes[alone].any() for codes in draws._codes])
    assert 0 < lacking.sum() < N_DRAWS
    assert (np.isnan(cosines) == lacking).all()
    assert (np.isnan(draws.vectors(alone)).any(axis=1) == lacking).all()
    values = np.array([1.0, 2.0, np.nan, 4.0] * 5)
    spread = np.sqrt((draws.deviations(values) ** 2).sum())
    assert spread == pytest.approx(1.25 * np.nanstd(values, ddof=1))
    assert not draws.deviations(np.array([1.0, 2.0, np.nan, np.nan] * 5)).any()


def test_vectors_are_in_the_coordinates_of_the_run(drawn):
    draws = trained_draws(drawn)
    rows = [drawn.row(THEMES[0][0]), drawn.row(THEMES[1][0])]
    of_run = unit_matrix(drawn.matrix, np.array(rows))
    found = np.array([draws.vectors(row) for row in rows])
    np.testing.assert_allclose(
        np.einsum("jd,jd->j", *found), draws.cosines(np.array([rows]))[0], atol=1e-5
    )
    unturned = np.array([unit_matrix(codes, np.array(rows)) for codes in draws._codes])
    assert np.einsum("njd,nd->nj", found, of_run).mean() > 0.6
    assert np.einsum("jnd,nd->nj", unturned, of_run).mean() < 0.3


def test_queries_answer_with_intervals_from_draws(drawn):
    pairs = [[drawn.row("sea1"), drawn.row(word)] for word in ("sea2", "sun1")]
    a, b = trained_draws(drawn).cosines(np.array(pairs))
    found = similarity_intervals(drawn, "sea1", ["sea2", "sun1"])
    for interval, values in zip(found, (a, b, a - b), strict=True):
        width = 1.96 * 1.25 * values.std(ddof=1, dtype=np.float64)
        limit = 2 if interval is found[2] else 1
        assert interval.low == pytest.approx(max(interval.value - width, -limit), abs=1e-6)
        assert interval.high == pytest.approx(min(interval.value + width, limit), abs=1e-6)

    [near] = neighbor_intervals(drawn, "sea1", 5)
    assert (near.resamples, near.unit) == (N_DRAWS, "document")
    assert any(each.low is not None for each in near.neighbors)
    assert "sea" in output("analogy", drawn.path, "sea1", "sea2", "sun1", "--resamples", 20)
    error = refusal("neighbors", drawn.path, "sea1", "--resamples", 20, "--unit", "sentence")
    assert error.endswith("has draws of its documents; pass no other --unit")


def test_an_interrupted_training_resumes_with_the_draws_that_are_missing(run, corpus, drawn):
    reporter = Recorder(stop=3)
    with reporting_to(reporter), pytest.raises(KeyboardInterrupt):
        train_draws(run.path, corpus, CONFIG, N_DRAWS)
    assert reporter.notes == ["interrupted; run the same command to resume"]
    files = {file: file.stat().st_mtime_ns for file in (run.path / "resamples").glob("?.npy")}
    assert 0 < len(files) < N_DRAWS
    with pytest.raises(SettingError, match="has no draws of its text; add `resamples=20`"):
        trained_draws(run)

    train_draws(run.path, corpus, CONFIG, N_DRAWS)

    assert {file: file.stat().st_mtime_ns for file in files} == files
    names = [f"resamples/{number + 1}.npy" for number in range(N_DRAWS)]
    assert [(run.path / name).read_bytes() for name in names] == [
        (drawn.path / name).read_bytes() for name in names
    ]
    more = train_draws(run.path, corpus, CONFIG, N_DRAWS + 1)
    assert more.n_draws == N_DRAWS + 1


def _of_another_run(path):
    about = path / "resamples" / "about.json"
    write_json(about, {**read_json(about), "run": "of another run"})


def _damage(path):
    with open(path / "resamples" / "1.npy", "ab") as file:
        file.write(b"\0")


@pytest.mark.parametrize("change", [_of_another_run, _damage])
def test_draws_of_an_earlier_run_or_damaged_ones_are_replaced(run, corpus, change):
    train_draws(run.path, corpus, CONFIG, 2)
    draws = trained_draws(run)
    change(run.path)
    with pytest.raises((SettingError, ArtifactError)):
        trained_draws(run)
    again = train_draws(run.path, corpus, CONFIG, 2)
    pairs = np.array([(0, 1), (2, 3)])
    np.testing.assert_array_equal(again.cosines(pairs), draws.cosines(pairs))


def test_few_documents_are_resampled_by_paragraphs(tmp_path):
    corpus = build(tmp_path, text_of(14), held_out=0.2)
    unit, text = text_of_units(corpus)
    [shard], [paragraphs] = corpus.shards, [shard.documents for shard in text.shards]
    assert (unit, len(paragraphs) - 1) == ("paragraph", 28)
    training = training_documents(text)
    is_training = np.repeat(~np.asarray(shard.held_out), np.diff(shard.units))
    with_training = np.logical_or.reduceat(is_training, paragraphs[:-1])
    assert training.tolist() == np.flatnonzero(with_training).tolist()
    copies = np.bincount(training[:1], minlength=28)
    drawn = DrawnCorpus(corpus, text, copies, "first")
    assert [len(rows) for rows, _ in drawn.view().shards()] == [
        paragraphs[training[0] + 1] - paragraphs[training[0]]
    ]
    held_out = drawn.stored.count_types("held-out")
    np.testing.assert_array_equal(held_out, corpus.stored.count_types("held-out"))


def _of_method(path, method):
    write_json(path / "config.json", {**read_json(path / "config.json"), "method": method})


@pytest.mark.parametrize(
    ("change", "unit", "error"),
    [
        (
            lambda path: _of_method(path, "mlm"),
            None,
            ": a masked LM has no intervals; train an SVD",
        ),
        (lambda path: _of_method(path, "pool"), None, ": has no intervals; train an SVD"),
        (lambda path: None, "sentence", "has draws of its documents; pass no other `unit`"),
        (_damage, None, "1.npy: checksum mismatch"),
    ],
    ids=["mlm", "pool", "unit", "damaged"],
)
def test_refusals(run, corpus, change, unit, error):
    train_draws(run.path, corpus, CONFIG, 2)
    change(run.path)
    with pytest.raises((SettingError, ArtifactError), match=error):
        trained_draws(run, unit)


def test_vectors_in_memory_have_no_draws(vectors):
    with pytest.raises(SettingError, match="small: has no intervals; train an SVD"):
        trained_draws(vectors)


def test_each_seed_has_its_draws_and_a_second_command_keeps_all(
    corpus, drawn, tmp_path, monkeypatch
):
    trained = []

    def train(method, config, half, seed):
        trained.append((method, config.seed + seed, half.training_tokens))
        return drawn

    monkeypatch.setattr("firth.embed.resampling.trained_draws.train_again", train)
    words = ("train-cbow", corpus.path, "--out", tmp_path / "run", *OPTIONS)
    lines = output(*words, "--seeds", 2, "--resamples", 20).splitlines()
    runs = [tmp_path / f"run-seed{seed}" for seed in (1, 2)]
    for run in runs:
        assert f"{run}: 20 draws of half the documents, for intervals" in lines
    assert [each[:2] for each in trained] == [
        ("cbow", seed + number) for seed in (1, 2) for number in range(1, 21)
    ]
    assert [tokens for *_, tokens in trained[:20]] != [tokens for *_, tokens in trained[20:]]

    alone = ("train-cbow", corpus.path, "--out", runs[0], *OPTIONS)
    kept, told, *_ = output(*alone, "--resamples", 21).splitlines()
    assert kept == f"{runs[0]}: kept, already trained with these settings"
    assert told.startswith(f"{runs[0]}: 21 draws")
    assert len(trained) == 41
    assert "already exists" in refusal(*alone)

    plans = [
        json.loads(output(*words[:2], *OPTIONS, *more, "--dry-run", "--json"))
        for more in ((), ("--resamples", 21))
    ]
    arrays = list((runs[0] / "resamples").glob("*.npy"))
    headers = 128 * len(arrays)
    more = sum(file.stat().st_size for file in arrays) - headers
    assert plans[1]["disk"] - plans[0]["disk"] == more
    assert plans[1]["resamples"] == 21


def test_too_little_text_is_refused_before_a_run_is_trained(tmp_path):
    corpus = build(tmp_path, [[["sea", "sun", "the"]] * 2] * 3)
    out, options = tmp_path / "run", (*OPTIONS, "--subsample", 0, "--resamples", 20)
    error = refusal("train-skipgram", corpus.path, "--out", out, *options)
    assert error == (
        f"{corpus.path}: has 6 sentences of training text, of which 20 are needed to resample; "
        "train on more text, or leave out --resamples"
    )
    assert not out.exists()
    assert command("train-svd", corpus.path, "--out", out, "--resamples", 20).exit_code == 2
