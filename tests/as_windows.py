"""Commands in a process that lacks what Windows lacks, and what they do that Windows refuses."""

import contextlib
import gc
import importlib
import json
import os
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path

# On Linux these two need some of what is blocked; on Windows they have other code.
NEED_POSIX = ("filelock", "psutil")
MODULES = ("fcntl", "resource", "termios", "pwd", "grp")
OF_OS = (
    "fork", "getuid", "geteuid", "getpgid", "setsid", "killpg", "mkfifo", "sched_getaffinity",
    "sysconf", "posix_fadvise", "posix_fallocate", "pread", "preadv", "statvfs",
)  # fmt: skip
OF_SIGNAL = ("SIGHUP", "SIGKILL", "pthread_sigmask")


class OpenFiles:
    """An audit hook that notes each file that is renamed, removed or shortened while in use.

    Windows refuses that, and to rename a folder with a file in use.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = os.fspath(folder)
        self.refused: list[str] = []

    def __call__(self, event: str, arguments: tuple) -> None:
        paths = [path for path in arguments[:2] if isinstance(path, str | os.PathLike)]
        if event in ("os.rename", "os.remove", "os.rmdir", "shutil.rmtree"):
            is_part = any(isinstance(each, int) and each >= 0 for each in arguments)
            if not is_part:  # of shutil.rmtree, which names files by the numbers of their folders
                self._look(event, paths, open_files() | mapped_files())
        elif event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_TRUNC:
            # a new file without a name is opened by its folder
            names = [path for path in paths[:1] if not os.path.isdir(path)]
            self._look("shortens", names, mapped_files())

    def _look(self, event: str, paths: Sequence[str], files: set[str]) -> None:
        for path in map(os.path.realpath, paths):
            used = sorted(file for file in files if file == path or file.startswith(f"{path}/"))
            if used and path.startswith(self._folder) and not path.endswith(".lock"):
                lines = [f"{frame.name}:{frame.lineno}" for frame in traceback.extract_stack()[-9:]]
                self.refused.append(f"{event} {path}: uses {', '.join(used)}; {' '.join(lines)}")


def open_files() -> set[str]:
    """Return the paths of all open files."""
    paths = set()
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            paths.add(os.readlink(f"/proc/self/fd/{number}").removesuffix(" (deleted)"))
    return paths


def mapped_files() -> set[str]:
    """Return the paths of all mapped files; unnamed ones have a name on Windows."""
    lines = Path("/proc/self/maps").read_text("utf-8", "surrogateescape").splitlines()
    fields = (line.split(maxsplit=5) for line in lines)
    return {each[5].removesuffix(" (deleted)") for each in fields if len(each) == 6}


def lack_posix() -> None:
    """Remove what Windows lacks; the function that names the system says Windows."""
    for name in NEED_POSIX:
        importlib.import_module(name)
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for module, names in ((os, OF_OS), (signal, OF_SIGNAL)):
        for name in names:
            delattr(module, name)
    common = importlib.import_module("firth.corpora.common.system")
    named = common.system  # the function, which modules have imported by its name
    for module in list(sys.modules.values()):
        if getattr(module, "system", None) is named:
            module.system = lambda: common.WINDOWS


def run_commands(commands: Sequence[Sequence[str]], folder: str) -> list[str]:
    """Run commands in a folder, printing to standard error; return what Windows would refuse."""
    lack_posix()
    gc.disable()  # so that what is in a cycle of references stays in use
    os.chdir(folder)
    tempfile.tempdir = folder
    files = OpenFiles(Path(os.path.realpath(folder)))
    sys.addaudithook(files)
    from firth import cli

    with contextlib.redirect_stdout(sys.stderr):
        for command in commands:
            cli.main(command, standalone_mode=False)
    return files.refused


if __name__ == "__main__":
    warnings.simplefilter("ignore", EncodingWarning)  # of other packages
    warnings.filterwarnings("error", category=EncodingWarning, module="firth")
    print(json.dumps(run_commands(json.loads(sys.argv[1]), sys.argv[2])))
