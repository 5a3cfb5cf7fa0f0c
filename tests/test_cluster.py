"""Corpora and vectors made by the workers of a cluster: the same bytes as on one machine."""

import json
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from firth.cli import main
from firth.corpora.artifacts.artifact import SCRATCH, artifact_paths, write_json
from firth.corpora.artifacts.tasks import TaskFolder, WorkerTask
from firth.corpora.common import jit
from firth.corpora.common.cluster import open_executor
from firth.corpora.common.errors import ArtifactError, FirthError, SourceError
from firth.corpora.encoding import pipeline
from firth.corpora.encoding.phrase_options import PhraseOptions
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import BuildOptions, Request, make_request
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.store.corpus import Corpus
from firth.corpora.text.segment import TextSettings
from firth.embed.contextual import encoding_tasks, pooled_run
from firth.embed.contextual.encoded_text import EncodeConfig, Form, encode_file
from firth.embed.contextual.encoders import encoder_fingerprint, open_encoder
from firth.embed.contextual.encoding_tasks import encode_block, encode_on
from firth.embed.contextual.pooled_run import pool_run
from firth.embed.contextual.pooling import PoolConfig, pool_words
from firth.embed.svd import shard_counts
from firth.embed.svd.train import SvdConfig, make_svd_run, train_svd
from firth.embed.vectors.one_thread import ONE_THREAD
from tests.pretrain.small_run import TEXT, small_run

distributed = pytest.importorskip("distributed")
import cloudpickle  # noqa: E402

pytestmark = pytest.mark.process

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import tests

# Little enough for several parts, shards, blocks and tasks of each kind.
SIZES = {"shard_tokens": 2000, "block_bytes": 3000}
PART_BYTES = 9000
SVD = SvdConfig(dim=20, min_count=1, subsample=0, threads=1)
POOL = PoolConfig(min_count=1, contexts_per_word=3)
ENCODE = EncodeConfig(layers="2")


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> list[Path]:
    """Nine files, one of them empty and one longer than a part."""
    folder = tmp_path_factory.mktemp("sources")
    rng = random.Random(3)

    def sentence() -> str:
        return " ".join(
            f"w{int(rng.paretovariate(0.5)) % 900}" for _ in range(rng.randrange(1, 30))
        )

    paths = []
    for number, n_documents in enumerate((30, 40, 0, 150, 25, 60, 10, 45, 20)):
        paths.append(folder / f"{number}.jsonl")
        documents = [f"{sentence()}. New york, {sentence()}!" for _ in range(n_documents)]
        records = [{"text": text, "year": str(number)} for text in documents]
        paths[-1].write_text("".join(json.dumps(record) + "\n" for record in records))
    return paths


@pytest.fixture(scope="module")
def corpus(sources, tmp_path_factory) -> Corpus:
    """The corpus of the sources, built on one machine."""
    return encode_corpus(make_request(sources), tmp_path_factory.mktemp("here") / "corpus", **SIZES)


@pytest.fixture(scope="module")
def vectors(corpus, tmp_path_factory) -> bytes:
    """The vectors of the corpus, trained on one machine."""
    run_path = make_svd_run(corpus, SVD, tmp_path_factory.mktemp("here") / "run")
    return (run_path / "vectors.npy").read_bytes()


@pytest.fixture(scope="module")
def processes() -> Iterator[Any]:
    """Two workers in processes, which are started again when they are killed."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    ) as cluster:
        yield cluster


def cluster_of(n_workers: int) -> Any:
    """Return a cluster of workers in threads, to be closed."""
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=False, protocol="tcp",
        dashboard_address=":0", silence_logs=50,
    )  # fmt: skip


@pytest.fixture
def few_shards(monkeypatch) -> None:
    """Divide the few shards into many tasks."""
    small = partial(shard_counts.counts_of_shards, task_tokens=4000)
    monkeypatch.setattr(shard_counts, "counts_of_shards", small)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> Path:
    """A run of train-mlm."""
    return small_run(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="module")
def lines(tmp_path_factory) -> Path:
    """A text of some lines, one of them empty."""
    path = tmp_path_factory.mktemp("lines") / "lines.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture
def few_at_once(monkeypatch) -> None:
    """Divide the few sentences into blocks of as many tasks."""
    monkeypatch.setattr(pooled_run, "pool_words", partial(pool_words, tokens_at_once=20))
    monkeypatch.setattr(encoding_tasks, "WORDS_AT_ONCE", 20)


@pytest.fixture
def pooled(encoder, few_at_once, tmp_path) -> bytes:
    """Vectors that are pooled on one machine."""
    with ONE_THREAD:
        run_path = pool_run(encoder, POOL, tmp_path / "pooled-here", device="cpu")
    return (run_path / "vectors.npy").read_bytes()


@pytest.fixture
def encoded(encoder, lines, tmp_path) -> bytes:
    """The encoded lines, by one machine."""
    out = tmp_path / "encoded-here.jsonl"
    with ONE_THREAD:
        encode_file(open_encoder(encoder, "cpu"), lines, out, ENCODE, words_at_once=20)
    return out.read_bytes()


class Named(Executor):
    """Runs tasks elsewhere, after ``before`` has seen or replaced each."""

    def __init__(self, inner: Executor, before: Callable[[Any], Any]) -> None:
        self.inner, self.before, self.names = inner, before, []

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future:
        self.names.append(function.name)
        return self.inner.submit(self.before(function), *args, **kwargs)

    def count(self, name: str) -> int:
        """Return how many tasks of a kind were submitted."""
        return sum(each.startswith(name) for each in self.names)


def contents(path: Path) -> dict[str, bytes]:
    """Return every file of a corpus but those with times in them."""
    skipped = ("checksums.json", "provenance.json")
    files = (each for each in path.rglob("*") if each.is_file() and each.name not in skipped)
    return {each.relative_to(path).as_posix(): each.read_bytes() for each in files}


def build_there(request: Request, out: Path, executor: Executor, **more: Any) -> Corpus:
    """Build with small parts on an executor."""
    return encode_corpus(request, out, executor=executor, part_bytes=PART_BYTES, **SIZES, **more)


@pytest.mark.parametrize("n_workers", [1, 3, 7])
def test_any_number_of_workers_makes_the_same_bytes(
    n_workers, sources, corpus, vectors, few_shards, encoder, pooled, lines, encoded, tmp_path
):
    with cluster_of(n_workers) as cluster:
        with open_executor(cluster.scheduler_address) as executor:
            built = build_there(make_request(sources), tmp_path / "corpus", executor)
            made = make_svd_run(corpus, SVD, tmp_path / "run", cluster=executor)
            pool_run(encoder, POOL, tmp_path / "pooled", cluster=executor)
            encode_on(executor, encoder, lines, tmp_path / "lines.jsonl", ENCODE)
        names = set(cluster.scheduler.task_prefixes)

    assert contents(built.path) == contents(corpus.path)
    assert (made / "vectors.npy").read_bytes() == vectors
    assert (tmp_path / "pooled" / "vectors.npy").read_bytes() == pooled
    assert (tmp_path / "lines.jsonl").read_bytes() == encoded
    # as the dashboard shows them
    assert names >= {"encode", "count", "pool", "encode-lines"}
    assert not (made / "scratch").exists()
    assert json.loads((made / "provenance.json").read_text())["cluster"] == [jit.cpu()]


@dataclass(frozen=True)
class KilledOnce:
    """A task whose worker is killed the first time: before it, while it writes, or after it."""

    name: str
    attempt: Any
    mark: Path
    when: int

    def __call__(self) -> Any:
        if self.mark.exists():
            return self.attempt()
        self.mark.touch()
        if self.when == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        attempt = self.attempt
        if self.when == 1:
            task = replace(attempt.task, function=written_and_killed(attempt.task.function))
            attempt = replace(attempt, task=task)
        attempt()
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


def written_and_killed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Kill the worker when a task has written its files, but not its manifest."""

    def killed(*arguments: Any) -> None:
        function(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)

    return killed


def test_killed_workers_change_no_byte(processes, sources, corpus, vectors, few_shards, tmp_path):
    killed = ["encode-00001", "encode-00003", "count-00000", "count-00001"]
    when = random.Random(5)

    def kill(attempt: Any) -> Any:
        if attempt.name not in killed:
            return attempt
        return KilledOnce(attempt.name, attempt, tmp_path / attempt.name, when.randrange(3))

    with open_executor(processes.scheduler_address) as workers:
        executor = Named(workers, kill)
        built = build_there(make_request(sources), tmp_path / "corpus", executor)
        made = make_svd_run(corpus, SVD, tmp_path / "run", cluster=executor)

    assert sorted(path.name for path in tmp_path.glob("*-0*")) == sorted(killed)
    assert contents(built.path) == contents(corpus.path)
    assert (made / "vectors.npy").read_bytes() == vectors


def invoke(*words: Any, input: bytes | None = None) -> str:
    """Run a command; return what it prints."""
    line = [str(word) for word in words]
    done = CliRunner().invoke(main, line, input=input, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_commands_run_on_a_cluster(processes, sources, corpus, tmp_path):
    out, run_path = tmp_path / "corpus", tmp_path / "run"
    options = ["--cluster", processes.scheduler_address]

    invoke("build-corpus", *sources, "--out", out, *options)
    settings = ["--dim", "8", "--min-count", "1", "--threads", "1"]
    printed = invoke("train-svd", out, "--out", run_path, *settings, *options)

    assert Corpus.open(out).fingerprint == corpus.fingerprint
    assert "8 dimensions" in printed


def test_encoders_run_on_a_cluster(encoder, lines, tmp_path):
    with cluster_of(1) as cluster:
        there = ["--cluster", cluster.scheduler_address, "--out"]
        printed = invoke("pool", encoder, "--min-count", "1", *there, tmp_path / "pooled")
        text = ["encode", encoder, "-", "--per", "sentence", *there, tmp_path / "out.npz"]
        invoke(*text, input=lines.read_bytes())
    assert "32 dimensions" in printed
    with np.load(tmp_path / "out.npz") as found:
        assert found["vectors"].shape == (len(TEXT.splitlines()), 16)
    assert json.loads((tmp_path / "pooled" / "provenance.json").read_text())["cluster"] == [
        jit.cpu()
    ]


OTHER_BUILDS = {
    "kept text": {"options": BuildOptions(keep_text=True, max_types=300)},
    "fields": {"read": ReadOptions(keep=("year",))},
    "lemmas": {"text": TextSettings(lemmatize="en")},
    "phrases": {"phrases": PhraseOptions(phrases="npmi", phrase_min_count=5)},
}


@pytest.mark.parametrize("name", OTHER_BUILDS)
def test_threads_as_workers_build_the_same_corpus(name, sources, tmp_path):
    request = make_request(sources, **OTHER_BUILDS[name])
    here = encode_corpus(request, tmp_path / "here", **SIZES)
    with ThreadPoolExecutor(2) as executor:
        there = build_there(request, tmp_path / "there", executor)
    assert contents(there.path) == contents(here.path)


@pytest.mark.parametrize("weighting", ["counts", "log-counts"])
def test_threads_as_workers_train_the_same_vectors(weighting, corpus, few_shards, tmp_path):
    config = replace(SVD, weighting=weighting, context_side="left", max_vocabulary=300)
    here = train_svd(corpus, config, tmp_path / "here")
    with ThreadPoolExecutor(2) as executor:
        there = train_svd(corpus, config, tmp_path / "there", cluster=executor)
    assert there.matrix.tobytes() == here.matrix.tobytes()


class Stopped(BaseException):
    """The coordinator is killed."""


def stop_at(name: str) -> Callable[[Any], Any]:
    """Stop when a task of a name is submitted."""

    def stop(attempt: Any) -> Any:
        if attempt.name == name:
            raise Stopped
        return attempt

    return stop


def test_a_stopped_build_goes_on_with_what_is_missing(sources, corpus, tmp_path):
    out, request = tmp_path / "corpus", make_request(sources)
    with ThreadPoolExecutor(1) as threads, pytest.raises(Stopped):
        build_there(request, out, Named(threads, stop_at("encode-00003")))
    with ThreadPoolExecutor(1) as threads:
        tasks = artifact_paths(out)[1] / SCRATCH / "tasks"
        done = len(list(tasks.glob("encode-*/task.json")))
        again = Named(threads, lambda attempt: attempt)
        built = build_there(request, out, again)

    assert contents(built.path) == contents(corpus.path)
    assert done + again.count("encode") == 5


def test_a_build_that_is_stopped_while_its_shards_are_written_goes_on(
    sources, corpus, tmp_path, monkeypatch
):
    def stop(*_: Any, **__: Any) -> None:
        raise Stopped

    out, request = tmp_path / "corpus", make_request(sources)
    for step in ("write_array", "hold_out"):  # ids are being replaced; all but the held-out slice
        with monkeypatch.context() as planted, ThreadPoolExecutor(1) as threads:
            planted.setattr(pipeline, step, stop)
            with pytest.raises(Stopped):
                build_there(request, out, threads)
    with ThreadPoolExecutor(1) as threads:
        again = Named(threads, lambda attempt: attempt)
        built = build_there(request, out, again)

    assert contents(built.path) == contents(corpus.path)
    assert again.count("encode") == 0


def test_a_changed_source_is_encoded_again(sources, tmp_path, monkeypatch):
    own = [tmp_path / path.name for path in sources]
    for source, path in zip(sources, own, strict=True):
        path.write_bytes(source.read_bytes())
    out, request = tmp_path / "corpus", make_request(own)
    with ThreadPoolExecutor(1) as threads:
        with pytest.raises(Stopped):
            build_there(request, out, Named(threads, stop_at("encode-00004")))
        # the first coordinator's tasks may still run beside those of the second
        own[0].write_text(own[0].read_text().replace("york", "cork"))
        again = Named(threads, lambda attempt: attempt)
        built = build_there(request, out, again)

    assert again.names[0] == "encode-00000"
    assert again.names[-1] == "encode-00004"
    here = encode_corpus(request, tmp_path / "here", **SIZES)
    assert contents(built.path) == contents(here.path)


@pytest.mark.parametrize(
    "more", [{}, {"threads": 2, "memory": "1G"}], ids=["same", "other machine"]
)
def test_a_stopped_training_goes_on_with_what_is_missing(
    corpus, vectors, few_shards, tmp_path, more
):
    out = tmp_path / "run"
    with ThreadPoolExecutor(1) as threads, pytest.raises(Stopped):
        make_svd_run(corpus, SVD, out, cluster=Named(threads, stop_at("count-00003")))
    with ThreadPoolExecutor(1) as threads:
        done = len(list((artifact_paths(out)[1] / SCRATCH).glob("count-*/task.json")))
        again = Named(threads, lambda attempt: attempt)
        make_svd_run(corpus, replace(SVD, **more), out, cluster=again)

    assert (out / "vectors.npy").read_bytes() == vectors
    assert done + again.count("count") == 4


class AtOnce(Executor):
    """Runs a task when it is submitted."""

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future:
        future: Future = Future()
        future.set_result(function(*args, **kwargs))
        return future


def test_what_was_pooled_or_encoded_is_not_repeated(encoder, pooled, lines, encoded, tmp_path):
    for name, make in {"pool": pool_there, "encode-lines": encode_there}.items():
        stopped, again = (
            Named(AtOnce(), stop_at(f"{name}-00002")),
            Named(AtOnce(), lambda task: task),
        )
        with pytest.raises(Stopped):
            make(encoder, lines, tmp_path, stopped)
        found = make(encoder, lines, tmp_path, again)
        assert found == {"pool": pooled, "encode-lines": encoded}[name]
        assert again.names[0] == f"{name}-00002"
    assert not list(tmp_path.glob("*.partial"))


def test_tasks_that_are_lost_half_way_are_repeated_with_the_same_bytes(
    encoder, pooled, lines, encoded, tmp_path
):
    def lost(attempt: Any) -> Any:
        with pytest.raises(Stopped):
            replace(attempt, task=replace(attempt.task, function=written_and_lost(attempt)))()
        return attempt

    executor = Named(AtOnce(), lost)
    assert pool_there(encoder, lines, tmp_path, executor) == pooled
    assert encode_there(encoder, lines, tmp_path, executor) == encoded
    assert executor.count("pool") > 1 < executor.count("encode-lines")


def written_and_lost(attempt: Any) -> Callable[..., Any]:
    """Stop when a task has written its files, but not its manifest."""

    def function(*arguments: Any) -> None:
        attempt.task.function(*arguments)
        raise Stopped

    return function


def pool_there(encoder: Path, _lines: Path, folder: Path, executor: Executor) -> bytes:
    """Pool on an executor."""
    made = pool_run(encoder, POOL, folder / "pooled", cluster=executor)
    return (made / "vectors.npy").read_bytes()


def encode_there(encoder: Path, lines: Path, folder: Path, executor: Executor) -> bytes:
    """Encode lines on an executor."""
    encode_on(executor, encoder, lines, folder / "lines.jsonl", ENCODE)
    return (folder / "lines.jsonl").read_bytes()


@pytest.mark.parametrize("name", ["corpus", "lines"])
def test_of_two_coordinators_of_one_output_the_second_is_refused(
    name, sources, encoder, lines, tmp_path
):
    refused = []

    def make(executor: Executor) -> None:
        if name == "corpus":
            build_there(make_request(sources), tmp_path / "corpus", executor)
        else:
            encode_there(encoder, lines, tmp_path, executor)

    def second(attempt: Any) -> Any:
        with pytest.raises(ArtifactError, match="another process is writing it") as error:
            make(threads)
        refused.append(error)
        return attempt

    with ThreadPoolExecutor(1) as threads:
        make(Named(threads, second))
    assert refused


def test_a_text_that_cannot_be_encoded_leaves_nothing(encoder, few_at_once, tmp_path):
    (tmp_path / "bad").write_bytes(b"the king\n" * 20 + b"caf\xe9\n")
    refused = {
        "bad": (ENCODE, r"bad:21: byte 0xE9 is not UTF-8"),
        "none": (ENCODE, "none: No such file"),
        os.devnull: (EncodeConfig(layers="9"), "no layer 9"),
    }
    for name, (config, message) in refused.items():
        with pytest.raises(FirthError, match=message):
            encode_on(AtOnce(), encoder, tmp_path / name, tmp_path / "new" / "out.npz", config)
    assert [path.name for path in tmp_path.iterdir()] == ["bad"]


def test_a_worker_does_not_keep_the_encoder_of_a_run_that_was_replaced(encoder, tmp_path):
    write_json(tmp_path / "lines.json", [["the", "king"]])
    (tmp_path / "encoder").mkdir()
    found = []
    for seed in (1, 2, 1):
        run_path = small_run(tmp_path / "encoder", seed=seed)
        (tmp_path / "task").mkdir()
        place = run_path, encoder_fingerprint(run_path)
        encode_block(tmp_path / "task", tmp_path / "lines.json", place, (2,), Form(".npz", "word"))
        shutil.rmtree(run_path)
        found.append((tmp_path / "task" / "rows").read_bytes())
        shutil.rmtree(tmp_path / "task")
    assert found[0] == found[2] != found[1]


def test_a_second_attempt_at_a_task_changes_nothing(tmp_path):
    def write(folder: Path, text: str) -> str:
        (folder / "text").write_text(text)
        return text

    task = WorkerTask("write-00000", write, ("some",), key="1")
    twice = Named(ThreadPoolExecutor(1), lambda attempt: lambda: [attempt(), attempt()][1])
    tasks = TaskFolder(twice, tmp_path / "tasks")

    assert [*tasks.run([task])] == [*tasks.run([task])] == [(0, "some")]
    assert twice.names == ["write-00000"]
    assert [*tasks.run([replace(task, arguments=("other",), key="2")])] == [(0, "other")]
    assert len(list((tmp_path / "tasks").iterdir())) == 2  # one of each key
    assert (tasks.path_of(task) / "text").read_text() == "some"


def test_sums_of_workers_of_two_kinds_are_refused(monkeypatch, tmp_path):
    tasks = TaskFolder(ThreadPoolExecutor(1), tmp_path / "tasks")
    monkeypatch.setattr(jit, "cpu", lambda: "kind-1")
    done, added = WorkerTask("sum-00000", str, ()), WorkerTask("sum-00001", str, ())
    assert list(tasks.run([done], exact=False)) == list(tasks.run([done], exact=False))
    monkeypatch.setattr(jit, "cpu", lambda: "kind-2")
    with pytest.raises(
        FirthError, match=r"\(kind-1, kind-2\).* or pass `force=True` to start again"
    ):
        list(tasks.run([done, added], exact=False))
    assert len(list(tasks.run([done, added]))) == 2  # of integers


def test_an_error_in_a_source_comes_from_the_worker_in_one_line(processes, sources, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"text": "a b"}\n{"txt": "c"}\n')
    with (
        open_executor(processes.scheduler_address) as executor,
        pytest.raises(SourceError, match=r"bad.jsonl:2: .*text") as error,
    ):
        build_there(make_request([*sources, bad]), tmp_path / "corpus", executor)
    assert "\n" not in str(error.value)


def test_a_task_that_kills_its_workers_is_named(processes):
    def kill() -> None:
        raise distributed.scheduler.KilledWorker("encode-00003-abcd.4", "tcp://w", 3)

    with (
        pytest.raises(FirthError, match=r"^encode-00003: killed 4 workers; give workers more"),
        open_executor(processes.scheduler_address),
    ):
        kill()


def test_a_disk_that_workers_do_not_see_is_named(tmp_path):
    def removed(attempt: Any) -> Any:
        return replace(attempt, home=tmp_path / "elsewhere")

    tasks = TaskFolder(Named(ThreadPoolExecutor(1), removed), tmp_path / "tasks")
    with pytest.raises(ArtifactError, match="must be on a disk that all machines share"):
        list(tasks.run([WorkerTask("any", str, ())]))


def connect(cluster: str) -> None:
    """Open the executor of a cluster."""
    with open_executor(cluster, seconds=0.2):
        pass


def pool_with(encoder: Path, out: Path, device: str = "auto", **options: Any) -> Path:
    """Pool on a cluster that is not reached."""
    return pool_run(encoder, replace(POOL, **options), out, device=device, cluster="local:2")


# made of a corpus, an encoder and a new path
REFUSED: dict[str, tuple[Callable[[Corpus, Path, Path], object], str]] = {
    "no scheduler": (
        lambda *_: connect("tcp://127.0.0.1:9"),
        "no scheduler answers; start one with `dask scheduler`",
    ),
    "no address": (
        lambda *_: connect("somewhere"),
        "must be the address of a scheduler, such as tcp://HOST:8786, or local:N",
    ),
    "no process": (lambda *_: connect("local:0"), "must be the address of a scheduler"),
    "pieces": (
        lambda corpus, _, out: train_svd(corpus, replace(SVD, pieces=200), out, cluster="local:2"),
        "pieces are counted on one machine; drop `cluster`",
    ),
    "a sample": (
        lambda corpus, _, out: train_svd(corpus.sample(3000), SVD, out, cluster="local:2"),
        "whole corpora",
    ),
    "input embeddings": (
        lambda _, encoder, out: pool_with(encoder, out, source="input-embeddings"),
        "`source=input-embeddings`: is only looked up; drop",
    ),
    "a GPU": (
        lambda _, encoder, out: pool_with(encoder, out, device="mps"),
        "`device=mps`: a cluster encodes on CPUs; pass `device=cpu`",
    ),
    "a pipe": (
        lambda *made: build_there(make_request(["-"]), made[-1], ThreadPoolExecutor(1)),
        "from a pipe",
    ),
}


@pytest.mark.parametrize(("call", "message"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_a_cluster_is_refused(call, message, corpus, encoder, tmp_path):
    with pytest.raises(FirthError, match=message):
        call(corpus, encoder, tmp_path / "out")


def test_only_who_started_local_workers_can_connect_to_them():
    with open_executor("local:1") as executor:
        address = executor.submit(scheduler_address).result()
        assert address.startswith("tls://127.0.0.1:")
        with pytest.raises(OSError, match=r"certificate|Timed out"):  # with another's certificate
            distributed.Client(address, timeout=1, security=distributed.Security.temporary())


def scheduler_address() -> str:
    """Return the address of a worker's scheduler."""
    return str(distributed.get_worker().scheduler.address)


def test_a_scheduler_without_workers_is_refused():
    message = "the scheduler has no workers; start some with"
    with cluster_of(0) as cluster, pytest.raises(FirthError, match=message):
        connect(cluster.scheduler_address)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(FirthError, match=r"needs Dask; pip install 'firth\[dask\]' here and on"):
        connect("local:2")
