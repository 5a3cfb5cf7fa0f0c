"""Commands run in forked processes, with faults injected at chosen file changes.

A server process imports the program once and forks for each command. Faults are placed by counting
file changes (opening for writing, renaming, removing ...), so that a fault meets the same state of
the disk on every machine.
"""

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from firth import cli
from tests.source import FILES, module_name

TIMEOUT = 3600  # seconds
CPU_SECONDS = 1200  # limit per command; each takes a few at most
NOT_RENAMED = "complete, but not yet renamed; move it to "  # what the next command says
_CALL, _CODE = "--call", "--code"
_DIGITS = 8  # of the number of a process, in its message
_ROOT = Path(__file__).resolve().parents[1]
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
_CHANGES = {
    "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate",
}  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
# What commands import where they need it.
_PACKAGES = (
    "gensim.models", "jinja2", "matplotlib.backends.backend_svg", "matplotlib.font_manager",
    "rich.table", "scipy.sparse.linalg", "scipy.stats", "sklearn.cluster", "sklearn.linear_model",
    "tokenizers", "torch._dynamo", "torch.optim",
)  # fmt: skip


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
    """A command that is running, in its own process group."""

    def __init__(self, pipes: Sequence[int]) -> None:
        *self._pipes, self._status = pipes
        self.pid = int(os.read(self._status, _DIGITS))

    def poll(self) -> bool | None:
        """Return None while the command runs."""
        return bool(select.select([self._status], [], [], 0)[0]) or None

    def send_signal(self, number: int) -> None:
        """Send a signal to the command and its children."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def wait(self) -> Result:
        """Wait until the command ends."""
        pipes = (*self._pipes, self._status)
        with ThreadPoolExecutor(len(pipes)) as pool:  # a full pipe would stop the command
            stderr, stdout, changes, status = pool.map(_read_all, pipes)
        return Result(int(status), stderr, stdout, len(changes))


class ForkServer:
    """A client of the process that forks for each command."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.processes", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                cwd=_ROOT,
                env={**os.environ, **_ONE_THREAD},
            )
        self._socket = ours

    def start(
        self,
        words: Sequence[object],
        workdir: Path,
        fault: Fault | None = None,
        env: Mapping[str, str] = MappingProxyType({}),
    ) -> RunningCommand:
        """Start ``firth`` with some arguments, and changes of the environment.

        Only file changes in ``workdir`` count; the cache is in it, too.
        """
        ends = [os.pipe() for _ in range(4)]
        request = [list(map(str, words)), str(workdir), asdict(fault or Fault()), dict(env)]
        socket.send_fds(self._socket, [json.dumps(request).encode()], [end for _, end in ends])
        self._socket.recv(1)
        for _, end in ends:
            os.close(end)
        return RunningCommand([end for end, _ in ends])

    def run(self, words: Sequence[object], workdir: Path, *more: Any, **options: Any) -> Result:
        """Run a command to its end."""
        return self.start(words, workdir, *more, **options).wait()

    def python(
        self, code: str, *arguments: object, workdir: Path, **options: Any
    ) -> RunningCommand:
        """Start Python code with arguments, as ``python -c`` does but with modules imported."""
        return self.start([_CODE, code, *arguments], workdir, **options)

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

    for module in (*map(module_name, FILES), *_PACKAGES):
        importlib.import_module(module)
    # numba would do this for the first kernel, in half a second
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    gc.freeze()  # or the first collection in a process would copy all pages
    running: dict[int, int] = {}  # process to the pipe that waits for its exit status

    def report(*_: object) -> None:
        """Report the exit statuses of ended processes."""
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                status = running.pop(ended[0])
                os.write(status, str(os.waitstatus_to_exitcode(ended[1])).encode())
                os.close(status)

    signal.signal(signal.SIGCHLD, report)
    while True:
        request, ends, _, _ = socket.recv_fds(connection, 1 << 20, 4)
        if not request:
            return
        *pipes, status = ends
        words, workdir, fault, env = json.loads(request)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        child = os.fork()
        if child == 0:
            for end in (*running.values(), status):
                os.close(end)
            connection.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
            os.setpgid(0, 0)
            os.environ.update({"FIRTH_CACHE": f"{workdir}/cache", **env})
            _run_child(words, workdir, Fault(**fault), *pipes)
        with contextlib.suppress(OSError):  # the process did it before, or has ended
            os.setpgid(child, child)
        running[child] = status
        os.write(status, str(child).ljust(_DIGITS).encode())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        for end in pipes:
            os.close(end)
        connection.send(b".")


def _run_child(words, workdir, fault, stderr, stdout, changes) -> None:
    """Run one command in this process."""
    signal.alarm(TIMEOUT)
    # a shell ignores it for background jobs
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for end, number in ((stdout, 1), (stderr, 2)):
        os.dup2(end, number)
        os.close(end)
    sys.stdout, sys.stderr = (
        open(number, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        for number in (1, 2)
    )
    os.chdir(workdir)
    status = 1
    try:
        main = {_CALL: _call, _CODE: _run_code}.get(words[0], cli.main)
        _limit(fault)
        sys.addaudithook(_FaultHook(workdir, fault, changes))
        main(words)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
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


def _run_code(words: Sequence[str]) -> None:
    """Run code as the main module."""
    sys.argv = ["-c", *words[2:]]
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    exec(words[1], vars(module))


def _limit(fault) -> None:
    """Set the resource limits of this process."""
    import resource  # here, so that all tests are collected where it is missing

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    if fault.memory is not None:
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
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
