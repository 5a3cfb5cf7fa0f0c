"""Every command, killed, interrupted or refused by the system at some point of its work.

Afterwards the output is intact or absent, the error is one line, and the same command succeeds when
it is run again.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
import zlib

import pytest

from tests.faults.conftest import content_hash, is_intact, leftovers
from tests.faults.table import CALLS, PRINTERS, SINGLE, WRITERS
from tests.processes import NOT_RENAMED, Fault
from tests.waiting import PATIENCE, processes_in_group, wait_for

KILLS = 2  # for each command


def fault_points(name: str, changes: int, count: int) -> list[int]:
    """Return file changes at which to inject a fault, always the same, more in the last third."""
    chosen = [zlib.crc32(f"{name} {n}".encode()) for n in range(count)]
    late = max(changes * 2 // 3, 0)
    return [
        late + number % (changes - late) if n % 2 else number % changes
        for n, number in enumerate(chosen)
    ]


def assert_outputs_intact_or_absent(work, folder=None):
    """Assert that every output, or every run of a folder of runs, is intact or absent."""
    for each in CALLS[work.name].makes:
        path = (folder or work.folder) / each
        if work.name == "learning-curve" and path.is_dir():
            runs = [run for run in path.iterdir() if run.is_dir() and run.suffix != ".partial"]
            assert all(map(is_intact, runs))
        elif path.exists():
            assert is_intact(path)
            assert content_hash(path) == work.expected.contents[each]


def assert_nothing_partial(work, folder=None):
    """Assert that outputs are intact or absent, and that only resumable work is left besides."""
    assert_outputs_intact_or_absent(work, folder)
    if not CALLS[work.name].resumes:
        assert leftovers(folder or work.folder, CALLS[work.name].makes) == []


def assert_works_again(work):
    """Assert that the same command succeeds, with --force if some outputs already exist."""
    again = work.run()
    if again.status and NOT_RENAMED in again.stderr:  # killed just before the rename
        for path in work.folder.glob("*.partial"):
            path.rename(path.with_suffix(""))
    elif again.status:
        assert "already exists" in again.stderr
        again = work.run(None, "--force")
        assert again.status == 0, again.stderr
    assert work.contents() == work.expected.contents


def assert_refused(result, place, last="Error: ") -> None:
    """Assert that a command failed with one line, which names a place."""
    assert result.status == 1
    assert "Traceback" not in result.stderr
    assert result.stderr.rstrip("\n").splitlines()[-1].startswith(last), result.stderr
    assert str(place) in result.stderr


@pytest.mark.parametrize("number", range(KILLS))
@pytest.mark.parametrize("name", WRITERS)
def test_a_killed_command_leaves_an_intact_output_or_none(work, name, number):
    at_change = fault_points(name, work.expected.result.changes, KILLS)[number]
    killed = work.run(Fault(signal=signal.SIGKILL, at_change=at_change))
    assert killed.status == -signal.SIGKILL
    assert_outputs_intact_or_absent(work)
    assert_works_again(work)


@pytest.mark.parametrize("name", WRITERS)
def test_a_command_killed_while_writing_leaves_an_intact_output_or_none(work, name):
    killed = work.run(Fault(max_file_size=100, die_at_max=True))
    assert killed.status == -signal.SIGXFSZ
    assert_outputs_intact_or_absent(work)
    assert [each for each in CALLS[name].makes if (work.folder / each).is_file()] == []


@pytest.mark.parametrize("name", SINGLE)
def test_an_interrupted_command_prints_one_line(work, name):
    if CALLS[name].makes:
        when = {"at_change": fault_points(name, work.expected.result.changes, 3)[2]}
    else:
        when = {"on_read": str(work.inputs)}
    assert_refused(work.run(Fault(signal=signal.SIGINT, **when)), "", "Aborted!")
    assert_nothing_partial(work)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("missing", ["most", "the last byte"])
def test_a_file_size_limit_prints_a_one_line_error(work, missing):
    size = 1000 if missing == "most" else work.expected.largest - 1
    assert_refused(work.run(Fault(max_file_size=size)), work.folder)
    if missing == "most":
        assert_nothing_partial(work)
    else:
        assert_outputs_intact_or_absent(work)


@pytest.fixture(scope="module")
def mounted(tmp_path_factory):
    """Return a function that mounts a small or read-only disk; skip if mounting is forbidden."""
    folders = []

    def mount(options):
        folder = tmp_path_factory.mktemp("disk")
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder],
            capture_output=True,
            check=False,
        )
        if done.returncode:
            pytest.skip("mounting a disk is not allowed here")
        folders.append(folder)
        return folder

    try:
        yield mount
    finally:
        for folder in folders:
            subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_prints_a_one_line_error(work, mounted):
    disk = mounted("size=8k")
    assert_refused(work.run(place=disk), disk)
    assert_nothing_partial(work, disk)


@pytest.mark.parametrize("name", [name for name in CALLS if CALLS[name].makes])
@pytest.mark.parametrize("kind", ["a read-only disk", "below a file"])
def test_an_unwritable_output_prints_a_one_line_error(
    server, inputs, workdir, mounted, tmp_path, name, kind
):
    (tmp_path / "file").touch()
    place = mounted("ro") if kind == "a read-only disk" else tmp_path / "file" / "folder"
    assert_refused(server.run([name, *CALLS[name].line(inputs, place)], workdir), place)


@pytest.mark.parametrize("name", PRINTERS)
def test_an_unwritable_cache_is_ignored_or_a_one_line_error(work):
    result = work.run(Fault(max_file_size=0))
    assert "Traceback" not in result.stderr
    if result.status == 0:
        assert result.stdout == work.expected.result.stdout
    else:
        assert_refused(result, "")


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
def test_an_interrupt_prints_one_word_despite_worker_processes(server, tmp_path):
    row = "\t".join(["1", "word", *"_" * 8]) + "\n\n"
    (tmp_path / "a.conllu").write_text(row * 1_500_000)
    words = ["build-corpus", tmp_path / "a.conllu", "--out", tmp_path / "corpus", "--threads", 2]
    n_interrupted = 0
    for seconds in (0.0, 0.4, 1.0):  # at work, at an arbitrary point
        process = server.start(words, tmp_path)
        # itself, a worker, and the process that Python starts with the first worker
        wait_for(lambda of=process: processes_in_group(of.pid) > 2 or of.poll() is not None)
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)  # to the workers too, like the keyboard
        stderr = process.wait().stderr
        if (tmp_path / "corpus").exists():  # finished earlier, so complete
            assert is_intact(tmp_path / "corpus")
            shutil.rmtree(tmp_path / "corpus")
            continue
        n_interrupted += 1
        assert stderr.split("\n")[-2:] == ["Aborted!", ""]  # progress lines may precede it
        assert "Traceback" not in stderr
        assert {path.name for path in tmp_path.iterdir()} - {"cache"} == {"a.conllu"}
    assert n_interrupted > 0, "no interrupt came in time: the test shows nothing"


SLOW_THREADS = """
import signal, sys, threading
import click
from firth import cli
from firth.corpora.common.threads import map_in_order

@click.command()
def slow():
    def say(word):
        sys.stdout.write(word + "\\n")  # whole, as threads write at the same time
        sys.stdout.flush()

    def work(item):
        say("begun")
        threading.Event().wait()  # for ever

    def items():
        yield from range(3)
        say("started")  # both threads: Python itself fails if it is interrupted while it starts one
        yield from range(3, 8)

    list(map_in_order(work, items(), 2))

cli.FirthGroup.get_command = lambda *_: slow
sys.argv[1:] = ["slow"]
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for background jobs
cli.run()
"""


@pytest.mark.process
def test_ctrl_c_does_not_wait_for_threads_that_never_end(root):
    with subprocess.Popen(
        [sys.executable, "-c", SLOW_THREADS], cwd=root, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            lines = sorted(process.stdout.readline() for _ in range(3))
            assert lines == ["begun\n", "begun\n", "started\n"]
            process.send_signal(signal.SIGINT)
            try:
                out, error = process.communicate(timeout=PATIENCE / 60)
            except subprocess.TimeoutExpired:  # it came just before Python began to wait; rare
                process.send_signal(signal.SIGINT)
                out, error = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()

    assert (process.returncode, out) == (1, ""), error  # the six other tasks were not begun
    # not always the last line: Python reports a second interrupt that comes while it ends
    assert "Aborted!" in error.splitlines(), error
