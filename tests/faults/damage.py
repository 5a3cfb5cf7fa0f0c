"""Damage to files and the commands' reactions, all within one process for speed."""

import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from click.testing import CliRunner

CPU_SECONDS = 20  # limit per command; each takes a fraction of a second
INTACT = "intact"
_DEEP = b"[" * 100_000


def _flipped(content: bytes) -> bytes:
    """Flip one bit in the middle."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0x10]) + content[middle + 1 :]


def _number(content: bytes) -> bytes:
    """Make the first number of a text huge."""
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
    """Return the damages that make sense for a file."""
    return DAMAGES | (JSON_DAMAGES if path.endswith(".json") else {})


@contextmanager
def damaged(path: Path, damage: Callable[[bytes], bytes | None]) -> Iterator[None]:
    """Damage a file within the block and restore it after."""
    content = path.read_bytes()
    changed = damage(content)
    path.unlink()
    if changed is not None:
        path.write_bytes(changed)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        path.write_bytes(content)


def run_command(arguments: list[str]) -> tuple[int, str, str, str]:
    """Run one command; return exit status, stdout, stderr and the uncaught exception."""
    from firth import cli

    def late(*_) -> None:
        raise TimeoutError("timed out")

    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    result = CliRunner().invoke(cli.main, arguments)
    signal.setitimer(signal.ITIMER_PROF, 0)
    error = result.exception
    uncaught = "" if error is None or isinstance(error, SystemExit) else repr(error)
    return result.exit_code, result.stdout, result.stderr, uncaught


def run_lines(lines: list[list[str]]) -> list[tuple[int, str, str, str]]:
    """Run several commands; return what :func:`run_command` does for each."""
    return [run_command(arguments) for arguments in lines]


def run_commands(lines: list[list[str]], victims: dict[str, list[str]], workdir: str) -> list:
    """Run several commands with files intact, and with each file in turn damaged in some ways.

    Returns (file, damage, command, result...).
    """
    cases = [("", INTACT), *((file, damage) for file in victims for damage in victims[file])]
    results = []
    for file, name in cases:
        with damaged(Path(file), damages_of(file)[name]) if file else nullcontext():
            for number, arguments in enumerate(lines):
                results.append((file, name, number, *run_command(arguments)))
                _clear(Path(workdir))
    return results


def _clear(workdir: Path) -> None:
    """Remove a command's outputs but keep the cache."""
    for path in workdir.iterdir():
        if path.is_dir() and path.name != "cache":
            shutil.rmtree(path)
        elif path.is_file():
            path.unlink()
