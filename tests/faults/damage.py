"""Damage done to files, and what commands say of it: within one process, since it is quick."""

import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from click.testing import CliRunner

SECONDS = 20  # of a processor for one command, of which each takes a fraction of one
WHOLE = "whole"
_DEEP = b"[" * 100_000


def _flipped(content: bytes) -> bytes:
    """One bit in the middle."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0x10]) + content[middle + 1 :]


def _number(content: bytes) -> bytes:
    """The first number of a text becomes a huge one."""
    digits = next((n for n, byte in enumerate(content) if byte in b"0123456789"), len(content))
    return content[:digits] + b"9" * 400 + content[digits:]


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "missing": lambda _: None,
    "empty": lambda _: b"",
    "cut in two": lambda content: content[: len(content) // 2],
    "a bit flipped": _flipped,
    "longer": lambda content: content + content[:100],
    "zeros": lambda content: bytes(len(content)),
    "a zip archive": lambda _: b"PK\x03\x04" + bytes(100),
}
JSON_DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "a list": lambda _: b"[]",
    "an object": lambda _: b"{}",
    "null": lambda _: b"null",
    "nested deep": lambda _: _DEEP,
    "a huge number": _number,
    "not UTF-8": lambda content: content.replace(b'"', b'"\xff', 1),
}


def damages_of(path: str) -> dict[str, Callable[[bytes], bytes | None]]:
    """Those that make sense for a file."""
    return DAMAGES | (JSON_DAMAGES if path.endswith(".json") else {})


@contextmanager
def damaged(path: Path, damage: Callable[[bytes], bytes | None]) -> Iterator[None]:
    """Let a file be damaged within the block."""
    content = path.read_bytes()
    worse = damage(content)
    path.unlink()
    if worse is not None:
        path.write_bytes(worse)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        path.write_bytes(content)


def ask(words: list[str]) -> tuple[int, str, str, str]:
    """Exit status, what was printed, what was said, and the error that escaped, of one command."""
    import cli

    def late(*_) -> None:
        raise TimeoutError("it hangs")

    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    result = CliRunner().invoke(cli.main, words)
    signal.setitimer(signal.ITIMER_PROF, 0)
    escaped = result.exception
    told = "" if escaped is None or isinstance(escaped, SystemExit) else repr(escaped)
    return result.exit_code, result.stdout, result.stderr, told


def answers(lines: list[list[str]], victim: str, place: str, names: list[str]) -> list:
    """Ask several commands about a file, whole and damaged; each makes things in the place."""
    told = []
    file = Path(victim)
    for name in (WHOLE, *names):
        with damaged(file, damages_of(victim).get(name, lambda content: content)):
            for number, words in enumerate(lines):
                told.append((name, number, *ask(words)))
                _clear(Path(place))
    return told


def _clear(place: Path) -> None:
    """Remove what a command made, but not the cache."""
    for path in place.iterdir():
        if path.is_dir() and path.name != "cache":
            shutil.rmtree(path)
        elif path.is_file():
            path.unlink()
