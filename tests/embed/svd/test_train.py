"""The run that train-svd writes, and its errors."""

import errno
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from firth.corpora.artifacts.artifact import CHECKSUMS, LOCK, MAKER, verify
from firth.corpora.common.errors import ArtifactError, FirthError, SettingError
from firth.corpora.common.options import ALL
from firth.embed.svd import train as train_module
from firth.embed.svd.train import SvdConfig, make_svd_run
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.small_corpus import SmallCorpus

ROOT = Path(__file__).resolve().parents[3]


def text_of(n_lines=300, seed=4):
    """Return lines on one of two themes, each with a function word."""
    rng = np.random.default_rng(seed)
    themes = [[f"{theme}{n}" for n in range(15)] for theme in ("sea", "sun")]
    lines = ([*rng.choice(themes[n % 2], 6).tolist(), "the"] for n in range(n_lines))
    return "\n".join(" ".join(line) for line in lines)


@pytest.fixture(scope="module")
def corpus():
    return SmallCorpus(text_of())


def config(**options):
    return SvdConfig(**{"dim": 10, "min_count": 1, "threads": 1, "device": "cpu", **options})


@pytest.fixture(scope="module")
def run(corpus, tmp_path_factory):
    return make_svd_run(corpus, config(), tmp_path_factory.mktemp("runs") / "svd")


def test_a_run_has_its_files_options_provenance_words_and_counts(run, corpus):
    verify(run)
    assert sorted(path.name for path in run.iterdir()) == [
        "checksums.json", "config.json", "metrics.jsonl", "provenance.json", "vectors.npy",
        "vocabulary.tsv",
    ]  # fmt: skip
    stored, made = (json.loads((run / f"{n}.json").read_text()) for n in ("config", "provenance"))
    assert (stored.pop("format"), stored.pop("method")) == (1, "svd")
    stored.pop("text")
    assert SvdConfig(**stored) == config()
    assert (made["corpus"], made["seeds"], made["threads"]) == (corpus.fingerprint, [1], 1)
    vectors = WordVectors.open(run)
    view = corpus.view(min_count=1, max_vocabulary=None, punctuation="drop", boundary="paragraph")
    assert list(vectors.vocabulary) == view.words
    assert vectors.counts.tolist() == view.counts.tolist()
    assert vectors.text == corpus.text
    assert (vectors.matrix.shape, vectors.matrix.dtype) == ((31, 10), np.float32)


def test_the_metrics_have_each_step_and_the_captured_share(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == ["count", "weigh", "svd"]
    count, _, svd = lines
    assert count["tokens"] == 2100
    assert count["nonzeros"] > 0
    assert 0 < svd["share"] == svd["captured"] / svd["total"] <= 1


def matrix_of(corpus, tmp_path, **options):
    return np.load(make_svd_run(corpus, config(**options), tmp_path / "run") / "vectors.npy")


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_words_of_one_theme_are_nearer_than_words_of_two(run):
    vectors = WordVectors.open(run)
    sea1, sea2, sun1 = (vectors.matrix[vectors.row(word)] for word in ("sea1", "sea2", "sun1"))
    assert cosine(sea1, sea2) > cosine(sea1, sun1) + 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"threads": 3}, {"memory": "1k"}, {"threads": 2, "memory": "1k"}]
)
def test_threads_and_memory_change_no_byte(run, corpus, tmp_path, options, monkeypatch):
    monkeypatch.setattr(train_module, "_least", lambda n_words, config: 0)  # far more than 1 kB
    again = make_svd_run(corpus, config(**options), tmp_path / "run")
    for name in ("vectors.npy", "vocabulary.tsv"):
        assert (again / name).read_bytes() == (run / name).read_bytes()
    assert json.loads((again / "metrics.jsonl").read_text().splitlines()[0])["on_disk"] is (
        "memory" in options
    )


def test_words_that_are_composed_of_pieces_count_as_memory():
    about = config(pieces=300, dim=100, memory="500M")
    train_module._require_memory(200_000, about)
    with pytest.raises(SettingError, match="`memory=500M`: 1,000,000 words of 100 dimensions"):
        train_module._require_memory(1_000_000, about)


def test_at_full_rank_and_power_1_the_vectors_reconstruct_the_matrix(tmp_path):
    # U S times its transpose is M M^T
    corpus = SmallCorpus("a b c a\nb b a\nc a")
    vectors = matrix_of(
        corpus, tmp_path,
        dim=3, weighting="counts", subsample=0.0, singular_power=1.0, window=1,
    )  # fmt: skip
    # adjacent pairs: ab, bc, ca; bb, ba; ca: a-b twice, b-c once, a-c twice, b-b counted twice
    matrix = np.array([[0, 2, 2], [2, 2, 1], [2, 1, 0]], dtype=float)
    np.testing.assert_allclose(vectors @ vectors.T, matrix @ matrix.T, atol=1e-4)


def test_contexts_of_a_symmetric_matrix_double_or_cancel(tmp_path):
    # for an eigenvalue e of a symmetric matrix, the context column is the word's times sign(e)
    corpus = SmallCorpus("a b c a\nb b a\nc a")
    options = {"dim": 3, "weighting": "counts", "subsample": 0.0, "window": 1}
    plain = matrix_of(corpus, tmp_path / "plain", **options)
    added = matrix_of(corpus, tmp_path / "added", add_contexts=True, **options)
    eigenvalues = np.linalg.eigvalsh(np.array([[0, 2, 2], [2, 2, 1], [2, 1, 0]], dtype=float))
    signs = np.sign(sorted(eigenvalues, key=abs, reverse=True))
    np.testing.assert_allclose(added, plain * (1 + signs), atol=1e-4)


def test_words_without_contexts_have_zero_vectors(tmp_path, capsys):
    vectors = matrix_of(SmallCorpus(text_of() + "\nalone"), tmp_path)
    assert vectors[:-1].any(1).all()
    assert not vectors[-1].any()
    assert (
        capsys.readouterr().err
        == f"small: 1 of {len(vectors)} types have no contexts: zero vectors\n"
    )


def test_directions_beyond_the_rank_are_zero_even_at_power_0(tmp_path):
    # only a-b pairs: the matrix of counts has rank 2
    corpus = SmallCorpus("a b\na b\nc\nd")
    vectors = matrix_of(
        corpus, tmp_path, dim=4, weighting="counts", subsample=0.0, singular_power=0.0
    )
    assert (np.abs(vectors) > 0).any(axis=0).tolist() == [True, True, False, False]


def test_words_beyond_the_limit_have_no_vector_but_keep_their_place(tmp_path):
    # c is the rarest; with a window of 1 it keeps a and b apart
    corpus = SmallCorpus("a c b\na c b\na d\nb d\nd a")
    options = {"window": 1, "weighting": "counts", "subsample": 0.0, "singular_power": 1.0}
    run = make_svd_run(corpus, config(dim=3, max_vocabulary=3, **options), tmp_path / "run")
    vectors = WordVectors.open(run)
    assert (list(vectors.vocabulary), vectors.counts.tolist()) == (["a", "b", "d"], [4, 3, 3])
    # a-d twice, b-d once: W W^T is the square of the matrix of counts
    counts = np.array([[0, 0, 2], [0, 0, 1], [2, 1, 0]])
    np.testing.assert_allclose(vectors.matrix @ vectors.matrix.T, counts @ counts, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "options", "error", "message"),
    [
        (text_of(), {"dim": 32}, SettingError,
         r"`dim=32` is larger than .*\(31 words .*; pass `dim=31` or less"),
        ("a\nb\na\n", {"dim": 2}, FirthError,
         "small: no two of the 2 words occur in the same paragraph; pass a wider `boundary` or "),
        ("a b\n" * 3, {"dim": 2, "shift": 1e6}, SettingError,
         r"`shift=1e\+06` leaves no positive PMI; pass a smaller `shift`"),
        (text_of(), {"singular_power": 1e3}, SettingError,
         "`singular_power=1000` overflows float32; pass a smaller one"),
        (text_of(), {"memory": "100M"}, SettingError,
         r"`memory=100M`: \d+ words of \d+ dimensions take at least `memory=30\dM`; pass that, "),
    ],
    ids=["dimension", "no pairs", "shift", "power", "memory"],
)  # fmt: skip
def test_what_does_not_fit_the_corpus_is_refused_and_leaves_nothing(
    text, options, error, message, tmp_path
):
    with pytest.raises(error, match=f"^{message}") as caught:
        make_svd_run(SmallCorpus(text), config(**options), tmp_path / "run")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_exists_is_refused_and_replaced_by_force(run, corpus, tmp_path):
    with pytest.raises(ArtifactError, match="already exists"):
        make_svd_run(corpus, config(), run)
    out = make_svd_run(corpus, config(dim=5), tmp_path / "run")
    assert make_svd_run(corpus, config(dim=4), out, force=True) == out
    assert np.load(out / "vectors.npy").shape == (31, 4)


def test_a_full_disk_gives_a_one_line_error_and_leaves_nothing(corpus, tmp_path, monkeypatch):
    def full(*rows):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("firth.embed.svd.row_writer.RowWriter.append", full)
    with pytest.raises(ArtifactError) as caught:
        make_svd_run(corpus, config(), tmp_path / "run")
    assert str(caught.value) == (
        f"{tmp_path / 'run'}: the disk is full; free some space or choose another `out`"
    )
    assert list(tmp_path.iterdir()) == []


def test_cuda_is_refused_if_not_available(corpus, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SettingError, match="cuda"):
        make_svd_run(corpus, config(device="cuda"), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("window", 0, "SvdConfig.window must be at least 1, got 0"),
        ("context_smoothing", 1.5, "SvdConfig.context_smoothing must be at most 1, got 1.5"),
        ("window", "any", "SvdConfig.window must be of type int, got 'any'"),
        ("shift", 0, "SvdConfig.shift must be above 0, got 0"),
        ("memory", "much", "`memory` must be a size such as 4G or 512M, got 'much'"),
    ],
)
def test_a_setting_out_of_range_is_refused(option, value, message):
    with pytest.raises(SettingError) as caught:
        SvdConfig(**{option: value})
    assert str(caught.value) == message


@pytest.mark.parametrize(("name", "value"), [("context_smoothing", 0.5), ("shift", 5.0)])
def test_settings_of_pmi_are_refused_for_counts(name, value):
    with pytest.raises(SettingError) as caught:
        SvdConfig(weighting="counts", **{name: value})
    assert str(caught.value) == (
        f"`{name}={value}`: only changes PMI, and `weighting=counts` has none; leave it out"
    )
    SvdConfig(weighting="counts", context_smoothing=0.75)  # as the options of a run are stored


@pytest.mark.parametrize(
    ("name", "value"),
    [("window_weighting", "dynamic"), ("context_side", "left"), ("side_means", 5), ("best", True)],
)
def test_settings_of_order_are_refused_for_items_without_order(name, value):
    with pytest.raises(SettingError) as caught:
        SvdConfig(window="all", **{name: value})
    assert str(caught.value) == (
        f"`{name}={value}`: there is no order with `window=all`; leave it out"
    )
    SvdConfig(window=ALL, window_weighting="flat")  # as the options of a run are stored


def test_the_order_of_items_changes_no_byte_with_a_window_of_all(tmp_path):
    lines = [line.split() for line in text_of().splitlines()]
    rng = np.random.default_rng(1)
    shuffled = "\n".join(" ".join(rng.permutation(line)) for line in [*lines[::-1], ["alone"]])
    text = text_of() + "\nalone"
    for window, same in (("all", True), (2, False)):
        vectors = [
            matrix_of(SmallCorpus(each), tmp_path / f"{window}{n}", window=window)
            for n, each in enumerate((text, shuffled))
        ]
        assert np.array_equal(*vectors) is same


TRAIN = """
import sys
from pathlib import Path
from firth.embed.svd import train as train_module
from firth.embed.svd.train import SvdConfig, make_svd_run
from tests.embed.small_corpus import SmallCorpus
from tests.embed.svd.test_train import text_of
corpus = SmallCorpus(text_of())
print("ready", flush=True)
make_svd_run(corpus, SvdConfig(dim=10, min_count=1, threads=1, device="cpu"), Path(sys.argv[1]))
"""


@pytest.mark.process
@pytest.mark.parametrize("delay", [0.0, 0.02, 0.1, 0.3, 0.8])
def test_a_killed_training_leaves_a_complete_run_or_none(run, corpus, tmp_path, delay):
    out = tmp_path / "run"
    process = subprocess.Popen(
        [sys.executable, "-c", TRAIN, str(out)], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"ready\n"
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()

    partial = tmp_path / "run.partial"
    if (partial / CHECKSUMS).exists() and not (partial / MAKER).exists():
        # complete, but not yet renamed
        partial.rename(out)
    if out.exists():
        verify(out)
    else:
        make_svd_run(corpus, config(), out)
    assert (out / "vectors.npy").read_bytes() == (run / "vectors.npy").read_bytes()
    # the lock of a process that was killed with a complete run stays, and locks nothing
    assert {path.name for path in tmp_path.iterdir()} - {f"run{LOCK}"} == {"run"}


def test_vectors_of_unordered_items_have_context_vectors_whose_products_are_the_matrix(
    corpus, tmp_path, run
):
    unordered = config(window="all", dim=31, singular_power=0.5, subsample=0)
    vectors = WordVectors.open(make_svd_run(corpus, unordered, tmp_path / "all"))
    view = corpus.view(min_count=1, max_vocabulary=None, punctuation="drop", boundary="paragraph")
    counts = train_module.count_words(view, 31, unordered, name="text", directory=None)
    matrix = train_module.weigh(view, counts, unordered).toarray()
    assert len(matrix) == 31
    assert vectors.matrix @ vectors.contexts.T == pytest.approx(matrix, abs=1e-4)
    assert WordVectors.open(run).contexts is None
