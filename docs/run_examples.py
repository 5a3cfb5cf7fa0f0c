"""Run the examples of pages and update their output: ``python docs/run_examples.py PAGE...``.

In each block marked ``console``, lines that begin with ``$`` are bash commands, lines after them
that begin with ``>`` continue a command, and the other lines are its standard output. The commands
of a page run in order in an empty folder with a link to ``demo``, the output of ``make demo``.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "demo"
_BLOCK = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*\n(?:> .*\n)*)", re.MULTILINE)
_STAMP = re.compile(r"<!-- demo: [0-9a-f]* -->")


@dataclass(frozen=True)
class Example:
    """A command of a page and the output that the page shows."""

    command: str
    output: str


def examples_in(text: str) -> list[Example]:
    """Find the commands of a page.

    Parameters
    ----------
    text : str
        Markdown.

    Returns
    -------
    list of Example
        In page order.
    """
    return [example for block in _BLOCK.findall(text) for example in _split(block)]


def run(command: str, folder: Path) -> str:
    """Run a shell command, with the ``firth`` of this Python first on the path.

    Parameters
    ----------
    command : str
        A bash command.
    folder : Path
        Working directory.

    Returns
    -------
    str
        Its standard output, without spaces at line ends and without empty lines.

    Raises
    ------
    SystemExit
        The command failed.
    """
    environment = dict(os.environ, COLUMNS="100")
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    print(f"$ {command}", file=sys.stderr)
    bash = ["bash", "-o", "pipefail", "-c", command]
    done = subprocess.run(bash, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"$ {command}\n{done.stdout}{done.stderr}")
    lines = map(str.rstrip, done.stdout.splitlines())
    return "".join(f"{line}\n" for line in lines if line)


def refresh(text: str, folder: Path) -> str:
    """Run all commands of a page and replace the outputs that it shows.

    Parameters
    ----------
    text : str
        Markdown.
    folder : Path
        Working directory of the commands.

    Returns
    -------
    str
        The page, with the stamp of the demo runs that it shows.
    """

    def made(block: re.Match[str]) -> str:
        return "".join(
            f"$ {_shown(example.command)}\n{run(example.command, folder)}"
            for example in _split(block[0])
        )

    return _STAMP.sub(stamp(), _BLOCK.sub(made, text))


def stamp() -> str:
    """Identify the runs of the demo that a page was made from.

    Returns
    -------
    str
        A Markdown comment with a hash of all vectors and weights.
    """
    files = sorted([*DEMO.glob("*/vectors.npy"), *DEMO.glob("*/*.safetensors")])
    digest = hashlib.sha256(b"".join(hashlib.sha256(f.read_bytes()).digest() for f in files))
    return f"<!-- demo: {digest.hexdigest()[:16]} -->"


def _split(block: str) -> Iterator[Example]:
    """Yield the examples of one block."""
    parts = _COMMAND.split(block)[1:]  # command, output, command, ...
    for command, output in zip(parts[::2], parts[1::2], strict=True):
        yield Example(command.rstrip("\n").replace("\n> ", "\n"), output)


def _shown(command: str) -> str:
    """Format a command as pages show it, without the ``$``."""
    return command.replace("\n", "\n> ")


def main(pages: list[str]) -> None:
    """Update pages in place.

    Parameters
    ----------
    pages : list of str
        Paths. If a command fails, its page is unchanged.
    """
    for page in map(Path, pages):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "demo").symlink_to(DEMO)
            page.write_text(refresh(page.read_text(encoding="utf-8"), Path(folder)), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
