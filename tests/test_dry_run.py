"""Dry runs: what a step will take, against what it then takes."""

import gzip
import itertools
import json
import shutil
import tempfile
import time
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from firth.corpora.artifacts import checkpoint
from firth.corpora.common.errors import SourceError
from firth.corpora.common.estimate import extrapolated
from firth.corpora.encoding.dry_run import estimate_corpus
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import BuildOptions, make_request
from firth.corpora.reading.sample import sample_blocks
from firth.corpora.reading.sources import source_files
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.store.corpus import Corpus
from firth.embed.svd import dry_run as svd_dry_run
from firth.embed.svd.dry_run import estimate_svd
from firth.embed.svd.train import SvdConfig, make_svd_run
from firth.pretrain.train import make_mlm_run
from tests.calls import command
from tests.pretrain.small_training import OFTEN, SMALL, as_words

BLOCK = 64 << 10
WORD2VEC = "--epochs 2 --dim 20 --min-count 1 --threads 1"
COMMANDS = {
    "build-corpus": "{folder}/text.txt --documents line --threads 1",
    "train-svd": "{folder}/corpus --dim 20 --min-count 1 --threads 1",
    "train-svd --pieces": "{folder}/corpus --dim 20 --pieces 300 --min-count 1 --threads 1",
    "train-skipgram": f"{{folder}}/corpus {WORD2VEC}",
    "train-cbow": f"{{folder}}/corpus {WORD2VEC} --subwords 3-4 --buckets 500",
    "train-nplm": "{folder}/corpus --epochs 1 --dim 20 --min-count 1 --threads 1",
    "train-autoencoder": "{folder}/corpus --epochs 2 --dim 20 --min-count 1 --threads 1",
    "train-mlm": f"{{folder}}/corpus {' '.join(as_words(SMALL))}",
    "train-mlm --init": f"{{folder}}/corpus --init {{folder}}/words {' '.join(as_words(SMALL))}",
}


def text_of(n_lines, n_words=5_000, seed=3):
    """Lines of 20 words whose ranks follow Zipf's law."""
    ranks = np.random.default_rng(seed).zipf(1.2, (n_lines, 20)) % n_words
    return "".join(f"{' '.join(f'w{rank}' for rank in line)}\n" for line in ranks.tolist())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a text of 60,000 words and a corpus of it."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "text.txt").write_text(text_of(3_000))
    corpus = encode_corpus(request_of(folder / "text.txt"), folder / "corpus")
    make_svd_run(corpus, SvdConfig(dim=16, min_count=3, threads=1), folder / "words")
    return folder


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """An own folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def request_of(*sources, **options):
    """A request for documents of one line."""
    return make_request(
        sources, read=ReadOptions(documents="line"), options=BuildOptions(threads=1, **options)
    )


def invoke(name, folder, *more):
    """Run a command of the table."""
    return command(name.split()[0], *COMMANDS[name].format(folder=folder).split(), *more)


def dry_run(name, folder, *more):
    """Return what a dry run tells."""
    return json.loads(invoke(name, folder, "--dry-run", "--json", *more).stdout)


def size_of(path):
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_dry_run_writes_nothing_and_tells_the_bytes_on_disk(name, folder, temporary, tmp_path):
    inputs = size_of(folder)
    estimate = dry_run(name, folder, "--out", tmp_path / "out")
    assert not list(tmp_path.glob("out*"))
    assert not list(temporary.glob("firth*"))
    assert size_of(folder) == inputs
    assert min(estimate["seconds"], estimate["memory"]) > 0
    assert estimate["reckoned_from"]
    assert invoke(name, folder, "--out", tmp_path / "out").exit_code == 0
    assert estimate["disk"] == pytest.approx(size_of(tmp_path / "out"), rel=0.2)

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("x")
    words = (name, folder, "--out", tmp_path / "mine")
    real, dry = invoke(*words), invoke(*words, "--dry-run")
    assert real.exit_code == dry.exit_code == 1
    assert "already exists" in real.stderr == dry.stderr
    assert invoke(name, folder).stderr.endswith("Error: Missing option '--out'.\n")
    alone = invoke(name, folder, "--out", "x", "--json").stderr
    assert alone.endswith("Error: --json requires --dry-run\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "every"),
    [("train-autoencoder", []), ("train-mlm", ["--steps", "4"])],
)
def test_a_dry_run_tells_what_checkpoints_take(name, every, folder, tmp_path, monkeypatch):
    estimate = dry_run(name, folder, "--out", tmp_path / "out", *every)
    sizes = []

    def remove(path, **options):
        sizes.append(size_of(path.parent))
        shutil.rmtree(path, **options)

    clock = itertools.count(step=1000)  # a checkpoint after each epoch
    monkeypatch.setattr(
        "firth.embed.runs.session.time",
        SimpleNamespace(monotonic=clock.__next__, perf_counter=time.perf_counter),
    )
    monkeypatch.setitem(make_mlm_run.__wrapped__.__kwdefaults__, "tuning", OFTEN)
    monkeypatch.setattr(checkpoint, "shutil", SimpleNamespace(rmtree=remove))
    assert invoke(name, folder, "--out", tmp_path / "out", *every).exit_code == 0
    assert estimate["temporary"] == pytest.approx(max(sizes), rel=0.2)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("build-corpus", "--lemmatize nowhere"),
        ("build-corpus", "--format parquet"),
        ("train-svd", "--dim 5000"),
        ("train-svd", "--min-count 100000"),
        ("train-svd --pieces", "--dim 301"),
        ("train-skipgram", "--memory 1M"),
        ("train-skipgram", "--init nowhere"),
        ("train-cbow", "--subwords 4-3"),
        ("train-mlm", "--preset 2/128/3"),
    ],
)
def test_a_dry_run_refuses_what_the_command_refuses(name, options, folder, tmp_path):
    more = [*options.split(), "--out", tmp_path / "out"]
    real, dry = invoke(name, folder, *more), invoke(name, folder, *more, "--dry-run")
    assert real.exit_code == dry.exit_code == 1
    assert real.stderr == dry.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["build-corpus", "train-svd"])
def test_a_dry_run_is_for_this_machine(name, folder):
    refused = invoke(name, folder, "--dry-run", "--cluster", "local:2").stderr
    assert refused.endswith("Error: --cluster cannot be combined with --dry-run\n")


@pytest.mark.slow
def test_a_dry_run_of_several_seeds_tells_their_total(folder):
    several, alone = dry_run("train-svd", folder, "--seeds", 3), dry_run("train-svd", folder)
    assert several["disk"] == 3 * alone["disk"]
    assert several["total_seconds"] == pytest.approx(3 * several["seconds"], abs=0.2)
    assert several.keys() - alone.keys() == {"runs", "total_seconds"}


def test_a_dry_run_is_printed_as_a_table_with_its_reason(folder):
    lines = invoke("train-svd", folder, "--dry-run").stdout.splitlines()
    assert [line.split()[0] for line in lines[3:6]] == ["disk", "temporary", "memory"]
    assert lines[-1].startswith("reckoned from ")


def test_standard_input_and_gensim_are_refused(folder):
    with pytest.raises(
        SourceError, match=r"^<stdin>: a pipe cannot be sampled for `dry_run=True`;"
    ):
        estimate_corpus(request_of("-"))
    shown = invoke("train-skipgram", folder, "--dry-run", "--engine", "gensim")
    assert shown.stderr == "Error: --engine gensim has no --dry-run; pass --engine firth\n"


def test_an_up_to_date_corpus_takes_nothing(folder):
    estimate = dry_run("build-corpus", folder, "--out", folder / "corpus")
    assert (estimate["disk"], estimate["bytes"]) == (0, 0)


# ---- building: samples and extrapolation


def blocks_of(path, most_bytes):
    """Sampled blocks of a file."""
    files = source_files([path])
    return list(sample_blocks(files, ReadOptions(documents="line"), most_bytes, block_bytes=BLOCK))


def test_samples_are_whole_lines_from_all_places_and_none_twice(tmp_path):
    lines = [f"line {number:06}" for number in range(250_000)]
    (tmp_path / "text.txt").write_text("\n".join(lines))
    blocks = blocks_of(tmp_path / "text.txt", 16 * BLOCK)
    found = [line for block in blocks for line in block.data.decode().splitlines()]
    assert set(found) <= set(lines)
    assert len(set(found)) == len(found)
    places = {int(line.split()[1]) * 16 // len(lines) for line in found}
    assert places == set(range(16))
    # at each place a line is skipped, and one at the end of what was read is not yielded
    consumed = sum(block.consumed for block in blocks)
    assert 12 * len(found) <= consumed <= 12 * len(found) + 16 * 2048


@pytest.mark.slow
def test_compressed_files_are_sampled_by_the_bytes_read(tmp_path):
    text = text_of(10_000).encode()
    (tmp_path / "text.txt.gz").write_bytes(gzip.compress(text))
    blocks = blocks_of(tmp_path / "text.txt.gz", 4 * BLOCK)
    data = b"".join(block.data for block in blocks)
    assert text.startswith(data)
    share = sum(block.consumed for block in blocks) / (tmp_path / "text.txt.gz").stat().st_size
    assert 3 * BLOCK < len(data) < 5 * BLOCK
    assert share == pytest.approx(len(data) / len(text), rel=0.05)


def test_a_part_of_the_sources_tells_the_size_of_the_corpus(tmp_path):
    paths = [tmp_path / f"{number}.txt" for number in range(3)]
    for number, path in enumerate(paths):
        path.write_text(text_of(4_000, 200_000, seed=number))
    estimate = estimate_corpus(request_of(*paths), sample_bytes=4 * BLOCK, block_bytes=BLOCK)
    assert estimate.sizes["bytes"] == size_of(tmp_path)
    corpus = encode_corpus(request_of(*paths), tmp_path / "corpus")
    assert estimate.disk == pytest.approx(size_of(corpus.path), rel=0.2)
    assert estimate.sizes["tokens"] == pytest.approx(corpus.n_tokens, rel=0.05)
    assert estimate.sizes["types"] == pytest.approx(corpus.manifest["types"], rel=0.2)


@pytest.mark.parametrize(("exponent", "bend"), [(1.0, 0.0), (0.6, 0.0), (0.8, -0.02)])
def test_growth_by_a_power_that_may_fall_is_continued(exponent, bend):
    sizes = np.array([1e6, 2e6, 4e6, 8e6])

    def grown(size):
        steps = np.log(size / 1e6)
        return np.exp(10 + exponent * steps + bend * steps**2 / 2)

    assert extrapolated(sizes, grown(sizes), 1e8) == pytest.approx(grown(1e8))
    assert extrapolated(sizes, grown(sizes), 4e6) == pytest.approx(grown(4e6))


def test_growth_that_has_ended_does_not_turn_around():
    assert extrapolated([1, 2, 4, 8], [10, 18, 24, 25], 1e6) == pytest.approx(25, rel=0.1)


# ---- SVD


@pytest.mark.slow
def test_a_part_of_the_text_tells_the_nonzeros(folder):
    config = SvdConfig(dim=20, min_count=1, threads=1)
    estimated, whole = (
        estimate_svd(Corpus.open(folder / "corpus"), config, sample_tokens=n).sizes["nonzeros"]
        for n in (15_000, 1_000_000)
    )
    assert estimated == pytest.approx(whole, rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("memory", [None, "320M"])
def test_the_memory_of_the_svd_is_within_a_fifth(folder, tmp_path, memory):
    config = SvdConfig(dim=60, min_count=1, threads=1, memory=memory)
    corpus = Corpus.open(folder / "corpus")
    estimate_svd(corpus, config)  # compiles and imports
    tracemalloc.start()  # NumPy tells it the size of its arrays
    try:
        before = tracemalloc.get_traced_memory()[0]
        make_svd_run(corpus, config, tmp_path / "svd")
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    text, n_rows, _ = svd_dry_run._open(corpus, config)
    metrics = (tmp_path / "svd" / "metrics.jsonl").read_text()
    lines = [json.loads(line) for line in metrics.splitlines()]
    entries, nonzeros = (line["nonzeros"] for line in lines[:2])
    memory, _ = svd_dry_run._memory(n_rows, text.n_tokens, entries, nonzeros, config)
    assert memory == pytest.approx(peak, rel=0.2)
