"""Commands run in forked processes, with faults injected at chosen file changes.

A server process imports the program once and forks for each command. Faults are placed by counting
file changes (opening for writing, renaming, removing ...), so that a fault meets the same state of
the disk on every machine.
"""

import contextlib
import importlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

TIMEOUT = 3600  # seconds
CPU_SECONDS = 1200  # limit per command; each takes a few at most
TIMED_OUT = -1000
NOT_RENAMED = "complete, but not yet renamed; move it to "  # what the next command says
_CALL = "--call"
_ROOT = Path(__file__).resolve().parents[2]
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
_CHANGES = {
    "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate",
}  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_NEEDED = [
    "torch",
    "torch._dynamo",
    "torch.optim",
    "gensim.models",
    "jinja2",
    "matplotlib.figure",
    "matplotlib.backends.backend_svg",
    "matplotlib.font_manager",
    "scipy.sparse.linalg",
    "scipy.stats",
    "tokenizers",
    "firth.corpora.encoding.pipeline",
    "firth.corpora.encoding.encode",
    "firth.corpora.tokenizer.pieces",
    "firth.embed.formats.vector_files",
    "firth.embed.svd.truncated_svd",
    "firth.embed.word2vec.train",
    "firth.embed.contextual.pooling",
    "firth.embed.compare.scoring.evaluate",
    "firth.embed.compare.report.html.page",
    "firth.embed.compare.curves.learning_curve",
    "firth.pretrain.train",
    "firth.pretrain.inference.mlm_encoder",
]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault injected into a process."""

    signal: int | None = None  # sent to the process when the fault strikes
    error: int | None = None  # errno raised when the fault strikes
    at_change: int | None = None  # strike after this many file changes in the working folder
    on_read: str | None = None  # or strike when a file below this path is opened for reading
    max_file_size: int | None = None  # bytes
    die_at_max: bool = False  # writing beyond it kills the process in the middle of the write
    memory: int | None = None  # limit of additional address space in bytes


@dataclass(frozen=True)
class Result:
    """The outcome of a process."""

    status: int  # exit status, or minus the number of the signal that killed it
    stderr: str
    stdout: str
    changes: int  # number of file changes in the working folder


class RunningCommand:
    """A command that is running."""

    def __init__(self, pipes: Sequence[int]) -> None:
        self._pipes = pipes

    def wait(self) -> Result:
        """Wait until the command ends."""
        stderr, stdout, changes, status = map(_read_all, self._pipes)
        assert int(status) != TIMED_OUT, f"timed out; stderr: {stderr!r}"
        return Result(int(status), stderr, stdout, len(changes))


class ForkServer:
    """A client of the process that forks for each command."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.processes", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                cwd=_ROOT,
                env={**os.environ, **_ONE_THREAD},
            )
        self._socket = ours

    def start(
        self, words: Sequence[object], workdir: Path, fault: Fault | None = None
    ) -> RunningCommand:
        """Start ``firth`` with some arguments.

        Only file changes in ``workdir`` count; the cache is in it, too.
        """
        ends = [os.pipe() for _ in range(4)]
        request = [list(map(str, words)), str(workdir), asdict(fault or Fault())]
        socket.send_fds(self._socket, [json.dumps(request).encode()], [end for _, end in ends])
        self._socket.recv(1)
        for _, end in ends:
            os.close(end)
        return RunningCommand([end for end, _ in ends])

    def run(self, words: Sequence[object], workdir: Path, fault: Fault | None = None) -> Result:
        """Run a command to its end."""
        return self.start(words, workdir, fault).wait()

    def call(
        self, function: str, *arguments: object, workdir: Path, fault: Fault | None = None
    ) -> Any:
        """Call ``module:function`` in a forked process; arguments and result must be JSON."""
        result = self.run([_CALL, function, json.dumps(arguments, default=str)], workdir, fault)
        assert result.status == 0, f"{result.status}: {result.stderr}"
        return json.loads(result.stdout)

    def end(self) -> None:
        """Stop the server."""
        self._socket.close()
        self._process.wait(TIMEOUT)


def _read_all(end: int) -> str:
    """Read a pipe until it is closed."""
    with os.fdopen(end, "rb") as file:
        return file.read().decode(errors="backslashreplace")


def _serve(connection: socket.socket) -> None:
    """Fork for each request until the client closes the connection."""
    from numba.core.registry import cpu_target

    from firth import cli

    for module in (*cli.COMMANDS.values(), *_NEEDED):
        importlib.import_module(module)
    # numba would do this for the first kernel, in half a second
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        request, ends, _, _ = socket.recv_fds(connection, 1 << 20, 4)
        if not request:
            return
        if os.fork() == 0:
            connection.close()
            _watch(*json.loads(request), *ends)
        for end in ends:
            os.close(end)
        connection.send(b".")


def _watch(words, workdir, fault, stderr, stdout, changes, status) -> None:
    """Wait for the process of one command and report its exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        os.close(status)
        _run_child(words, workdir, Fault(**fault), stderr, stdout, changes)
    late = []

    def give_up(*_) -> None:
        late.append(TIMED_OUT)
        os.killpg(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(TIMEOUT)
    _, how = os.waitpid(child, 0)
    os.write(status, str(late[0] if late else os.waitstatus_to_exitcode(how)).encode())
    os._exit(0)


def _run_child(words, workdir, fault, stderr, stdout, changes) -> None:
    """Run one command in this process."""
    os.setsid()
    # a shell ignores it for background jobs
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for end, number in ((stdout, 1), (stderr, 2)):
        os.dup2(end, number)
        os.close(end)
    sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115
    os.environ["FIRTH_CACHE"] = f"{workdir}/cache"
    os.chdir(workdir)
    status = 1
    try:
        main = importlib.import_module("firth.cli").main if words[0] != _CALL else _call
        _limit(fault)
        sys.addaudithook(_FaultHook(workdir, fault, changes))
        main(words)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0
    except BaseException:  # noqa: BLE001 - printed for the tests
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(status)


def _call(words: Sequence[str]) -> None:
    """Call a function and print its result as JSON."""
    module, _, name = words[1].partition(":")
    answer = getattr(importlib.import_module(module), name)(*json.loads(words[2]))
    json.dump(answer, sys.stdout)


def _limit(fault) -> None:
    """Set the resource limits of this process."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    if fault.memory is not None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + fault.memory
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    if fault.max_file_size is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL if fault.die_at_max else signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault.max_file_size, fault.max_file_size))


class _FaultHook:
    """An audit hook that counts file changes and injects the fault."""

    def __init__(self, workdir, fault, pipe) -> None:
        self._workdir, self._fault, self._pipe, self._n = workdir, fault, pipe, 0

    def __call__(self, event, arguments) -> None:
        if (event != "open" and event not in _CHANGES) or isinstance(arguments[0], int):
            return
        path = os.path.abspath(os.fsdecode(arguments[0]))
        if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & _WRITING):
            if self._fault.on_read and path.startswith(self._fault.on_read):
                self._strike(path)
            return
        if path.startswith(self._workdir):
            os.write(self._pipe, b".")
            self._n += 1
            if self._n - 1 == self._fault.at_change:
                self._strike(path)

    def _strike(self, path) -> None:
        fault, self._fault = self._fault, Fault()
        if fault.signal is not None:
            os.kill(os.getpid(), fault.signal)
        if fault.error is not None:
            raise OSError(fault.error, os.strerror(fault.error), path)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as the_connection:
        _serve(the_connection)
