"""Commands in processes of their own, which are born warm and can be hurt at a chosen moment.

A server has imported the program; each command is a fork of it. Moments are counted in what a
process does to files (opening for writing, renaming, removing ...), so that the same moment is
the same state of the disk on every machine.
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

PATIENCE = 3600  # seconds
WORK = 1200  # seconds of a processor; what is run here takes a few at most
HANGS = -1000
_CALL = "--call"
_ROOT = Path(__file__).resolve().parents[2]
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
_CHANGES = {
    "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate",
}  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_NEEDED = (
    "torch", "torch._dynamo", "torch.optim", "gensim.models", "jinja2", "matplotlib.figure",
    "matplotlib.backends.backend_svg", "matplotlib.font_manager", "scipy.sparse.linalg",
    "scipy.stats", "tokenizers", "corpora.build.pipeline", "corpora.build.encode",
    "corpora.tokenizer.pieces", "embed.formats.vector_files", "embed.svd.truncated_svd",
    "embed.word2vec.train", "embed.contextual.pooling", "embed.compare.scoring.evaluate",
    "embed.compare.report.html.page", "embed.compare.curves.learning_curve", "pretrain.train",
    "pretrain.inference.mlm_encoder",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Harm:
    """What happens to a process.

    Attributes
    ----------
    signal : int, optional
        Comes to it at ``moment``.
    error : int, optional
        The number of the error that the system gives it at ``moment``.
    moment : int, optional
        After so many changes of files in its place.
    reading : str, optional
        When a file below this path is opened to be read, in the place of a ``moment``.
    largest_file : int, optional
        No file can grow beyond so many bytes.
    dies_of_it : bool
        Writing more then kills the process, in the midst of the writing.
    memory : int, optional
        Bytes of address space that it may take beyond what it has.
    """

    signal: int | None = None
    error: int | None = None
    moment: int | None = None
    reading: str | None = None
    largest_file: int | None = None
    dies_of_it: bool = False
    memory: int | None = None


@dataclass(frozen=True)
class Ended:
    """How a process ended.

    Attributes
    ----------
    status : int
        As a shell has it; minus the number of the signal that killed it.
    said : str
        Standard error.
    printed : str
        Standard output.
    changes : int
        How often it changed files in its place.
    """

    status: int
    said: str
    printed: str
    changes: int


class Begun:
    """A command that is running."""

    def __init__(self, pipes: Sequence[int]) -> None:
        self._pipes = pipes

    def ended(self) -> Ended:
        """Wait for its end."""
        said, printed, changes, status = map(_all_of, self._pipes)
        assert int(status) != HANGS, f"it hangs; it said {said!r}"
        return Ended(int(status), said, printed, len(changes))


class Warm:
    """The server, as its client sees it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.children", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                cwd=_ROOT,
                env={**os.environ, **_ONE_THREAD},
            )
        self._socket = ours

    def begin(self, words: Sequence[object], place: Path, harm: Harm | None = None) -> Begun:
        """Start a command.

        Parameters
        ----------
        words : list
            What is typed behind ``firth``.
        place : Path
            The folder where changes are counted; its cache is in there, too.
        harm : Harm, optional
            None by default.
        """
        ends = [os.pipe() for _ in range(4)]
        request = [list(map(str, words)), str(place), asdict(harm or Harm())]
        socket.send_fds(self._socket, [json.dumps(request).encode()], [end for _, end in ends])
        self._socket.recv(1)
        for _, end in ends:
            os.close(end)
        return Begun([end for end, _ in ends])

    def run(self, words: Sequence[object], place: Path, harm: Harm | None = None) -> Ended:
        """Run a command to its end; parameters as those of :meth:`begin`."""
        return self.begin(words, place, harm).ended()

    def call(self, function: str, *arguments: object, place: Path, harm: Harm | None = None) -> Any:
        """Call a function in a warm process.

        Parameters
        ----------
        function : str
            ``module:function``; what it returns must be JSON.
        *arguments
            Strings, and what JSON holds.
        place : Path
            As that of :meth:`begin`.
        harm : Harm, optional
            As that of :meth:`begin`.
        """
        ended = self.run([_CALL, function, json.dumps(arguments, default=str)], place, harm)
        assert ended.status == 0, f"{ended.status}: {ended.said}"
        return json.loads(ended.printed)

    def end(self) -> None:
        """Let the server end."""
        self._socket.close()
        self._process.wait(PATIENCE)


def _all_of(end: int) -> str:
    """What comes out of a pipe until it is closed."""
    with os.fdopen(end, "rb") as file:
        return file.read().decode(errors="backslashreplace")


def _serve(connection: socket.socket) -> None:
    """Fork for every request, until nobody asks any more."""
    from numba.core.registry import cpu_target

    import cli

    for module in (*cli.COMMANDS.values(), *_NEEDED):
        importlib.import_module(module)
    # numba does this when the first kernel is loaded; it takes half a second
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


def _watch(words, place, harm, said, printed, changes, status) -> None:
    """Wait for the process of one command, and tell how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        os.close(status)
        _be(words, place, Harm(**harm), said, printed, changes)
    late = []

    def give_up(*_) -> None:
        late.append(HANGS)
        os.killpg(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    _, how = os.waitpid(child, 0)
    os.write(status, str(late[0] if late else os.waitstatus_to_exitcode(how)).encode())
    os._exit(0)


def _be(words, place, harm, said, printed, changes) -> None:
    """Be the process of one command."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
    for end, number in ((printed, 1), (said, 2)):
        os.dup2(end, number)
        os.close(end)
    sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115
    os.environ["FIRTH_CACHE"] = f"{place}/cache"
    os.chdir(place)
    status = 1
    try:
        main = importlib.import_module("cli").main if words[0] != _CALL else _call
        _limit(harm)
        sys.addaudithook(_Moments(place, harm, changes))
        main(words)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0
    except BaseException:  # noqa: BLE001 - it is told, and looked for
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(status)


def _call(words: Sequence[str]) -> None:
    """Call a function and print what it returns."""
    module, _, name = words[1].partition(":")
    answer = getattr(importlib.import_module(module), name)(*json.loads(words[2]))
    json.dump(answer, sys.stdout)


def _limit(harm) -> None:
    """Set the limits of this process."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (WORK, WORK))
    if harm.memory is not None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + harm.memory
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    if harm.largest_file is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL if harm.dies_of_it else signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (harm.largest_file, harm.largest_file))


class _Moments:
    """Counts what changes files in a place, and strikes at the moment."""

    def __init__(self, place, harm, told) -> None:
        self._place, self._harm, self._told, self._n = place, harm, told, 0

    def __call__(self, event, arguments) -> None:
        if (event != "open" and event not in _CHANGES) or isinstance(arguments[0], int):
            return
        path = os.path.abspath(os.fsdecode(arguments[0]))
        if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & _WRITING):
            if self._harm.reading and path.startswith(self._harm.reading):
                self._strike(path)
            return
        if path.startswith(self._place):
            os.write(self._told, b".")
            self._n += 1
            if self._n - 1 == self._harm.moment:
                self._strike(path)

    def _strike(self, path) -> None:
        harm, self._harm = self._harm, Harm()
        if harm.signal is not None:
            os.kill(os.getpid(), harm.signal)
        if harm.error is not None:
            raise OSError(harm.error, os.strerror(harm.error), path)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as the_connection:
        _serve(the_connection)
