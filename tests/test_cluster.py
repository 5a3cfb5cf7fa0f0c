"""Corpora and vectors made by the workers of a cluster: the same bytes as on one machine."""

import json
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from firth.cli import main
from firth.corpora.artifacts.artifact import SCRATCH, artifact_paths
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
from firth.embed.svd import shard_counts
from firth.embed.svd.train import SvdConfig, make_svd_run, train_svd

distributed = pytest.importorskip("distributed")
import cloudpickle  # noqa: E402

pytestmark = pytest.mark.process

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import tests

# Little enough for several parts, shards, blocks and tasks of each kind.
SIZES = {"shard_tokens": 2000, "block_bytes": 3000}
PART_BYTES = 9000
SVD = SvdConfig(dim=20, min_count=1, subsample=0, threads=1)


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
    n_workers, sources, corpus, vectors, few_shards, tmp_path
):
    with cluster_of(n_workers) as cluster:
        with open_executor(cluster.scheduler_address) as executor:
            built = build_there(make_request(sources), tmp_path / "corpus", executor)
            made = make_svd_run(corpus, SVD, tmp_path / "run", cluster=executor)
        names = set(cluster.scheduler.task_prefixes)

    assert contents(built.path) == contents(corpus.path)
    assert (made / "vectors.npy").read_bytes() == vectors
    # as the dashboard shows them
    assert names >= {"encode", "count"}
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


def test_of_two_coordinators_of_one_output_the_second_is_refused(sources, tmp_path):
    refused = []

    def make(executor: Executor) -> None:
        build_there(make_request(sources), tmp_path / "corpus", executor)

    def second(attempt: Any) -> Any:
        with pytest.raises(ArtifactError, match="another process is writing it") as error:
            make(threads)
        refused.append(error)
        return attempt

    with ThreadPoolExecutor(1) as threads:
        make(Named(threads, second))
    assert refused


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


# made of a corpus and a new path
REFUSED: dict[str, tuple[Callable[[Corpus, Path], object], str]] = {
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
        lambda corpus, out: train_svd(corpus, replace(SVD, pieces=200), out, cluster="local:2"),
        "pieces are counted on one machine; drop `cluster`",
    ),
    "a sample": (
        lambda corpus, out: train_svd(corpus.sample(3000), SVD, out, cluster="local:2"),
        "whole corpora",
    ),
    "a pipe": (
        lambda *made: build_there(make_request(["-"]), made[-1], ThreadPoolExecutor(1)),
        "from a pipe",
    ),
}


@pytest.mark.parametrize(("call", "message"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_a_cluster_is_refused(call, message, corpus, tmp_path):
    with pytest.raises(FirthError, match=message):
        call(corpus, tmp_path / "out")


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
